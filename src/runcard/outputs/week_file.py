"""The policy file of a city with periods: a department for each period of the week in one file.

Each period has what a file of its own would have, its arrays led by its number (`p0/cost`, `p1/0/value`). Costs and
measures do not depend on the rates, so what is the same as in the first period is stored there, once: `same` lists it.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from runcard.city.model import City
from runcard.city.periods import HOURS_PER_WEEK, Period, period_faults
from runcard.errors import PolicyFileError
from runcard.mdp.problem import DispatchProblem
from runcard.outputs.department_file import FORMATS, department_contents, department_from, fingerprints, kind_from
from runcard.outputs.policy_file import OTHER_CITY, WEEK_FORMAT, names_of, read_contents, said_of, write_contents
from runcard.outputs.stored_city import ground_of, pack_city
from runcard.policy.base import Policy
from runcard.policy.department import Department
from runcard.policy.ground import Ground
from runcard.policy.week import Week, period_of_hour


def save_week(week: Week, path: str | os.PathLike[str]) -> Path:
    """The file that now holds a department for each period."""
    said, arrays, first = list[dict[str, Any]](), dict[str, NDArray[Any]](), dict[str, NDArray[Any]]()
    for number, period in enumerate(week.periods):
        about, own = department_contents(week.departments[period.name])
        same = [name for name in own if name in first and _alike(own[name], first[name])]
        arrays |= {f"p{number}/{name}": array for name, array in own.items() if name not in same}
        first = first or own
        said.append({"name": period.name, "hours": list(period.hours), "same": same, "contents": about})
    of_city, words = pack_city(week.departments[week.periods[0].name])
    return write_contents(Path(path), {"format": WEEK_FORMAT, "periods": said} | of_city, arrays, words)


def _alike(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Whether two arrays are the same to the bit."""
    if one is other or (one.shape, one.dtype) != (other.shape, other.dtype):
        return one is other
    return np.array_equal(one, other)


class HeldPeriod(NamedTuple):
    """What a file says of one period, and its arrays."""

    period: Period
    about: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


def load_week(
    path: str | os.PathLike[str], problems: Mapping[str, Mapping[str, DispatchProblem | str]] | None = None
) -> Week:
    """The week in a file; with problems or fingerprints by period and kind, only if it is made for these."""
    with said_of(path):
        said, given, words = read_contents(Path(path), [WEEK_FORMAT, *FORMATS])
        if said["format"] != WEEK_FORMAT:
            raise PolicyFileError("expected a policy for each period of the week, found one for all hours")
        held = _periods(said, given)
        if problems is not None and [one.period.name for one in held] != list(problems):
            raise PolicyFileError(OTHER_CITY)
        departments, ground = {}, ground_of(said, words)
        for period, about, arrays in held:
            wanted = None if problems is None else problems[period.name]
            departments[period.name] = department_from(about, arrays, wanted, ground)
        return Week(periods=tuple(one.period for one in held), departments=departments)


def load_at(path: str | os.PathLike[str], hour: int | None, city: City | None = None) -> tuple[Department, str | None]:
    """The department of a file at an hour of the week, and its period; with a city, only if it is made for that.

    A file without periods is for every hour. One with periods needs the hour.
    """
    with said_of(path):
        said, given, words = read_contents(Path(path), [*FORMATS, WEEK_FORMAT])
        ground = ground_of(said, words)
        if ground is None and city is not None:  # a file of an older version
            ground = Ground(city)
        if said["format"] != WEEK_FORMAT:
            return department_from(said, given, None if city is None else fingerprints(city), ground), None
        held = _periods(said, given)
        if hour is None:
            names = "; ".join(f"{one.name}: {one.words}" for one, _, _ in held)
            raise PolicyFileError(f"it holds a policy for each period ({names}): say with --time when the incident is")
        wanted = period_of_hour(tuple(one.period for one in held), hour)
        if city is not None and {one.name: one.hours for one in city.periods} != {
            one.name: one.hours for one, _, _ in held
        }:
            raise PolicyFileError(OTHER_CITY)
        problems = None if city is None else fingerprints(city.in_period(wanted.name))
        _, about, arrays = next(one for one in held if one.period is wanted)
        return department_from(about, arrays, problems, ground), wanted.name


def load_held(path: str | os.PathLike[str]) -> Department | Week:
    """The department of a file, or the week of one with periods."""
    with said_of(path):
        said, given, words = read_contents(Path(path), [*FORMATS, WEEK_FORMAT])
        ground = ground_of(said, words)
        if said["format"] != WEEK_FORMAT:
            return department_from(said, given, None, ground)
        held = _periods(said, given)
        departments = {one.period.name: department_from(one.about, one.arrays, None, ground) for one in held}
        return Week(periods=tuple(one.period for one in held), departments=departments)


def load_any(path: str | os.PathLike[str]) -> tuple[Department, tuple[Period, ...]]:
    """The department of a file, or that of its first period, and its periods; () if it is for every hour."""
    held = load_held(path)
    if isinstance(held, Department):
        return held, ()
    return held.departments[held.periods[0].name], held.periods


def load_kind_at(path: str | os.PathLike[str], kind: str, problem: DispatchProblem | str) -> Policy:
    """The policy of one kind that is made for this problem or fingerprint, in whatever period of a file that is."""
    with said_of(path):
        said, given, _ = read_contents(Path(path), [*FORMATS, WEEK_FORMAT])
        if said["format"] != WEEK_FORMAT:
            return kind_from(said, given, kind, problem)
        for _, about, arrays in _periods(said, given):
            try:
                return kind_from(about, arrays, kind, problem)
            except PolicyFileError as error:
                if str(error) != OTHER_CITY:
                    raise
        raise PolicyFileError(OTHER_CITY)


def _periods(said: Mapping[str, Any], given: Mapping[str, NDArray[Any]]) -> list[HeldPeriod]:
    """What a file holds of each period, if its periods are a week."""
    found: list[HeldPeriod] = []
    own: list[dict[str, NDArray[Any]]] = [{} for _ in said["periods"]]
    for name, array in given.items():
        number, _, rest = name.partition("/")
        if not number.startswith("p") or not number[1:].isdecimal():
            raise PolicyFileError(f"damaged: expected the number of a period before the array {name[:80]!r}")
        own[int(number[1:])][rest] = array
    for one, arrays in zip(said["periods"], own, strict=True):
        period, same = Period(one["name"], tuple(one["hours"])), names_of(one["same"])
        if one["contents"]["format"] not in FORMATS or set(same) & set(arrays):
            raise PolicyFileError(f"damaged: expected the contents of a policy file for period {one['name']!r:.80}")
        found.append(HeldPeriod(period, one["contents"], arrays | {name: own[0][name] for name in same}))
    faults = list(period_faults([one.period for one in found], [""]))
    if faults or sum(len(one.period.hours) for one in found) != HOURS_PER_WEEK:
        raise PolicyFileError(f"damaged: expected the periods of a week: {'; '.join(faults)}")
    return found


def week_fingerprints(city: City) -> dict[str, dict[str, str]]:
    """The fingerprint of the problem of every kind in every period of a city."""
    return {one.name: fingerprints(city.in_period(one.name)) for one in city.periods}
