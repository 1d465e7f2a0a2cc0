"""Policy files: one safetensors file holds a solved policy and all that its decisions need, and no more.

Every file has its problem. What else it has is the policy's own affair (see `Policy.stored`): the values h of every
state, a sum of small tables, the orders of a card, or nothing. A digest of all of it is kept in the header. The
fingerprint of the problem says which city the policy is for. A file is written under another name first and then
renamed: whoever reads it sees all of it or none.

A digest is no signature: anybody can write a file with a good one. So all that a file says is checked before a decision
is made from it: that types, shapes and sizes fit together, and that numbers are numbers (see also `tensor_file.py`).
"""

import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from runcard.city.model import LATE, Objective
from runcard.errors import InputError, PolicyFileError
from runcard.mdp.problem import DispatchProblem, is_standard
from runcard.outputs.files import fill_whole
from runcard.outputs.tensor_file import read_json, read_tensors, write_tensors
from runcard.policy.base import Certificate, Policy, Stored
from runcard.policy.solve import RECIPES

FORMAT: Final = "runcard-policy-3"
DEPARTMENT_FORMAT: Final = "runcard-department-1"
"""Of a city with a roster or standards; see `department_file.py`."""

WEEK_FORMAT: Final = "runcard-week-1"
"""Of a city with periods; see `week_file.py`."""

OTHER_CITY: Final = "the policy was made for another city, or for this one before it changed; solve it again"

LARGEST: Final = 1e100
"""No number of a policy is larger; sums and differences of such numbers are still numbers."""

_OF_PROBLEM: Final = ("trucks", "incidents_per_day", "trucks_needed", "cost", "order")
_SAID_OF_PROBLEM: Final = (
    "source",
    "returns_per_day",
    "cost_error",
    "proven",
    "station_ids",
    "point_ids",
    "class_names",
)
_MEASURE: Final = "measure_"
"""Before the name of a measure, in that of its array."""
_P90: Final = "p90_"
"""The same of a percentile."""


def save_policy(policy: Policy, path: str | os.PathLike[str]) -> Path:
    """The file that now holds the policy."""
    about, arrays = contents_of(policy)
    return write_contents(Path(path), {"format": FORMAT} | about, arrays)


def write_contents(
    path: Path, about: dict[str, Any], arrays: Mapping[str, NDArray[Any]], words: Mapping[str, str] | None = None
) -> Path:
    """The file that now holds these arrays and what is said of them; and other words, which need no digest here."""
    words = {**(words or {}), "runcard": json.dumps(about | {"digest": _digest(about, arrays)})}
    return fill_whole(path, lambda draft: write_tensors(draft, words, arrays))


