"""Cities as folders: `city.toml` and four CSV tables that open in a spreadsheet and diff in git.

    city.toml     the settings: schema, name, busy_minutes, target_minutes, ...
    node.csv      node_id, x_coord, y_coord
    link.csv      link_id, from_node_id, to_node_id, directed, mean_minutes
    station.csv   station_id, node_id, trucks
    demand.csv    node_id, incidents_per_day

Reading finds every fault of all five files before it raises one `CityError`. Writing makes all five files in a draft
folder beside the place of the city first. A new folder then appears by one rename: whole, or not at all. In a folder
that exists, each file is replaced whole by a rename of its own: what fails before the first, such as a full disk,
leaves the old city as it was, but between the renames the folder holds files of both cities.
"""

import shutil
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from runcard.city.check import TABLE_ATTRIBUTES, Fault, UnreadableError, described, find_faults
from runcard.city.model import City
from runcard.city.settings import city_fields, format_settings, parse_settings
from runcard.city.tables import TABLES, ReadTable, format_table, parse_table
from runcard.errors import CityError, InputError, RuncardError

SETTINGS_FILE: Final = "city.toml"
FILE_NAMES: Final = (SETTINGS_FILE, *(table.file_name for table in TABLES))
_TABLE_ORDER: Final = {"city": 0} | {table.name: place for place, table in enumerate(TABLES, start=1)}


def read_city(folder: str | Path) -> City:
    """The city in a folder; raises one CityError that lists every fault with its file and row."""
    folder = Path(folder)
    if not folder.is_dir():
        raise CityError(str(folder), ["expected a city folder, got " + ("a file" if folder.exists() else "nothing")])
    faults: list[Fault] = []
    settings: dict[str, Any] = {}
    try:
        settings, texts = parse_settings(_read_text(folder / SETTINGS_FILE))
        faults += [Fault("city", None, text) for text in texts]
    except UnreadableError as error:
        faults.append(Fault("city", None, str(error)))
    read: dict[str, ReadTable] = {}
    for table in TABLES:
        try:
            read[table.name] = parse_table(table, _read_text(folder / table.file_name))
            faults += read[table.name].faults
        except UnreadableError as error:
            faults.append(Fault(table.name, None, str(error)))
    # The settings and tables that could be read are checked further, so that one run shows everything.
    faults += find_faults(settings, {name: table.rows for name, table in read.items()}, routes=not faults)
    if faults:
        raise CityError(str(folder), _in_words(faults, read))
    tables: dict[str, Any] = {attribute: read[name].rows for name, attribute in TABLE_ATTRIBUTES.items()}
    return City(**tables, **city_fields(settings))


def write_city(city: City, folder: str | Path, *, overwrite: bool = False) -> Path:
    """The folder that now holds the city; one that holds a city already is refused unless `overwrite` is set.

    Other files in that folder are left alone. A folder that holds anything but a city is never written to.
    """
    folder = Path(folder).resolve()
    _refuse_occupied(folder, overwrite=overwrite)
    texts = {SETTINGS_FILE: format_settings(city)}
    for table in TABLES:
        texts[table.file_name] = format_table(table, getattr(city, TABLE_ATTRIBUTES[table.name]))
    draft = folder.with_name(f".{folder.name}.{uuid4().hex}")
    try:
        draft.mkdir(parents=True)
        for file_name, text in texts.items():
            (draft / file_name).write_text(text, encoding="utf-8", newline="")
        if folder.exists():
            for file_name in texts:
                (draft / file_name).replace(folder / file_name)
        else:
            draft.replace(folder)
    except OSError as error:
        raise RuncardError(f"{folder}: the city could not be written: {error.strerror}") from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return folder


def _refuse_occupied(folder: Path, *, overwrite: bool) -> None:
    if not folder.exists():
        return
    if not folder.is_dir():
        raise InputError(f"{folder}: expected a folder for the city, got a file")
    present = {entry.name for entry in folder.iterdir()}
    if not present:
        return
    if not present.issuperset(FILE_NAMES):
        raise InputError(f"{folder}: expected an empty or new folder for the city, got one with other files in it")
    if not overwrite:
        raise InputError(
            f"{folder}: there is a city here already; choose another folder or replace it with --overwrite"
        )


def _read_text(path: Path) -> str:
    """The text of a file without its byte order mark; raises UnreadableError if it has none."""
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise UnreadableError("the file is missing") from error
    except OSError as error:
        raise UnreadableError(f"the file cannot be read: {error.strerror}") from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        row = data.count(b"\n", 0, error.start) + 1
        raise UnreadableError(f"row {row} is not UTF-8 text: got byte 0x{data[error.start]:02x}") from error


def _in_words(faults: list[Fault], read: dict[str, ReadTable]) -> list[str]:
    """The faults as lines, by file and row."""

    def place(table: str, index: int | None) -> str:
        if table == "city":
            return SETTINGS_FILE
        return f"{table}.csv" if index is None else f"{table}.csv row {read[table].row_numbers[index]}"

    in_order = sorted(faults, key=lambda fault: (_TABLE_ORDER[fault.table], -1 if fault.index is None else fault.index))
    return [described(fault, place) for fault in in_order]
