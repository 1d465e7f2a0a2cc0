"""Pages that stand on their own: one environment of templates, with style, script and data inside.

Leaflet (leafletjs.com) draws the map. It is kept here as published, with its licence.
"""

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from jinja2 import Environment

_FOLDER: Final = files("runcard.page")


def page_of(template: str, *, map_data: Mapping[str, Any] | None = None, **values: Any) -> str:
    """The text of a page: a template of this folder with its values, and the script of the map where it has one."""
    from markupsafe import Markup

    has_map = map_data is not None
    return (
        _templates()
        .get_template(template)
        .render(
            style=Markup((map_style() if has_map else "") + _text("page.css")),
            script=Markup(map_script()) if has_map else "",
            map_data=Markup(embedded(map_data)) if has_map else "",
            **values,
        )
    )


@cache
def _templates() -> "Environment":
    """All templates: every text in them is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # which take a while to import

    found = Environment(
        loader=PackageLoader("runcard", "page"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    found.filters["sum_of"] = lambda parts: sum(parts.values())
    return found


@cache
def map_style() -> str:
    """The style of the map, to put inside <style> as it is."""
    # The pictures of markers are not used.
    return re.sub(r"url\(images/[^)]*\)", "none", _text("leaflet.css")) + _text("map.css")


@cache
def map_script() -> str:
    """The script of the map, `runcardMap(element, data)`, to put inside <script> as it is."""
    leaflet = re.sub(r"//# sourceMappingURL=\S*", "", _text("leaflet.js"))
    return f"/*\n{_text('leaflet-LICENSE.txt')}*/\n{leaflet}\n{_text('map.js')}"


def embedded(data: Any) -> str:
    """JSON that is safe inside <script type="application/json">: no text in it can end the script or open a comment.

    It needs no further escaping: in a template it is marked as safe.
    """
    text = json.dumps(data, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    # Outside of strings JSON has none of these, and inside all of them may be written as their number.
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _text(name: str) -> str:
    """A file of this folder."""
    return (_FOLDER / name).read_text("utf-8")