def contents_of(policy: Policy) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What a file says of a policy, and its arrays."""
    problem, stored = policy.problem, policy.stored()
    arrays = {name: getattr(problem, name) for name in _OF_PROBLEM}
    # Values of every state are for evaluation, too, which wants every measure; so do the words of a decision where the
    # cost is not P(late). The standards are in every answer, and so are arrivals where they are known.
    every = "value" in stored.arrays or problem.objective != LATE or bool(problem.p90_minutes)
    arrays |= {
        f"{_MEASURE}{name}": array
        for name, array in problem.measures.items()
        if array is not problem.cost and (every or is_standard(name))
    }
    arrays |= {f"{_P90}{name}": array.astype(np.float32) for name, array in problem.p90_minutes.items()}
    errors = {name: error for name, error in problem.measure_errors.items() if f"{_MEASURE}{name}" in arrays}
    arrays = {name: np.asarray(array, order="C") for name, array in {**arrays, **stored.arrays}.items()}
    certificate = stored.certificate
    about: dict[str, Any] = {name: getattr(problem, name) for name in _SAID_OF_PROBLEM}
    about |= {
        "problem": problem.fingerprint,
        "measure_errors": errors,
        "objective": asdict(problem.objective),
        "policy": policy.name,
        "certificate": None if certificate is None else [certificate.lower, certificate.upper, certificate.converged],
        "settings": dict(stored.settings),
    }
    return about, arrays


def load_policy(path: str | os.PathLike[str], problem: DispatchProblem | str | None = None) -> Policy:
    """The policy in a file; with `problem` or its fingerprint, only if it was made for that problem.

    The policy is then of that very problem, where it is given itself.
    """
    with said_of(path):
        about, arrays, _ = read_contents(Path(path), [FORMAT])
        return policy_from(about, arrays, problem)


def policy_from(
    about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], problem: DispatchProblem | str | None
) -> Policy:
    """The policy of a file; with `problem` or its fingerprint, only if it was made for that problem."""
    wanted = problem.fingerprint if isinstance(problem, DispatchProblem) else problem
    if wanted is not None and about["problem"] != wanted:
        raise PolicyFileError(OTHER_CITY)
    return _policy(about, arrays, problem if isinstance(problem, DispatchProblem) else None)


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


def _problem_of(about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> DispatchProblem:
    """The problem of a file."""
    num_stations, num_points = len(about["station_ids"]), len(about["point_ids"])
    stored = Stored(arrays=arrays)
    trucks = stored.array("trucks", np.int64, (num_stations,))
    needed = stored.array("trucks_needed", np.int64, (num_points,))
    by_team = (_count_teams(trucks, needed), num_points)
    measures = [name for name in arrays if name.startswith(_MEASURE)]
    p90 = [name for name in arrays if name.startswith(_P90)]
    problem = DispatchProblem(
        trucks=trucks,
        trucks_needed=needed,
        incidents_per_day=stored.array("incidents_per_day", np.float64, (num_points,)),
        cost=stored.array("cost", np.float64, by_team),
        order=stored.array("order", np.int64, (num_points, num_stations)),
        measures={name.removeprefix(_MEASURE): stored.array(name, np.float64, by_team) for name in measures},
        p90_minutes={name.removeprefix(_P90): stored.array(name, np.float32, by_team) for name in p90},
        cost_error=_number(about["cost_error"]),
        proven=_yes_or_no(about.get("proven", False)),
        measure_errors={name: _number(error) for name, error in about["measure_errors"].items()},
        objective=Objective(**about.get("objective", {})),
        returns_per_day=_number(about["returns_per_day"]),
        station_ids=names_of(about["station_ids"]),
        point_ids=names_of(about["point_ids"]),
        class_names=names_of(about.get("class_names", [])),
    )
    if about["source"] is not None:
        (source,) = names_of([about["source"]])
        problem = problem.made_from(lambda: source)
    if problem.fingerprint != about["problem"]:
        raise PolicyFileError("damaged: its fingerprint is that of another problem than it holds")
    return problem


def _count_teams(trucks: NDArray[np.int64], needed: NDArray[np.int64]) -> int:
    """How many teams there are: counted and not listed, so that nothing is allocated for a file that lies."""
    if len(trucks) == 0 or len(needed) == 0 or trucks.min() < 1 or not 1 <= needed.min() <= needed.max() <= 4:
        raise PolicyFileError("damaged: expected stations with trucks, and demand points that need 1 to 4 of them")
    most = int(needed.max())
    # The coefficients of the product of 1 + x + ... + x^C over the stations: teams by their size.
    teams = [1] + [0] * most
    for number in trucks.tolist():
        teams = [sum(teams[size - taken] for taken in range(min(number, size) + 1)) for size in range(most + 1)]
    return sum(teams)


def _policy(about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], problem: DispatchProblem | None) -> Policy:
    """The policy of a file, from what the file says of itself and its arrays."""
    name, settings = about["policy"], about["settings"]
    if name not in RECIPES:
        raise PolicyFileError(f"expected a policy of {', '.join(RECIPES)}, found {name!r:.80}")
    stored = Stored(arrays=arrays, settings=settings, certificate=_certificate(about["certificate"]))
    policy = RECIPES[name].read(_problem_of(about, arrays) if problem is None else problem, stored)
    for unknown in arrays.keys() - {*_OF_PROBLEM, *policy.stored().arrays}:
        if not unknown.startswith((_MEASURE, _P90)):
            raise PolicyFileError(f"damaged: {name} has no array {unknown[:80]!r}")
    return policy


def _certificate(bounds: Any) -> Certificate | None:
    if bounds is None:
        return None
    lower, upper, converged = bounds
    if not _number(lower) <= _number(upper) or not isinstance(converged, bool):
        raise PolicyFileError("damaged: expected a certificate of two bounds, the lower one first, and yes or no")
    return Certificate(lower=lower, upper=upper, converged=converged)


def _yes_or_no(given: Any) -> bool:
    if not isinstance(given, bool):
        raise PolicyFileError(f"damaged: expected true or false, found {given!r:.80}")
    return given


def _number(given: Any) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not abs(given) <= LARGEST:
        raise PolicyFileError(f"damaged: expected a number, found {given!r:.80}")
    return float(given)


def names_of(given: Any) -> tuple[str, ...]:
    """A list of names, if it is one."""
    if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
        raise PolicyFileError(f"damaged: expected a list of names, found {given!r:.80}")
    return tuple(given)


class Contents(NamedTuple):
    """What a policy file says of itself, its arrays, and the words of its header."""

    about: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    words: dict[str, Any]


def read_contents(source: Path, formats: Sequence[str]) -> Contents:
    """The contents of a policy file; what it says and its arrays as they were written, and all numbers."""
    words, arrays = read_tensors(source)
    text = words.get("runcard", "null")
    about = read_json(text) if isinstance(text, str) else None
    if not isinstance(about, dict) or about.get("format") not in formats:
        found = about.get("format") if isinstance(about, dict) else about
        if found == DEPARTMENT_FORMAT:
            raise PolicyFileError("it holds the policies of a department, by kind of units: use load_department")
        if found == WEEK_FORMAT and isinstance(about, dict):
            names = ", ".join(str(one.get("name")) for one in about.get("periods", []) if isinstance(one, dict))
            raise PolicyFileError(f"it holds a policy for each period of the week ({names:.200}): use load_week")
        raise PolicyFileError(f"expected a policy file of the format {formats[0]}, found {found!r:.80}")
    if about.pop("digest", None) != _digest(about, arrays):
        raise PolicyFileError("damaged: its contents do not match their digest")
    for name, array in arrays.items():
        own = name.rpartition("/")[2]  # a department has the number of the kind before it
        infinite = own == "cost" or own.startswith((_MEASURE, _P90))
        if array.dtype.kind == "f" and array.size and not _are_numbers(array, infinite=infinite):
            raise PolicyFileError(f"damaged: expected numbers in the array {name[:80]!r}, up to {LARGEST:g}")
    return Contents(about, arrays, words)


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
