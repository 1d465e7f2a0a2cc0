"""What a fit wrote beside a city, and the words on how badly it fits: the same in every view of the city."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from runcard import output_file
from runcard.city import City, files
from runcard.city.files import refuse_occupied
from runcard.plan.words import counted

FIT_FILE: Final = "fit.json"
PAGE_FILE: Final = "fit.html"
REJECTED_FILE: Final = "rejected.csv"
AGREEMENT: Final = "Does it agree with the log?"
"""The heading below which a view names the faults of a fit."""
CARE: Final = "Read the numbers with care: the city was fitted to a log, and the fit is bad in"
CHANGES: Final = " changes, and its work is off"
WORK: Final = ("unit", "responses_per_day", "predicted_responses_per_day")
FAULTS: Final = "The numbers of this city come from a log of the department. The fit is bad in these ways:"


def write_fit(
    folder: Path, city: City, document: Mapping[str, Any], page: str, rejected: str, *, overwrite: bool
) -> None:
    """Write a fitted city, its numbers, the page and the rejected rows, each file whole."""
    if folder.is_dir():
        refuse_occupied(folder, overwrite=overwrite)
    for name in (FIT_FILE, PAGE_FILE, REJECTED_FILE):  # first: a kill must not leave those of the city before
        (folder / name).unlink(missing_ok=True)
    files.write_city(city, folder, overwrite=overwrite)
    output_file.write_whole(folder / FIT_FILE, (json.dumps(document, indent=1) + "\n").encode())
    output_file.write_whole(folder / PAGE_FILE, page.encode())
    output_file.write_whole(folder / REJECTED_FILE, rejected.encode())


def read_fit(folder: Path) -> dict[str, Any] | None:
    """What `runcard fit` wrote beside a city; None where it is not there, or not what it should be."""
    try:
        document = json.loads((folder / FIT_FILE).read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) else None


def fit_faults(fit: Mapping[str, Any] | None) -> tuple[str, ...]:
    """In which ways a fit is bad, as the fit says it; none where there is no fit."""
    goodness = (fit or {}).get("goodness")
    faults = goodness.get("faults") if isinstance(goodness, dict) else None
    return tuple(fault for fault in faults if isinstance(fault, str)) if isinstance(faults, list) else ()


def changed_faults(fit: Mapping[str, Any] | None, before: City, after: City) -> tuple[str, ...]:
    """Of which units that are changed the work is not that of the log, by the fit; none where there is no fit."""
    goodness = (fit or {}).get("goodness")
    work = goodness.get("busy") if isinstance(goodness, dict) else None
    own, other = ({(unit.unit_id, unit.station_id) for unit in city.units} for city in (before, after))
    changed = {unit for unit, _ in own ^ other}
    return tuple(
        f"{unit}{CHANGES} by more than a third and by more than chance: it has {observed:.1f} "
        f"responses a day in the log and {predicted:.1f} in the city. What is said of it is no better."
        for one in (work if isinstance(work, list) else ())
        for unit, observed, predicted in [[one.get(key) for key in WORK]]
        if one.get("off") is True and unit in changed
    )


def care_line(faults: Sequence[str], most: int = 1) -> str:
    """What a view says that has no room for all faults of a fit: how many there are, and the first; else empty."""
    if not faults:
        return ""
    more = f", which {PAGE_FILE} lists" if len(faults) > 1 else ""
    return " ".join([f"{_care(faults)}{more}.", *faults[:most]])


def care_words(faults: Sequence[str]) -> str:
    """What comes before all numbers of a badly fitted city, with what is wrong of units that change; else empty."""
    if not faults:
        return ""
    care = f"{_care(faults)} (“{AGREEMENT}”)."
    return " ".join([care, *(fault for fault in faults if CHANGES in fault)])


def _care(faults: Sequence[str]) -> str:
    """In how many ways a fit is bad; what is wrong of units that change is a part of one of these."""
    return f"{CARE} {counted(sum(CHANGES not in fault for fault in faults) or len(faults), 'way')}"
