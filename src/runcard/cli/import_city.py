"""`runcard import`: a city from raw files."""

from pathlib import Path
from typing import Annotated

import typer

from runcard.cli.parameters import AsJson, option, path_argument, path_option, whole_option


def import_folder(
    folder: Annotated[Path, path_argument("DIR", "The folder to write the city to.")],
    roads: Annotated[
        Path,
        path_option(
            "ROADS",
            "Roads: OSMnx GraphML (.graphml) or GeoPackage (.gpkg), a GMNS folder, or a folder of tables that the "
            "mapping file names.",
        ),
    ],
    stations: Annotated[Path, path_option("FILE", "Stations, as CSV, by coordinates or node.")],
    mapping: Annotated[
        Path | None, path_option("FILE", "The mapping file: names of columns and units, as TOML.")
    ] = None,
    units: Annotated[Path | None, path_option("FILE", "The roster, as CSV: units with their station and kind.")] = None,
    standards: Annotated[
        Path | None, path_option("FILE", "Incident types and standards: an incident_type.csv.")
    ] = None,
    areas: Annotated[int, whole_option("About how many demand areas.", least=1, most=1_000_000)] = 400,
    widest_minutes: Annotated[
        float, option("X", "No area is wider than this, by driving time along its streets; more are made if needed.")
    ] = 3.0,
    incidents_per_day: Annotated[
        float, option("X", "Incidents per day in all, shared among the areas by road length.")
    ] = 100.0,
    target_minutes: Annotated[float, option("X", "The target, if there are no standards.")] = 6.0,
    busy_minutes: Annotated[float, option("X", "Mean minutes that a dispatched truck is busy.")] = 40.0,
    name: Annotated[str | None, option("NAME", "The name of the city; that of the folder if left out.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a city that is there already.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make a city from raw files: roads, stations, and a roster if there is one.

    Everything that is changed, moved or left out is counted and said; rows that cannot be used are listed in
    import-rejected.csv beside the city. The rates are not data: they share a total by road length.
    """
    from runcard.city.files import write_city
    from runcard.city.importers import ImportOptions, Mapping, import_city, read_import_mapping
    from runcard.cli.show_import import print_import
    from runcard.cli.terminal import print_json
    from runcard.outputs.rejected_rows import write_rejected

    options = ImportOptions(
        name=name if name is not None else folder.resolve().name,
        num_areas=areas,
        widest_minutes=widest_minutes,
        incidents_per_day=incidents_per_day,
        target_minutes=target_minutes,
        busy_minutes=busy_minutes,
    )
    imported = import_city(
        roads,
        stations,
        roster=units,
        standards=standards,
        mapping=Mapping() if mapping is None else read_import_mapping(mapping),
        options=options,
    )
    written = write_city(imported.city, folder, overwrite=overwrite)
    rejected = write_rejected(imported.rejected, written)
    if as_json:
        print_json({"city": imported.city.name, "folder": str(folder), **imported.summary.document()})
    else:
        print_import(imported, folder, rejected)
