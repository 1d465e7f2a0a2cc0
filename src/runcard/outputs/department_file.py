"""The policy file of a department: the policies of all its kinds, its roster and its standards in one file.

Each kind has what a policy file of its own would have, its arrays led by its number (`0/cost`). A city without a roster
and without standards has one kind of trucks and nothing to say about it: its file is a plain one, and every plain file
is also that of a department of one kind.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runcard.city.conditions import COLUMN_CONDITIONS, ONLY_KIND
from runcard.city.model import City, Standard, Unit
from runcard.errors import PolicyFileError
from runcard.mdp.fingerprint import city_fingerprint
from runcard.mdp.problem import DispatchProblem, is_standard, standard_measure
from runcard.outputs.policy_file import (
    DEPARTMENT_FORMAT,
    FORMAT,
    OTHER_CITY,
    contents_of,
    names_of,
    policy_from,
    read_contents,
    said_of,
    write_contents,
)
from runcard.outputs.stored_city import ground_of, pack_city
from runcard.policy.base import Policy
from runcard.policy.department import Department, Fleet
from runcard.policy.ground import Ground

FORMATS = (FORMAT, DEPARTMENT_FORMAT)
_STANDARD = ("type", "kind", "trucks", "arrivals", "target_minutes", "weight", "busy_minutes")
_UNIT = ("unit_id", "station_id", "kind")


def save_department(department: Department, path: str | os.PathLike[str]) -> Path:
    """The file that now holds the policies of a department, and its city if that is known."""
    about, arrays = department_contents(department)
    of_city, words = pack_city(department)
    return write_contents(Path(path), about | of_city, arrays, words)


def department_contents(department: Department) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What the file of a department says, and its arrays."""
    if department.is_plain:
        about, own = contents_of(department.fleets[0].policy)
        return {"format": FORMAT} | about, own
    kinds, arrays = list[dict[str, Any]](), dict[str, NDArray[Any]]()
    for number, fleet in enumerate(department.fleets):
        about, own = contents_of(fleet.policy)
        arrays |= {f"{number}/{name}": array for name, array in own.items()}
        kinds.append(
            {
                "kind": fleet.kind,
                "policy": about,
                "units": [[getattr(unit, name) for name in _UNIT] for unit in fleet.units],
                "standards": [[getattr(one, name) for name in _STANDARD] for one in fleet.standards],
                "types": list(fleet.types),
            }
        )
    spare = [[getattr(unit, name) for name in _UNIT] for unit in department.spare]
    return {"format": DEPARTMENT_FORMAT, "kinds": kinds, "spare": spare}, arrays


def load_department(
    path: str | os.PathLike[str], problems: Mapping[str, DispatchProblem | str] | None = None
) -> Department:
    """The department in a file; with the problems of its kinds, or their fingerprints, only if it is made for these."""
    with said_of(path):
        about, arrays, words = read_contents(Path(path), FORMATS)
        return department_from(about, arrays, problems, ground_of(about, words))


def department_from(
    said: dict[str, Any],
    given: dict[str, NDArray[Any]],
    problems: Mapping[str, DispatchProblem | str] | None,
    ground: Ground | None,
) -> Department:
    """The department of the contents of a file."""
    about, arrays = _by_kind(said, given)
    if problems is not None and [one["kind"] for one in about["kinds"]] != list(problems):
        raise PolicyFileError(OTHER_CITY)
    fleets = [
        _fleet(one, policy_from(one["policy"], own, None if problems is None else problems[one["kind"]]))
        for one, own in zip(about["kinds"], arrays, strict=True)
    ]
    department = Department(fleets=tuple(fleets), spare=_units(about["spare"]), ground=ground)
    kinds = [fleet.kind for fleet in fleets]
    if len(set(department.unit_ids)) < len(department.unit_ids) or len(set(kinds)) < len(kinds):
        raise PolicyFileError("damaged: expected every unit and every kind once")
    if len(kinds) > 1 and not all(fleet.units and fleet.standards for fleet in fleets):
        raise PolicyFileError("damaged: expected units and standards of every kind")
    return department


def load_kind(path: str | os.PathLike[str], kind: str, problem: DispatchProblem | str) -> Policy:
    """The policy of one kind in the file of a department, only if it is made for this problem or fingerprint."""
    with said_of(path):
        about, arrays, _ = read_contents(Path(path), FORMATS)
        return kind_from(about, arrays, kind, problem)


