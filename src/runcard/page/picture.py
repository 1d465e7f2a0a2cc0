"""Pictures by matplotlib: their colours and looks, as files and as `<svg>` elements that stand in a page."""

import re
from collections.abc import Mapping
from html import escape
from io import BytesIO, StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from runcard.errors import InputError, MissingExtraError
from runcard.output_file import check_output_file, write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.path import Path as DrawnPath

PALETTE: Final = (
    "#332288", "#DDCC77", "#117733", "#88CCEE", "#AA4499", "#999933", "#CC6677", "#44AA99", "#882255",
)  # fmt: skip
"""Paul Tol's muted colours: nine that can be told apart with any kind of colour vision."""
ROAD_COLOUR: Final = "#D9DCE0"
INK: Final = "#1B2631"

STYLE: Final[dict[Any, Any]] = {"text.usetex": False, "text.parse_math": False, "svg.hashsalt": "runcard"}
"""Names are words, even with a $ in them, and the ids inside an SVG file are the same every time."""

METADATA: Final[Mapping[str, Mapping[str, Any]]] = {
    "png": {"Software": None},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}
"""What each format would say about when it was made and by what; left out, so that the same map is the same file."""

LOOK: Final[dict[Any, Any]] = STYLE | {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK),
}
"""How curves are drawn."""
LOOK_IN_PAGE: Final[dict[Any, Any]] = LOOK | {
    "svg.fonttype": "none",
    "font.size": 9.5,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": ROAD_COLOUR,
    "grid.linewidth": 0.7,
}
"""How they are drawn in a page, which has the letters."""


def check_picture_file(path: Path, noun: str) -> None:
    """Raise an error now if a picture could not be written after a long solve: a wrong name, or no matplotlib."""
    if path.suffix[1:].lower() not in METADATA:
        raise InputError(f"{path}: expected a {noun} to end in .{', .'.join(METADATA)}, got {path.suffix!r}")
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(f"the {noun}", "matplotlib", "report") from error
    check_output_file(path)


def write_picture(figure: "Figure", path: Path) -> Path:
    """The file that now holds a figure, in the format of its name; the same figure is the same bytes."""
    import matplotlib

    content, ending = BytesIO(), path.suffix[1:].lower()
    with matplotlib.rc_context(STYLE):
        figure.savefig(content, format=ending, dpi=140, metadata=dict(METADATA[ending]))
    return write_whole(path, content.getvalue())


def shape_path(shape: Any) -> "DrawnPath":
    """A shape of shapely, with its holes, as matplotlib draws it."""
    import shapely  # here, because it takes a while to import
    from matplotlib.path import Path as DrawnPath

    rings = shapely.get_rings(shapely.get_parts(shape))
    return DrawnPath.make_compound_path(*(DrawnPath(shapely.get_coordinates(ring), closed=True) for ring in rings))


def svg_element(figure: "Figure", *, name: str, label: str) -> str:
    """A figure as an `<svg>` element: its ids are those of no other name in the page, and its label is read out.

    The same figure is the same text: the ids come from its content, and nothing says when it was drawn.
    """
    content = StringIO()
    figure.savefig(content, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    document = content.getvalue()
    element = document[document.index("<svg ") :].strip()
    named = re.sub(r'(\bid="|url\(#|href="#)', lambda found: f"{found[0]}{escape(name)}-", element)
    return named.replace("<svg ", f'<svg role="img" aria-label="{escape(label)}" ', 1)
