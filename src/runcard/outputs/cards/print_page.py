"""A printed page on which words and bands are placed in inches from its upper left corner."""

import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from runcard.outputs.map import INK

if TYPE_CHECKING:
    from reportlab.pdfgen.canvas import Canvas

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
class FilledBox:
    """A filled box whose upper left corner is given."""

    x: float
    y: float
    width: float
    height: float
    colour: str


class PrintPage:
    """A page that is filled."""

    def __init__(self) -> None:
        self.words: list[Words] = []
        self.bands: list[FilledBox] = []
        self.pictures: list[Callable[[Canvas], None]] = []
        """What draws on the page beside words and bands."""

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
        self.bands.append(FilledBox(x=x, y=y, width=width, height=0.01, colour=RULE_COLOUR))

    def draw(self, canvas: "Canvas") -> None:
        """Draw it on a page of a file."""
        for band in self.bands:
            canvas.setFillColor(band.colour)
            corner = (POINTS * band.x, POINTS * (PAGE[1] - band.y - band.height))
            canvas.rect(*corner, POINTS * band.width, POINTS * band.height, stroke=0, fill=1)
        canvas.setFillColor(INK)
        for one in self.words:
            if one.text.strip():
                canvas.setFont(font_name(bold=one.bold, italic=one.italic), one.size)
                canvas.drawString(POINTS * one.x, POINTS * (PAGE[1] - one.y), one.text)
        for picture in self.pictures:
            canvas.saveState()
            picture(canvas)
            canvas.restoreState()
        canvas.showPage()


def width_of(text: str, *, bold: bool = False) -> float:
    """How wide a text is, in sizes of its letters."""
    widths = _letter_widths(bold=bold)
    return sum(widths[letter] for letter in text)


def fitting(text: str, width: float, largest: float) -> float:
    """The size of bold letters, in points, with which text is no wider than some inches, or the largest."""
    return min(largest, POINTS * width / max(1e-9, width_of(text, bold=True)))


@cache
def _letter_widths(*, bold: bool) -> dict[str, float]:
    from reportlab.pdfbase.pdfmetrics import getFont

    face = getFont(font_name(bold=bold)).face

    class Widths(dict[str, float]):
        def __missing__(self, letter: str) -> float:
            self[letter] = face.charWidths.get(ord(letter), face.defaultWidth) / 1000.0
            return self[letter]

    return Widths()


@cache
def font_name(*, bold: bool = False, italic: bool = False) -> str:
    """The name of the font, which is registered with its letters: those of the maps, which have most alphabets."""
    from matplotlib import get_data_path
    from reportlab.pdfbase.pdfmetrics import registerFont
    from reportlab.pdfbase.ttfonts import TTFont

    name = "DejaVuSans" + ("-Bold" if bold else "-Oblique" if italic else "")
    registerFont(TTFont(name, Path(get_data_path()) / "fonts" / "ttf" / f"{name}.ttf"))
    return name
