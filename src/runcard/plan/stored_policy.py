"""What a plan file says of one policy: its problem, and what the policy itself has stored (see `Policy.stored`).

A digest is no signature: anybody can write a file with a good one. So all that a file says is checked before a decision
is made from it: that types, shapes and sizes fit together, and that numbers are numbers (see also `tensor_file.py`).
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from runcard.city.model import LATE, Objective
from runcard.errors import PolicyFileError
from runcard.mdp.problem import DispatchProblem, is_standard
from runcard.policy.base import Certificate, Policy, Stored
from runcard.policy.solve import RECIPES

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
MEASURE: Final = "measure_"
"""Before the name of a measure, in that of its array."""
P90: Final = "p90_"
"""The same of a percentile."""


def contents_of(policy: Policy) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What a file says of a policy, and its arrays."""
    problem, stored = policy.problem, policy.stored()
    arrays = {name: getattr(problem, name) for name in _OF_PROBLEM}
    # Values of every state are for evaluation, too, which wants every measure; so do the words of a decision where the
    # cost is not P(late). The standards are in every answer, and so are arrivals where they are known.
    every = "value" in stored.arrays or problem.objective != LATE or bool(problem.p90_minutes)
    arrays |= {
        f"{MEASURE}{name}": array
        for name, array in problem.measures.items()
        if array is not problem.cost and (every or is_standard(name))
    }
    arrays |= {f"{P90}{name}": array.astype(np.float32) for name, array in problem.p90_minutes.items()}
    errors = {name: error for name, error in problem.measure_errors.items() if f"{MEASURE}{name}" in arrays}
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


def policy_from(about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Policy:
    """The policy of a file, from what the file says of it and its arrays."""
    name, settings = about["policy"], about["settings"]
    if name not in RECIPES:
        raise PolicyFileError(f"expected a policy of {', '.join(RECIPES)}, found {name!r:.80}")
    stored = Stored(arrays=arrays, settings=settings, certificate=_certificate(about["certificate"]))
    policy = RECIPES[name].read(_problem_of(about, arrays), stored)
    for unknown in arrays.keys() - {*_OF_PROBLEM, *policy.stored().arrays}:
        if not unknown.startswith((MEASURE, P90)):
            raise PolicyFileError(f"damaged: {name} has no array {unknown[:80]!r}")
    return policy


def _problem_of(about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> DispatchProblem:
    """The problem of a file."""
    num_stations, num_points = len(about["station_ids"]), len(about["point_ids"])
    stored = Stored(arrays=arrays)
    trucks = stored.array("trucks", np.int64, (num_stations,))
    needed = stored.array("trucks_needed", np.int64, (num_points,))
    by_team = (_count_teams(trucks, needed), num_points)
    measures = [name for name in arrays if name.startswith(MEASURE)]
    p90 = [name for name in arrays if name.startswith(P90)]
    problem = DispatchProblem(
        trucks=trucks,
        trucks_needed=needed,
        incidents_per_day=stored.array("incidents_per_day", np.float64, (num_points,)),
        cost=stored.array("cost", np.float64, by_team),
        order=stored.array("order", np.int64, (num_points, num_stations)),
        measures={name.removeprefix(MEASURE): stored.array(name, np.float64, by_team) for name in measures},
        p90_minutes={name.removeprefix(P90): stored.array(name, np.float32, by_team) for name in p90},
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
