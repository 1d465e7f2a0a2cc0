"""Cities as folders: `city.toml` and CSV tables (see `tables.py`) that open in a spreadsheet and diff in git.

The roster and the incident types, `unit.csv` and `incident_type.csv`, may be left out. Reading finds every fault of all
files before it raises one `CityError`.

Writing never leaves files of two cities that read as one. All files are first written to a draft folder inside the
city's folder. Then `city.toml` moves away, the tables are replaced one by one, and the new `city.toml` comes last. So
`city.toml` is missing while tables of two cities may stand side by side. A write that is killed in between leaves a
draft without a `city.toml` beside it. Such a folder is not read, and the next write replaces it.
"""

import os
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from runcard.city.check import find_faults
from runcard.city.conditions import UNREAD, Fault, UnreadableError
from runcard.city.csv_text import CsvText, read_text
from runcard.city.model import City, Derived, taken_as_sound
from runcard.city.parts import OPTIONAL_ROWS
from runcard.city.settings import format_settings, parse_settings
from runcard.city.tables import TABLES, ReadTable, format_table, parse_table, with_trucks
from runcard.errors import CityError, InputError, RuncardError

SETTINGS_FILE: Final = "city.toml"
CITY_FILES: Final = {
    "nodes": "node.csv", "links": "link.csv", "stations": "station.csv", "demand": "demand.csv", "units": "unit.csv",
    "standards": "incident_type.csv", "city": SETTINGS_FILE,
}  # fmt: skip
"""By table, or `city` for the settings, in the order in which a write replaces them."""
FILE_NAMES: Final = tuple(CITY_FILES.values())
OPTIONAL_FILES: Final = tuple(CITY_FILES[table] for table in OPTIONAL_ROWS)

DRAFT: Final = ".runcard-draft"
REPLACED: Final = "replaced.toml"
"""The place in the draft that `city.toml` of the city before moves to."""

_ORDER: Final = ("city", *TABLES)
_NUM_TRIES, _WAIT_SECONDS = 20, 0.05


def read_city(folder: str | Path) -> City:
    """The city in a folder; raises one CityError that lists every fault with its file and row."""
    folder = Path(folder)
    if not folder.is_dir():
        raise CityError(str(folder), ["expected a city folder, got " + ("a file" if folder.exists() else "nothing")])
    for _ in range(_NUM_TRIES):
        before = _identity(folder / SETTINGS_FILE)
        texts = {name: _text_or_fault(folder / name) for name in FILE_NAMES}
        if before == _identity(folder / SETTINGS_FILE) and not _is_half_written(folder):
            return _city_of(str(folder), {name: text for name, text in texts.items() if text is not None})
        time.sleep(_WAIT_SECONDS)  # another program may be writing the city just now
    text = (
        f"{SETTINGS_FILE}: the file is missing, because a write of a city was interrupted here, and the tables may "
        "be of two cities; write the city again with --overwrite"
    )
    raise CityError(str(folder), [text])


def _text_or_fault(path: Path) -> str | UnreadableError | None:
    """The text of a file, or why it has none; None if there is no such file."""
    try:
        return read_text(path) if path.exists() else None
    except UnreadableError as error:
        return error


def city_from_texts(texts: Mapping[str, str]) -> City:
    """The city whose files have these texts, by their names (see `city_texts`); a CityError if it is not sound."""
    return _city_of("city", texts)


def _city_of(where: str, texts: Mapping[str, str | UnreadableError]) -> City:
    """The city whose files have these texts; a CityError with every fault if there are any."""
    fields: dict[str, Any] = {}
    read: dict[str, ReadTable] = {}
    faults: list[Fault] = []

    def place(table: str, index: int | None) -> str:
        return CITY_FILES[table] if index is None else f"{CITY_FILES[table]} row {read[table].row_numbers[index]}"

    for name in _ORDER:
        text = texts.get(CITY_FILES[name], UnreadableError("the file is missing"))
        if name in OPTIONAL_ROWS and CITY_FILES[name] not in texts:
            continue
        try:
            if isinstance(text, UnreadableError):
                raise text
            if name == "city":
                fields, wrong = parse_settings(text)
                faults += [Fault("city", None, fault) for fault in wrong]
            else:
                counted = name == "stations" and CITY_FILES["units"] not in texts
                read[name] = parse_table(with_trucks(TABLES[name]) if counted else TABLES[name], CsvText(text))
                fields[name] = read[name].rows
                faults += read[name].faults
        except UnreadableError as error:
            faults.append(Fault(name, None, str(error)))
            fields |= {name: UNREAD} if name in TABLES else {}
    # The settings and tables that could be read are checked further, so that one run shows everything.
    faults += find_faults(fields, place, routes=not faults)
    if faults:
        faults.sort(key=lambda fault: (_ORDER.index(fault.table), -1 if fault.index is None else fault.index))
        raise CityError(where, [f"{place(fault.table, fault.index)}: {fault.text}" for fault in faults])
    with taken_as_sound():
        return City(**fields)


