"""The parts of a page that stands on its own: style and script with everything inside, and data that stay data.

Leaflet (leafletjs.com) draws the map. It is kept here as published, with its licence.
"""

import json
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

_FOLDER: Final = files("runcard.outputs.page")


@dataclass(frozen=True)
class PageParts:
    """What a page with a map needs: text to put inside <style> and inside <script>, as it is."""

    style: str
    script: str


@cache
def page_parts() -> PageParts:
    """The style and the script of the map: `runcardMap(element, data)`."""
    # Neither the pictures of markers, which are not used, nor the map of the source are part of a page.
    style = re.sub(r"url\(images/[^)]*\)", "none", _text("leaflet.css"))
    leaflet = re.sub(r"//# sourceMappingURL=\S*", "", _text("leaflet.js"))
    licence = "/*\n" + _text("leaflet-LICENSE.txt") + "*/\n"
    return PageParts(style=f"{style}\n{_text('map.css')}", script=f"{licence}{leaflet}\n{_text('map.js')}")


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