def kind_from(
    said: dict[str, Any], given: dict[str, NDArray[Any]], kind: str, problem: DispatchProblem | str
) -> Policy:
    """The policy of one kind of the contents of a file, only if it is made for this problem or fingerprint."""
    about, arrays = _by_kind(said, given)
    for one, own in zip(about["kinds"], arrays, strict=True):
        if one["kind"] == kind:
            return policy_from(one["policy"], own, problem)
    raise PolicyFileError(OTHER_CITY)


def _by_kind(
    about: dict[str, Any], arrays: dict[str, NDArray[Any]]
) -> tuple[dict[str, Any], list[dict[str, NDArray[Any]]]]:
    """What the contents of a file say of each kind, and the arrays of each."""
    if about["format"] == FORMAT:
        return {"kinds": [{"kind": ONLY_KIND, "policy": about}], "spare": []}, [arrays]
    if not about["kinds"]:
        raise PolicyFileError("damaged: expected at least one kind of units")
    by_number: dict[str, dict[str, NDArray[Any]]] = {str(number): {} for number in range(len(about["kinds"]))}
    for name, array in arrays.items():
        number, _, own = name.partition("/")
        by_number[number][own] = array
    return about, list(by_number.values())


def fingerprints(city: City) -> dict[str, str]:
    """The fingerprint of the problem of every kind of a city."""
    return {kind: city_fingerprint(city.of_kind(kind)) for kind in city.sent_kinds}


def _fleet(said: Mapping[str, Any], policy: Policy) -> Fleet:
    """The fleet of a file, if what it says fits together."""
    problem, kind = policy.problem, _kind(said["kind"])
    fleet = Fleet(
        kind=kind,
        policy=policy,
        units=_units(said.get("units", [])),
        standards=tuple(_checked("incident_type", Standard, _STANDARD, row) for row in said.get("standards", [])),
        types=names_of(said.get("types", [""] * problem.num_points)),
    )
    homes = [unit.station_id for unit in fleet.units]
    counts = [homes.count(station_id) for station_id in problem.station_ids]
    if fleet.units and (counts != problem.trucks.tolist() or len(homes) != problem.num_trucks):
        raise PolicyFileError(f"damaged: expected units for the trucks of every station of {kind}")
    if len(fleet.types) != problem.num_points:
        raise PolicyFileError(f"damaged: expected a type for each of {problem.num_points} demand points of {kind}")
    if ({unit.kind for unit in fleet.units} | {standard.kind for standard in fleet.standards}) - {kind}:
        raise PolicyFileError(f"damaged: expected units and standards of the kind {kind} only")
    trucks = {standard.type: standard.trucks for standard in fleet.standards}
    numbers = [standard_measure(n) for n in range(max(map(len, map(fleet.standards_of, trucks)), default=0))]
    if trucks and [trucks.get(name) for name in fleet.types] != problem.trucks_needed.tolist():
        raise PolicyFileError(f"damaged: expected standards of {kind} that need as many trucks as its demand points")
    if len(numbers) > 1 and not set(numbers) <= set(problem.measures):
        raise PolicyFileError(f"damaged: expected the chance to miss every standard of {kind}")
    for name in filter(is_standard, problem.measures):
        chances = problem.measures[name]
        if chances.min() < 0.0 or chances.max(where=np.isfinite(chances), initial=0.0) > 1.0:
            raise PolicyFileError(f"damaged: expected chances to miss the standards of {kind}")
    if any(standard.arrivals > standard.trucks for standard in fleet.standards):
        raise PolicyFileError(f"damaged: expected no more arrivals than trucks in the standards of {kind}")
    return fleet


def _kind(given: Any) -> str:
    """The name of a kind, if it is one."""
    if fault := COLUMN_CONDITIONS["unit"]["kind"].fault("kind", given):
        raise PolicyFileError(f"damaged: {fault}")
    return str(given)


def _units(rows: Any) -> tuple[Unit, ...]:
    return tuple(_checked("unit", Unit, _UNIT, row) for row in rows)


def _checked(table: str, of: type[Any], names: tuple[str, ...], row: Any) -> Any:
    """A row of a table of the city, if its cells are what they must be."""
    for name, value in zip(names, row, strict=True):
        if fault := COLUMN_CONDITIONS[table][name].fault(name, value):
            raise PolicyFileError(f"damaged: {fault}")
    return of(*row)
