"""Plan files: one safetensors file holds a plan and all that its decisions need, and no more.

It has the policies of every kind of units in every period, the roster and the standards. The arrays of a policy are led
by the numbers of its kind and its period (`0/1/cost`). Costs and measures do not depend on the rates, so what is the
same as in the first period is stored there, once: `same` lists it. A digest of all of it is kept in the header. A file
is written under another name first and then renamed: whoever reads it sees all of it or none.

What was written before there was one format is read, too (see `old_file.py`).
"""

import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from runcard.city.model import City, Standard, Unit
from runcard.city.parts import COLUMN_CONDITIONS
from runcard.city.periods import HOURS_PER_WEEK, Period, period_faults
from runcard.errors import InputError, PolicyFileError
from runcard.mdp.fingerprint import city_fingerprint
from runcard.mdp.problem import is_standard, standard_measure
from runcard.output_file import fill_whole
from runcard.plan.fleet import OTHER_CITY, Fleet
from runcard.plan.ground import Ground
from runcard.plan.old_file import OLD_FORMATS, in_new_form
from runcard.plan.plan import Plan
from runcard.plan.stored_city import pack_city, stored_ground
from runcard.plan.stored_policy import LARGEST, MEASURE, P90, contents_of, names_of, policy_from
from runcard.plan.tensor_file import read_json, read_tensors, write_tensors

FORMAT: Final = "runcard-plan-1"
_STANDARD: Final = ("type", "kind", "trucks", "arrivals", "target_minutes", "weight", "busy_minutes")
_UNIT: Final = ("unit_id", "station_id", "kind")


def save(plan: Plan, path: str | os.PathLike[str]) -> Path:
    """The file that now holds a plan, and its city if that is known."""
    kinds, arrays = list[dict[str, Any]](), dict[str, NDArray[Any]]()
    for number, fleet in enumerate(plan.fleets):
        policies, first = list[dict[str, Any]](), dict[str, NDArray[Any]]()
        for place, policy in enumerate(fleet.policies):
            about, stored = contents_of(policy)
            same = [name for name in stored if name in first and _alike(stored[name], first[name])]
            arrays |= {f"{number}/{place}/{name}": array for name, array in stored.items() if name not in same}
            first = first or stored
            policies.append(about | {"same": same})
        kinds.append(
            {
                "kind": fleet.kind,
                "units": _rows(fleet.roster, _UNIT),
                "standards": _rows(fleet.standards, _STANDARD),
                "types": list(fleet.types),
                "policies": policies,
            }
        )
    periods = [{"name": period.name, "hours": list(period.hours)} for period in plan.periods]
    of_city, words = pack_city(plan)
    about = {"format": FORMAT, "periods": periods, "kinds": kinds, "spare": _rows(plan.spare, _UNIT)} | of_city
    about |= {"fit_faults": list(plan.fit_faults)} if plan.fit_faults else {}
    return write_contents(Path(path), about, arrays, words)


def _rows(things: tuple[Any, ...], names: tuple[str, ...]) -> list[list[Any]]:
    return [[getattr(thing, name) for name in names] for thing in things]


