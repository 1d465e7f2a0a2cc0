"""What pages share: the map as a script that needs no other file and no network, its data, and its colours.

A page puts `page_parts().style` inside <style>, `page_parts().script` inside <script>, and the data of the map, made by
`embedded`, inside <script type="application/json">. Then `runcardMap(element, data)` draws it, with data

    {"ground": ground_of(city), "layers": [layer, ...], "note": "a sentence below the legend"}

where a station of the ground may have a `state`: "new", "closed" or "changed"; and each layer, one of which is shown at
a time,

    {"id": "miss", "title": "Chance that the first engine is late",
     "legend": [{"colour": "#FFF7D3", "hatch": "", "label": "under 2 %"}, ...],     without a label: not listed
     "areas": {node_id: {"class": 0, "lines": ["Area n7", "..."], "mark": "E01"}},  the class is a place in the legend
     "outlined": [node_id, ...], "outline_label": "what a thick border means",      the label may be left out
     "stations": {station_id: ["a line more for its label", ...]}}
"""

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
