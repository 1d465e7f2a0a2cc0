"""`runcard geojson`: a city and its decisions for a geographic information system."""

from pathlib import Path
from typing import Annotated

from runcard.cli.parameters import option, path_argument, path_option


def geojson(
    source: Annotated[Path, path_argument("SOURCE", "A city folder, or a policy file.")],
    output: Annotated[Path, path_option("FOLDER", "The folder to write to; made if missing.", "--output", "-o")],
    time: Annotated[
        str | None,
        option(
            "TIME", "When, by the clock of the city, where the file has periods: 2017-01-03T14:00, tue 14:00 or now."
        ),
    ] = None,
) -> None:
    """Write a city as GeoJSON, for QGIS, kepler.gl and others.

    Of a city folder: its areas, stations and roads. Of a policy file also the routes that units drive, and who is sent
    where with every unit idle. The city needs longitude and latitude.
    """
    from runcard.city.files import read_city
    from runcard.city.periods import parse_time
    from runcard.cli.terminal import print_written
    from runcard.errors import InputError
    from runcard.outputs.area_file import check_lonlat
    from runcard.outputs.geojson import write_geojson
    from runcard.plan.file import load

    hour = None if time is None else parse_time(time)
    plan = None
    if source.is_dir():
        city = read_city(source)
    else:
        whole = load(source)
        plan = whole.at(hour)
        if plan.ground is None:
            raise InputError(f"{source}: it holds no city: solve it again with this version")
        city = plan.ground.city
        if whole.knows_hour:
            city = city.in_period(whole.period_of(hour).name)
    check_lonlat(city)
    print_written(*write_geojson(city, output, plan))
