"""Pages that need no other file and no network: their templates, their style, and the map as a script.

Every page is a template of this folder that extends `base.html`; `page_of` fills it. A page with an element "map" is
given the data of its map, which `runcardMap(element, data)` draws:

    {"ground": ground_of(city), "layers": [layer, ...], "note": "a sentence below the legend"}

where a station of the ground may have a `state`: "new", "closed" or "changed"; and each layer, one of which is shown at
a time,

    {"id": "miss", "title": "Chance that the first engine is late",
     "legend": [{"colour": "#FFF7D3", "hatch": "", "label": "under 2 %"}, ...],     without a label: not listed
     "areas": {node_id: {"class": 0, "lines": ["Area n7", "..."], "mark": "E01"}},  the class is a place in the legend
     "outlined": [node_id, ...], "outline_label": "what a thick border means",      the label may be left out
     "stations": {station_id: ["a line more for its label", ...]}}

The call returns a view: `view.show(layerId)`, `view.select(areaId)`, `view.onselect = (areaId) => ...`, and `view.map`,
which is Leaflet's. A page whose data change, such as the explorer, also has

    view.draw(layer)                        a layer that was not there at the start
    view.badges({stationId: {text, state, lines}})      behind its name, "busy" or "part", and for its label
    view.routes([{line: [x1, y1, ...], style: 0}], [[x1, y1, x2, y2], ...])    roads of units, and links that they share
    view.pins([{area, text, state}])        incidents; state "late" or ""
    view.onstation = (stationId) => ...; view.place(x, y) is where Leaflet has a place of the ground
"""

from runcard.page.colours import Classes, Swatch, classes_of, diverging, sequential
from runcard.page.kit import embedded, map_script, map_style, page_of

__all__ = [
    "Classes",
    "Swatch",
    "classes_of",
    "diverging",
    "embedded",
    "map_script",
    "map_style",
    "page_of",
    "sequential",
]