def _alike(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Whether two arrays are the same to the bit."""
    if one is other or (one.shape, one.dtype) != (other.shape, other.dtype):
        return one is other
    return np.array_equal(one, other)


def load(path: str | os.PathLike[str], city: City | None = None) -> Plan:
    """The plan in a file; with a city, only if it was made for that city as it is now."""
    with said_of(path):
        about, arrays, words = read_contents(Path(path))
        plan = _plan(about, arrays, stored_ground(about, words))
        if city is None:
            return plan
        _check_made_for(plan, city)
        return plan if plan.ground is not None else plan.on(Ground(city))  # a file of an older version


def _check_made_for(plan: Plan, city: City) -> None:
    """Raise an error about a plan of another city."""
    hours = {period.name: period.hours for period in city.periods}
    if hours != {period.name: period.hours for period in plan.periods}:
        raise PolicyFileError(OTHER_CITY)
    for name, of_period in plan.by_period.items():
        seen = city.in_period(name)
        wanted = {kind: city_fingerprint(seen.of_kind(kind)) for kind in seen.sent_kinds}
        if list(wanted.items()) != [(fleet.kind, fleet.problem.fingerprint) for fleet in of_period.fleets]:
            raise PolicyFileError(OTHER_CITY)


def _plan(about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], ground: Ground | None) -> Plan:
    """The plan of the contents of a file."""
    periods = tuple(Period(period["name"], tuple(period["hours"])) for period in about["periods"])
    faults = list(period_faults(periods, [""]))
    if faults or sum(len(period.hours) for period in periods) != HOURS_PER_WEEK:
        raise PolicyFileError(f"damaged: expected the periods of a week: {'; '.join(faults)}")
    if not about["kinds"]:
        raise PolicyFileError("damaged: expected at least one kind of units")
    places = {
        (str(number), str(place)): dict[str, NDArray[Any]]()
        for number in range(len(about["kinds"]))
        for place in range(len(periods))
    }
    for name, array in arrays.items():
        number, place, own = (*name.split("/", 2), "", "")[:3]
        if (number, place) not in places:
            raise PolicyFileError(f"damaged: expected the numbers of a kind and a period before {name[:80]!r}")
        places[number, place][own] = array
    fleets = tuple(
        _fleet(said, periods, [places[str(number), str(place)] for place in range(len(periods))])
        for number, said in enumerate(about["kinds"])
    )
    fit_faults, kinds = names_of(about.get("fit_faults", [])), [fleet.kind for fleet in fleets]
    plan = Plan(fleets=fleets, spare=_units(about["spare"]), ground=ground, fit_faults=fit_faults)
    unit_ids = [unit.unit_id for roster in (*(fleet.roster for fleet in fleets), plan.spare) for unit in roster]
    if len(set(unit_ids)) < len(unit_ids) or len(set(kinds)) < len(kinds):
        raise PolicyFileError("damaged: expected every unit and every kind once")
    if len(kinds) > 1 and not all(fleet.roster and fleet.standards for fleet in fleets):
        raise PolicyFileError("damaged: expected units and standards of every kind")
    return plan


def _fleet(said: Mapping[str, Any], periods: tuple[Period, ...], arrays: list[dict[str, NDArray[Any]]]) -> Fleet:
    """The fleet of a file, if what it says fits together."""
    policies = []
    for about, stored in zip(said["policies"], arrays, strict=True):
        same = names_of(about["same"])
        if set(same) & set(stored):
            raise PolicyFileError(f"damaged: expected no array twice, found {', '.join(same):.80}")
        policies.append(policy_from(about, stored | {name: arrays[0][name] for name in same}))
    problem, kind = policies[0].problem, _kind(said["kind"])
    if any(policy.problem.point_ids != problem.point_ids for policy in policies):
        raise PolicyFileError(f"damaged: expected the same demand points of {kind} in every period")
    fleet = Fleet(
        kind=kind,
        policies=tuple(policies),
        periods=periods,
        roster=_units(said.get("units", [])),
        standards=tuple(_checked("standards", Standard, _STANDARD, row) for row in said.get("standards", [])),
        types=names_of(said.get("types", [""] * problem.num_points)),
    )
    homes = [unit.station_id for unit in fleet.roster]
    counts = [homes.count(station_id) for station_id in problem.station_ids]
    if homes and (counts != problem.trucks.tolist() or len(homes) != problem.num_trucks):
        raise PolicyFileError(f"damaged: expected units for the trucks of every station of {kind}")
    if len(fleet.types) != problem.num_points:
        raise PolicyFileError(f"damaged: expected a type for each of {problem.num_points} demand points of {kind}")
    if ({unit.kind for unit in fleet.roster} | {standard.kind for standard in fleet.standards}) - {kind}:
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
    if fault := COLUMN_CONDITIONS["units"]["kind"].fault("kind", given):
        raise PolicyFileError(f"damaged: {fault}")
    return str(given)


def _units(rows: Any) -> tuple[Unit, ...]:
    return tuple(_checked("units", Unit, _UNIT, row) for row in rows)


def _checked(table: str, of: type[Any], names: tuple[str, ...], row: Any) -> Any:
    """A row of a table of the city, if its cells are what they must be."""
    for name, value in zip(names, row, strict=True):
        if fault := COLUMN_CONDITIONS[table][name].fault(name, value):
            raise PolicyFileError(f"damaged: {fault}")
    return of(*row)


@contextmanager
def said_of(path: str | os.PathLike[str]) -> Iterator[None]:
    """Raise what is wrong with a file as one error that names it."""
    try:
        yield
    except PolicyFileError as error:
        raise PolicyFileError(f"{path}: {error}") from error
    except (InputError, KeyError, TypeError, ValueError, IndexError, OverflowError, RecursionError) as error:
        # Whole, but not written by this version: an array or a word that it needs is missing, or of another kind.
        raise PolicyFileError(f"{path}: not a policy file of this version, or damaged ({error!r:.200})") from error


def write_contents(
    path: Path, about: dict[str, Any], arrays: Mapping[str, NDArray[Any]], words: Mapping[str, str] | None = None
) -> Path:
    """The file that now holds these arrays and what is said of them; and other words, which need no digest here."""
    words = {**(words or {}), "runcard": json.dumps(about | {"digest": _digest(about, arrays)})}
    return fill_whole(path, lambda draft: write_tensors(draft, words, arrays))


class Contents(NamedTuple):
    """What a policy file says of itself, its arrays, and the words of its header."""

    about: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    words: dict[str, Any]


def read_contents(source: Path) -> Contents:
    """The contents of a plan file, in the form of now; what it says and its arrays are as they were written."""
    words, arrays = read_tensors(source)
    text = words.get("runcard", "null")
    about = read_json(text) if isinstance(text, str) else None
    if not isinstance(about, dict) or about.get("format") not in (FORMAT, *OLD_FORMATS):
        found = about.get("format") if isinstance(about, dict) else about
        raise PolicyFileError(f"expected a policy file of the format {FORMAT}, found {found!r:.80}")
    if about.pop("digest", None) != _digest(about, arrays):
        raise PolicyFileError("damaged: its contents do not match their digest")
    for name, array in arrays.items():
        own = name.rpartition("/")[2]  # after the numbers of its kind and its period
        infinite = own == "cost" or own.startswith((MEASURE, P90))
        if array.dtype.kind == "f" and array.size and not _are_numbers(array, infinite=infinite):
            raise PolicyFileError(f"damaged: expected numbers in the array {name[:80]!r}, up to {LARGEST:g}")
    return Contents(*in_new_form(about, arrays), words)


def _are_numbers(array: NDArray[Any], *, infinite: bool) -> bool:
    """Whether all are numbers, none too large; +inf may be among them if `infinite`.

    A team with more trucks than a demand point needs costs +inf there; the problem checks that it is just these.
    """
    low, high = float(array.min()), float(array.max())  # nan if one of them is; nothing of their size is allocated
    if infinite and high == math.inf:
        high = float(np.max(array, where=array < math.inf, initial=0.0))
    return low >= -LARGEST and high <= LARGEST


def _digest(about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    """A digest of everything that a policy file says and holds."""
    digest = hashlib.blake2b(json.dumps(about, sort_keys=True).encode(), digest_size=16)
    for name in sorted(arrays):
        digest.update(f"{name}{arrays[name].dtype.str}{arrays[name].shape}".encode())
        digest.update(np.ascontiguousarray(arrays[name]).data)
    return digest.hexdigest()
