"""Cities from raw files: roads of OSMnx, GMNS or tables with a mapping file, stations and rosters from CSV.

Read in this order: `mapping.py` and `rows.py` (how files are read), `csv_roads.py` and `osm.py` (roads), `roads.py`
(cleaned), `contract.py` (made short), `stations.py`, and `build.py`, which makes the city.
"""

from runcard.city.importers.build import Imported, ImportOptions, import_city, read_roads
from runcard.city.importers.mapping import Mapping, mapping_of, read_import_mapping
from runcard.city.importers.osm import roads_from_graph
from runcard.city.importers.summary import ImportSummary

__all__ = [
    "ImportOptions",
    "ImportSummary",
    "Imported",
    "Mapping",
    "import_city",
    "mapping_of",
    "read_import_mapping",
    "read_roads",
    "roads_from_graph",
]