def city_texts(city: City) -> dict[str, str]:
    """The texts of the files of a city, by their names."""
    rows = {name: getattr(city, name) for name in TABLES}
    rows = {name: of_table for name, of_table in rows.items() if not isinstance(of_table, Derived)}
    if "units" in rows:  # the roster says how many trucks a station has
        rows["stations"] = tuple(replace(station, trucks=0) for station in city.stations)
    texts = {CITY_FILES[name]: format_table(TABLES[name], of_table) for name, of_table in rows.items()}
    return texts | {SETTINGS_FILE: format_settings(city)}


def write_city(city: City, folder: str | Path, *, overwrite: bool = False) -> Path:
    """The folder that now holds the city; one that holds a city already is refused unless `overwrite` is set.

    Other files in that folder are left alone. A folder that holds anything but a city is never written to.
    """
    folder = Path(os.path.realpath(folder))
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: expected a folder for the city, got a file")
    texts = city_texts(city)
    is_new = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _only_writer(folder):
            refuse_occupied(folder, overwrite=overwrite)
            _replace_files(folder, texts)
    except OSError as error:
        if is_new:
            with suppress(OSError):
                folder.rmdir()
        raise RuncardError(f"{folder}: the city could not be written: {error.strerror}") from error
    return folder


@contextmanager
def _only_writer(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder; raises an error if another program is writing a city to it."""
    if sys.platform == "win32":  # no locks there
        yield
        return
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network drives have no locks
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RuncardError(f"{folder}: another program is writing a city to this folder") from None
        yield
    finally:
        os.close(handle)


def refuse_occupied(folder: Path, *, overwrite: bool) -> None:
    """Raise an InputError if a folder holds something else than a city, or a city that is not to be overwritten."""
    present = {entry.name for entry in folder.iterdir()} - {DRAFT}
    if not present:
        return
    half = _is_half_written(folder)
    if not half and not present.issuperset(set(FILE_NAMES) - set(OPTIONAL_FILES)):
        raise InputError(f"{folder}: expected an empty or new folder for the city, got one with other files in it")
    if not overwrite:
        found = "a write of a city was interrupted here" if half else "there is a city here already"
        raise InputError(f"{folder}: {found}; choose another folder or replace it with --overwrite")


def _replace_files(folder: Path, texts: dict[str, str]) -> None:
    """Write the files of a city; an existing file keeps its mode."""
    draft = folder / DRAFT
    shutil.rmtree(draft, ignore_errors=True)  # of a write that was killed
    draft.mkdir(mode=0o700)
    try:
        for name in texts:
            (draft / name).write_text(texts[name], encoding="utf-8", newline="")
            if (folder / name).exists():
                shutil.copymode(folder / name, draft / name)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    with suppress(FileNotFoundError):
        (folder / SETTINGS_FILE).replace(draft / REPLACED)
    for name in FILE_NAMES:
        if name in texts:
            (draft / name).replace(folder / name)
        else:  # of the city before
            (folder / name).unlink(missing_ok=True)
    shutil.rmtree(draft, ignore_errors=True)


def _is_half_written(folder: Path) -> bool:
    """Whether the files may be of two cities, or are not all there."""
    return not (folder / SETTINGS_FILE).exists() and (folder / DRAFT).exists()


def _identity(path: Path) -> tuple[int, int, int] | None:
    """What tells a file from another one that took its place; None if there is none."""
    with suppress(OSError):
        found = path.stat()
        return found.st_ino, found.st_mtime_ns, found.st_size
    return None
