"""A printed page on which words and bands are placed in inches from its upper left corner.

Thousands of small texts are one artist: laying out each as a text of its own takes most of the time of a print.
"""

import textwrap
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from runcard.outputs.map import INK

if TYPE_CHECKING:
    pass

PAGE: Final = (11.69, 8.27)
"""A4 across, in inches."""
MARGIN: Final = 0.4
INSIDE: Final = PAGE[0] - 2 * MARGIN
RULE_COLOUR: Final = "#8A8A8A"
LEADING: Final = 1.3
"""From one line of words to the next, in sizes of its letters."""
POINTS: Final = 72.0


@dataclass(frozen=True, kw_only=True)
class Words:
    """A line of words on a page: where its letters stand, in inches."""

    x: float
    y: float
    text: str
    size: float
    """In points."""
    bold: bool = False
    italic: bool = False


@dataclass(frozen=True, kw_only=True)
class Band:
    """A filled box whose upper left corner is given."""

    x: float
    y: float
    width: float
    height: float
    colour: str


class PrintPage:
    """A page that is filled."""

    def __init__(self) -> None:
        from matplotlib.figure import Figure

        self.words: list[Words] = []
        self.bands: list[Band] = []
        self.figure: Figure = Figure(figsize=PAGE, facecolor="white")
        self.figure.add_artist(_placed(self))

    @property
    def texts(self) -> list[str]:
        """All its words, line by line."""
        return [one.text for one in self.words]

    def write(self, x: float, y: float, text: str, size: float, *, bold: bool = False, italic: bool = False) -> float:
        """Write words below a place; where the next line would begin."""
        for line in text.split("\n"):
            self.words.append(Words(x=x, y=y + 0.95 * size / POINTS, text=line, size=size, bold=bold, italic=italic))
            y += LEADING * size / POINTS
        return y

    def fill(self, x: float, y: float, width: float, text: str, size: float, **looks: bool) -> float:
        """Write words below a place, broken where they are too wide; where the next line would begin."""
        lines = textwrap.wrap(text, max(8, int(POINTS * width / (0.535 * size))))
        return self.write(x, y, "\n".join(lines), size, **looks)

    def rule(self, y: float, x: float = MARGIN, width: float = INSIDE) -> None:
        """Draw a thin line across."""
        self.bands.append(Band(x=x, y=y, width=width, height=0.01, colour=RULE_COLOUR))


def width_of(text: str, *, bold: bool = False) -> float:
    """How wide a text is, in sizes of its letters."""
    widths = _letter_widths(bold=bold)
    return sum(widths[letter] for letter in text)


def fitting(text: str, width: float, largest: float) -> float:
    """The size of bold letters, in points, with which text is no wider than some inches, or the largest."""
    return min(largest, POINTS * width / max(1e-9, width_of(text, bold=True)))


@cache
def _letter_widths(*, bold: bool) -> dict[str, float]:
    from matplotlib.font_manager import FontProperties, findfont, get_font

    font = get_font(findfont(FontProperties(weight="bold" if bold else "normal")))

    class Widths(dict[str, float]):
        def __missing__(self, letter: str) -> float:
            font.set_size(100.0, POINTS)  # others set it as well
            index = font.get_char_index(ord(letter))
            self[letter] = font.load_glyph(index).linearHoriAdvance / 65536.0 / 100.0 if index else 1.0
            return self[letter]

    return Widths()


def _placed(page: PrintPage) -> Any:
    """The artist that draws the bands and words of a page."""
    from matplotlib.artist import Artist
    from matplotlib.colors import to_rgba
    from matplotlib.path import Path
    from matplotlib.transforms import Affine2D

    class Placed(Artist):
        def draw(self, renderer: Any) -> None:
            inch, height = renderer.points_to_pixels(POINTS), PAGE[1]
            gc = renderer.new_gc()
            gc.set_linewidth(0.0)
            for band in page.bands:
                corner = (band.x * inch, (height - band.y - band.height) * inch)
                box = Affine2D().scale(band.width * inch, band.height * inch).translate(*corner)
                gc.set_foreground(band.colour)
                renderer.draw_path(gc, Path.unit_rectangle(), box, to_rgba(band.colour))
            gc.set_foreground(INK)
            _draw_words(renderer, gc, page.words)
            gc.restore()

    artist = Placed()
    artist.set_zorder(-1.0)  # below the maps
    return artist


def _letters(look: Words, size: float) -> Any:
    from matplotlib.font_manager import FontProperties

    return FontProperties(
        size=size, weight="bold" if look.bold else "normal", style="italic" if look.italic else "normal"
    )


def _draw_words(renderer: Any, gc: Any, words: list[Words]) -> None:
    """Draw words."""
    inch = renderer.points_to_pixels(POINTS)
    for one in words:
        y = one.y if renderer.flipy() else PAGE[1] - one.y
        if one.text.strip():
            renderer.draw_text(gc, one.x * inch, y * inch, one.text, _letters(one, one.size), 0.0)
