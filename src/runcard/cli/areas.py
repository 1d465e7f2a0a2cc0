"""`runcard areas`: the demand areas of a city as GeoJSON."""

from pathlib import Path
from typing import Annotated

from runcard.cli.parameters import CityFolder, path_option


def areas(
    city: CityFolder,
    output: Annotated[Path, path_option("FILE", "The GeoJSON file to write.", "--output", "-o")] = Path(
        "areas.geojson"
    ),
) -> None:
    """Write the demand areas of a city as GeoJSON, for QGIS and others.

    The area of a demand node is what is nearer to it than to others, by driving time. The city needs longitude and
    latitude.
    """
    from runcard.city.areas import demand_nodes
    from runcard.city.files import read_city
    from runcard.cli.terminal import print_written
    from runcard.output_file import check_output_file
    from runcard.outputs.area_file import write_areas
    from runcard.plan.words import counted

    check_output_file(output)
    given = read_city(city)
    write_areas(given, output)
    found = counted(len(demand_nodes(given)), "area")
    print_written(output, more=f": {found}")
