"""The dispatch problem as plain arrays: the waist between the city and the solvers.

With μ returns per truck and day, λ_j incidents per day at demand point j, C_i trucks at station i and states f (the
number of idle trucks at each station), the optimal late rate g and relative values h solve

    τ h(f) = -g + μ Σ_i (C_i - f_i) h(f+e_i) + μ Σ_i f_i h(f) + Σ_j λ_j min_a { cost(a, j) + h(f-a) },

where a runs over the teams of min(k_j, |f|) idle trucks. Whatever the driving times, the objective or the incident
classes are, they only change the numbers in `cost`.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from runcard.city.check import MAX_TRUCKS_PER_INCIDENT, objective_faults
from runcard.city.model import LATE, Objective
from runcard.errors import InputError
from runcard.response.teams import Teams

MAX_LOAD = 1000.0
"""Incidents per truck and busy time. Above 1 most trucks come from outside; far above, the numbers mean nothing."""

_DTYPES: Final[Mapping[str, type]] = {
    "trucks": np.int64,
    "incidents_per_day": np.float64,
    "trucks_needed": np.int64,
    "cost": np.float64,
    "late": np.float64,
    "order": np.int64,
    "response_minutes": np.float64,
}


def _read_only(name: str, given: Any, dtype: type) -> NDArray[Any]:
    """A contiguous view or copy of an array that cannot be written through; whole numbers stay whole."""
    try:
        array = np.ascontiguousarray(given)
        with np.errstate(invalid="ignore"):  # what is no whole number differs from what it becomes, below
            converted: NDArray[Any] = array.astype(dtype, copy=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"DispatchProblem: expected an array of numbers for {name}: {error}") from error
    if np.issubdtype(dtype, np.integer) and not np.array_equal(converted, array):
        raise InputError(f"DispatchProblem: expected whole numbers for {name}")
    view = converted.view()
    view.flags.writeable = False
    return view


@dataclass(frozen=True, eq=False, kw_only=True)
class DispatchProblem:
    """Rates, teams and costs of a dispatch problem with I stations, J demand points and T teams.

    `teams` lists every team of at most max(trucks_needed) trucks. `cost` is +inf exactly where a team has more trucks
    than the demand point needs. `order` lists the stations of each demand point from the
    closest to the farthest. `response_minutes`, where given, is the mean time of the first arrival. Where the objective
    is not the late fraction, `late` holds what `cost` does not: P(late).
    """

    trucks: NDArray[np.int64]
    """[I] trucks of each station."""
    returns_per_day: float
    """μ: the rate at which a busy truck becomes idle."""
    incidents_per_day: NDArray[np.float64]
    """[J] λ_j."""
    trucks_needed: NDArray[np.int64]
    """[J] k_j."""
    cost: NDArray[np.float64]
    """[T, J] what sending each team costs now, as the objective counts it: P(late), if that is the late fraction."""
    order: NDArray[np.int64]
    """[J, I] stations from the closest to the farthest."""
    response_minutes: NDArray[np.float64] | None = None
    """[T, J] mean time of the first arrival."""
    late: NDArray[np.float64] | None = None
    """[T, J] P(late) of each team, where `cost` is something else."""
    objective: Objective = LATE
    """What `cost` counts."""
    station_ids: tuple[str, ...] = ()
    """[I] s0, s1, ... if left out."""
    point_ids: tuple[str, ...] = ()
    """[J] the node of each demand point; n0, n1, ... if left out."""
    class_names: tuple[str, ...] = ()
    """[J] what a person calls the incidents of each demand point; none if left out."""

    def __post_init__(self) -> None:
        """Check the shapes and the numbers once, so that no kernel has to, and make the arrays read-only."""
        for name, dtype in _DTYPES.items():
            given = getattr(self, name)
            if given is not None:
                object.__setattr__(self, name, _read_only(name, given, dtype))
        num_stations, num_points = self.trucks.size, self.incidents_per_day.size
        if num_stations == 0 or num_points == 0 or self.trucks.min() < 1:
            raise InputError("DispatchProblem: expected at least one demand point and stations of at least one truck")
        if not set(self.trucks_needed.ravel().tolist()) <= set(range(1, MAX_TRUCKS_PER_INCIDENT + 1)):
            raise InputError(f"DispatchProblem: expected trucks_needed of 1 to {MAX_TRUCKS_PER_INCIDENT}")
        num_teams = self.num_teams
        shapes = {
            "trucks": (self.trucks.shape, (num_stations,)),
            "incidents_per_day": (self.incidents_per_day.shape, (num_points,)),
            "trucks_needed": (self.trucks_needed.shape, (num_points,)),
            "cost": (self.cost.shape, (num_teams, num_points)),
            "order": (self.order.shape, (num_points, num_stations)),
        }
        if self.response_minutes is not None:
            shapes["response_minutes"] = (self.response_minutes.shape, (num_teams, num_points))
        if self.late is not None:
            shapes["late"] = (self.late.shape, (num_teams, num_points))
        for name, (found, expected) in shapes.items():
            if found != expected:
                raise InputError(f"DispatchProblem: expected {name} of shape {expected}, got {found}")
        if not (np.isfinite(self.returns_per_day) and self.returns_per_day > 0):
            raise InputError(f"DispatchProblem: expected returns_per_day > 0, got {self.returns_per_day}")
        if not np.isfinite(self.incidents_per_day).all() or self.incidents_per_day.min() < 0:
            raise InputError("DispatchProblem: expected finite incidents_per_day >= 0")
        if self.incidents_per_day.sum() <= 0:
            raise InputError("DispatchProblem: expected some demand point with incidents_per_day > 0")
        load = self.incidents_per_day.sum() / (self.returns_per_day * self.trucks.sum())
        if load > MAX_LOAD:
            raise InputError(
                f"expected a load of at most {MAX_LOAD:g} incidents per truck and busy time, got {load:.3g}: "
                "check incidents_per_day and busy_minutes"
            )
        if not (np.sort(self.order, axis=1) == np.arange(num_stations)).all():
            raise InputError("DispatchProblem: expected every station once in the order of each demand point")
        allowed = self.teams.sizes[:, None] <= self.trucks_needed[None, :]
        if not np.array_equal(np.isfinite(self.cost), allowed):
            raise InputError(
                "DispatchProblem: expected a finite cost exactly for teams of at most trucks_needed trucks"
            )
        if self.response_minutes is not None and not (np.isfinite(self.response_minutes) | ~allowed).all():
            raise InputError(
                "DispatchProblem: expected finite response_minutes for teams of at most trucks_needed trucks"
            )
        self._check_objective(allowed)
        for name, prefix, count in (("station_ids", "s", num_stations), ("point_ids", "n", num_points)):
            ids = getattr(self, name) or tuple(f"{prefix}{number}" for number in range(count))
            if len(ids) != count:
                raise InputError(f"DispatchProblem: expected {count} {name}, got {len(ids)}")
            object.__setattr__(self, name, ids)
        if len(self.class_names) not in (0, num_points):
            raise InputError(f"DispatchProblem: expected {num_points} class_names, got {len(self.class_names)}")

    def _check_objective(self, allowed: NDArray[np.bool_]) -> None:
        """Check that what is reported beside the cost is there: P(late) and minutes, unless the cost is P(late)."""
        faults = objective_faults(self.objective)
        if faults:
            raise InputError(f"DispatchProblem: {'; '.join(faults)}")
        minimise = self.objective.minimise
        if minimise == "late" and self.late is not None:
            raise InputError("DispatchProblem: expected no late beside cost, which is P(late) if late is minimised")
        if minimise != "late" and (self.late is None or self.response_minutes is None):
            raise InputError(f"DispatchProblem: expected late and response_minutes, which minimising {minimise} needs")
        if self.late is not None and not np.array_equal(np.isfinite(self.late), allowed):
            raise InputError(
                "DispatchProblem: expected a finite late exactly for teams of at most trucks_needed trucks"
            )

    @property
    def p_late(self) -> NDArray[np.float64]:
        """[T, J] P(late) of each team, whatever the objective."""
        return self.cost if self.late is None else self.late

    @property
    def num_stations(self) -> int:
        """I."""
        return len(self.trucks)

    @cached_property
    def num_trucks(self) -> int:
        """The trucks of all stations together."""
        return int(self.trucks.sum())

    @property
    def num_points(self) -> int:
        """J."""
        return len(self.incidents_per_day)

    @cached_property
    def teams(self) -> Teams:
        """Every team of at most max(trucks_needed) trucks."""
        return Teams.of(self.trucks.ravel(), int(self.trucks_needed.max()))

    @property
    def num_teams(self) -> int:
        """T."""
        return len(self.teams)

    @cached_property
    def num_states(self) -> int:
        """Π (C_i + 1)."""
        return int(np.prod(self.trucks.astype(object) + 1))

    @cached_property
    def fingerprint(self) -> str:
        """A digest of everything that decisions depend on or say: two problems are the same if theirs are."""
        digest = hashlib.blake2b(digest_size=16)
        arrays = (self.trucks, self.incidents_per_day, self.trucks_needed, self.cost, self.order)
        for array in arrays if self.late is None else (*arrays, self.late):
            digest.update(str(array.shape).encode())
            digest.update(np.ascontiguousarray(array).data)
        digest.update(json.dumps([self.returns_per_day, self.station_ids, self.point_ids]).encode())
        if self.late is not None:
            digest.update(json.dumps([self.objective.minimise, self.objective.weight]).encode())
        return digest.hexdigest()

    @cached_property
    def total_incidents_per_day(self) -> float:
        """Σλ."""
        return float(self.incidents_per_day.sum())
