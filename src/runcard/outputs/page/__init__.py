"""What pages share: the map as a script that needs no other file and no network, its data, and its colours."""

from runcard.outputs.page.colours import Classes, Swatch, classes_of, diverging, sequential
from runcard.outputs.page.ground import ground_of
from runcard.outputs.page.parts import PageParts, embedded, page_parts

__all__ = [
    "Classes",
    "PageParts",
    "Swatch",
    "classes_of",
    "diverging",
    "embedded",
    "ground_of",
    "page_parts",
    "sequential",
]
