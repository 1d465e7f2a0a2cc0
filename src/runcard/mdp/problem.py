"""The dispatch problem as plain arrays: the waist between the city and the solvers.

With μ returns per truck and day, λ_j incidents per day at demand point j, C_i trucks at station i and states f (the
number of idle trucks at each station), the smallest cost rate g and relative values h solve

    τ h(f) = -g + μ Σ_i (C_i - f_i) h(f+e_i) + μ Σ_i f_i h(f) + Σ_j λ_j min_a { cost(a, j) + h(f-a) },

where a runs over the teams of min(k_j, |f|) idle trucks. Driving times, objectives and incident classes only change the
numbers in `cost`. Beside the cost a problem has measures: other numbers of each team and demand point that are
reported, but not minimised, such as the chance of being late or the mean minutes.

The numbers in `cost` may be off, by at most `cost_error`. The long-run mean cost of an incident is an average of costs,
so it is off by at most as much, under every policy, and so is the smallest mean cost. Proven bounds on what the numbers
give therefore become proven bounds on what the true costs give when both are moved outwards by `cost_error`. The same
holds for each measure and its error. Where the errors are themselves estimated, as those of a lattice are, so are these
bounds: `proven` says which, and whoever shows an interval calls it proven or estimated by that.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from mmap import mmap
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from runcard.city.check import objective_faults
from runcard.city.conditions import MAX_TRUCKS_PER_INCIDENT
from runcard.city.model import LATE, Objective
from runcard.errors import InputError
from runcard.mdp.arrays import Floats, Ints
from runcard.mdp.bounds import Bounds, Residuals
from runcard.mdp.layout import Layout
from runcard.mdp.levels import Levels
from runcard.mdp.states import StateSpace
from runcard.response.teams import Teams

if TYPE_CHECKING:
    from runcard.response.arrivals import Arrivals

P_LATE: Final = "late"
"""The measure that is the chance of being late; with several standards, the weighted sum of those that are missed."""

MINUTES: Final = "minutes"
"""The measure that is the mean time of the first arrival."""

LAST_MINUTES: Final = "last"
"""The measure that is the mean time of the last arrival."""

_STANDARD: Final = "standard "


def standard_measure(number: int) -> str:
    """The measure that is the chance to miss the first standard of each demand point, the second, ..., from 0."""
    return f"{_STANDARD}{number + 1}"


def is_standard(measure: str) -> bool:
    """Whether a measure is the chance to miss a standard."""
    return measure.startswith(_STANDARD)


MAX_LOAD = 1000.0
"""Incidents per truck and busy time. Above 1 most trucks come from outside; far above, the numbers mean nothing."""

_DTYPES: Final[Mapping[str, type]] = {
    "trucks": np.int64,
    "incidents_per_day": np.float64,
    "trucks_needed": np.int64,
    "cost": np.float64,
    "order": np.int64,
}

_MAPPINGS: Final = ("measures", "measure_errors", "p90_minutes")


@dataclass(frozen=True, eq=False, kw_only=True)
class DispatchProblem:
    """Rates, costs and measures of a dispatch problem with I stations, J demand points and T teams.

    `cost` and every measure are [T, J], in the order of `teams`; `cost` is +inf exactly where a team has more trucks
    than the demand point needs, and a measure counts only elsewhere. `order` lists the stations of each demand point
    from the closest to the farthest. Arrays that somebody could still write to are copied.
    """

    trucks: Ints
    """[I] trucks of each station."""
    returns_per_day: float
    """μ: the rate at which a busy truck becomes idle."""
    incidents_per_day: Floats
    """[J] λ_j."""
    trucks_needed: Ints
    """[J] k_j."""
    cost: Floats
    """[T, J] what sending each team costs now, as the objective counts it."""
    order: Ints
    """[J, I] stations from the closest to the farthest."""
    measures: Mapping[str, Floats] = field(default_factory=dict)
    """By name, such as "late" and "minutes". If the objective is late, "late" is the cost, and may be left out."""
    cost_error: float = 0.0
    """How far any finite cost is stated to be from the true one, at most."""
    measure_errors: Mapping[str, float] = field(default_factory=dict)
    """The same for each measure, 0 where left out. If "late" is the cost, its error is `cost_error`."""
    proven: bool = True
    """Whether these errors are bounds; else they are estimated."""
    objective: Objective = LATE
    """What `cost` counts."""
    station_ids: tuple[str, ...] = ()
    """[I] s0, s1, ... if left out."""
    point_ids: tuple[str, ...] = ()
    """[J] the node of each demand point; n0, n1, ... if left out."""
    class_names: tuple[str, ...] = ()
    """[J] what a person calls the incidents of each demand point; none if left out."""
    p90_minutes: Mapping[str, Floats] = field(default_factory=dict)
    """[T, J] the 90th percentile of the "first" and of the "last" arrival, where they are known: said, not averaged."""
    arrivals: "Arrivals | None" = None
    """The arrivals of every team, from which percentiles over all incidents are found; None if they are not known."""
    find_source: Callable[[], str] | None = field(default=None, init=False, repr=False)
    """Gives the digest of what the problem was made from; None if it was made, or changed, by hand."""

    def __post_init__(self) -> None:
        """Check the shapes and the numbers once, so that no kernel has to, and take arrays that nobody can write to."""
        for name, dtype in _DTYPES.items():
            object.__setattr__(self, name, _private(name, getattr(self, name), dtype))
        measures = {name: _private(name, given, np.float64) for name, given in self.measures.items()}
        if self.objective == LATE:
            measures.setdefault(P_LATE, self.cost)
        object.__setattr__(self, "measures", MappingProxyType(measures))
        errors = {**self.measure_errors, P_LATE: self.cost_error} if self.objective == LATE else self.measure_errors
        errors = {name: error for name, error in errors.items() if error != 0.0}
        object.__setattr__(self, "measure_errors", MappingProxyType(errors))
        p90 = {name: _private(name, given, np.float64) for name, given in self.p90_minutes.items()}
        object.__setattr__(self, "p90_minutes", MappingProxyType(p90))
        self._check_numbers()
        self._check_shapes()
        self._check_costs()
        self._check_names()

    def _check_numbers(self) -> None:
        needed, rates = self.trucks_needed, self.incidents_per_day
        some = self.trucks.size > 0 and rates.size > 0 and self.trucks.min() >= 1
        _expect(some, "at least one demand point and stations of at least one truck")
        possible = np.isin(needed, np.arange(1, MAX_TRUCKS_PER_INCIDENT + 1)).all()
        _expect(possible, f"trucks_needed of 1 to {MAX_TRUCKS_PER_INCIDENT}")
        _expect(0.0 < self.returns_per_day < np.inf, f"returns_per_day > 0, got {self.returns_per_day}")
        _expect(np.isfinite(rates).all() and rates.min() >= 0, "finite incidents_per_day >= 0")
        _expect(rates.sum() > 0, "some demand point with incidents_per_day > 0")
        if self.load > MAX_LOAD:
            raise InputError(
                f"expected a load of at most {MAX_LOAD:g} incidents per truck and busy time, got {self.load:.3g}: "
                "check incidents_per_day and busy_minutes"
            )

    def _check_shapes(self) -> None:
        num_stations, num_points = self.trucks.size, self.incidents_per_day.size
        shapes = {
            "trucks": (num_stations,),
            "incidents_per_day": (num_points,),
            "trucks_needed": (num_points,),
            "cost": (self.num_teams, num_points),
            "order": (num_points, num_stations),
        }
        named = {**self.measures, **{f"p90 of the {name}": array for name, array in self.p90_minutes.items()}}
        for name, array in [*((name, getattr(self, name)) for name in shapes), *named.items()]:
            expected = shapes.get(name, shapes["cost"])
            _expect(array.shape == expected, f"{name} of shape {expected}, got {array.shape}")
        each_once = (np.sort(self.order, axis=1) == np.arange(num_stations)).all()
        _expect(each_once, "every station once in the order of each demand point")

    def _check_costs(self) -> None:
        allowed = self.teams.sizes[:, None] <= self.trucks_needed[None, :]
        fitting = "for teams of at most trucks_needed trucks"
        _expect(np.array_equal(np.isfinite(self.cost), allowed), f"a finite cost exactly {fitting}")
        for name, measure in self.measures.items():
            _expect((np.isfinite(measure) | ~allowed).all(), f"finite {name} {fitting}")
        faults = objective_faults(self.objective)
        if faults:
            raise InputError(f"DispatchProblem: {'; '.join(faults)}")
        _expect(
            self.objective == LATE or {P_LATE, MINUTES} <= set(self.measures),
            f"the measures {P_LATE} and {MINUTES}, which minimising {self.objective.minimise} needs",
        )
        if self.objective == LATE and self.measures[P_LATE] is not self.cost:
            _expect(
                np.array_equal(self.measures[P_LATE][allowed], self.cost[allowed]),
                f"{P_LATE} to be the cost, if that is minimised; with a cost of your own, leave {P_LATE} out of the "
                "measures",
            )
            object.__setattr__(self, "measures", MappingProxyType({**self.measures, P_LATE: self.cost}))
        _expect(set(self.measure_errors) <= set(self.measures), "errors only for measures that are there")
        for name, error in {"cost": self.cost_error, **self.measure_errors}.items():
            _expect(0.0 <= error < np.inf, f"a finite error >= 0 of {name}, got {error}")

    def _check_names(self) -> None:
        for name, prefix, count in (("station_ids", "s", self.num_stations), ("point_ids", "n", self.num_points)):
            ids = tuple(getattr(self, name)) or tuple(f"{prefix}{number}" for number in range(count))
            _expect(len(ids) == count, f"{count} {name}, got {len(ids)}")
            object.__setattr__(self, name, ids)
        for one in self.station_ids:
            _expect(self.station_ids.count(one) == 1, f"every station id once, got {one!r} several times")
        num_names = len(self.class_names)
        _expect(num_names in (0, self.num_points), f"{self.num_points} class_names, got {num_names}")

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
    def total_incidents_per_day(self) -> float:
        """Σλ."""
        return float(self.incidents_per_day.sum())

    @cached_property
    def load(self) -> float:
        """The incidents per truck and busy time."""
        return float(self.incidents_per_day.sum() / (self.returns_per_day * self.trucks.sum()))

    @cached_property
    def known_teams(self) -> dict[tuple[str, ...], int]:
        """The numbers of teams that were asked for by the ids of their stations, kept by `policy.options`."""
        return {}

    @cached_property
    def known_ids(self) -> dict[tuple[int, int], tuple[str, ...]]:
        """The same the other way round: ids by number and trucks needed."""
        return {}

    def missed(self, number: int) -> Floats:
        """[T, J] the chance to miss the first standard of each demand point, the second, ..., from 0."""
        return self.measures.get(standard_measure(number), self.measures[P_LATE])

    def bounds(self, residuals: Residuals, *, below: float = 0.0) -> Bounds:
        """The bounds, per day, that residuals of the cost or of a measure give; for `below` see `size_below`."""
        num_terms, most_negative = 2 * self.num_points + self.num_stations, max(self._most_negative, below)
        return residuals.bounds(self.levels, num_terms=num_terms, most_negative=most_negative)

    def size_below(self, tables: Iterable[Floats]) -> float:
        """The size of the most negative number in tables of measures beside those of the problem; 0 if none is."""
        allowed = np.isfinite(self.cost)
        return -min((float(np.min(table, where=allowed, initial=0.0)) for table in tables), default=0.0)

    @cached_property
    def _most_negative(self) -> float:
        """The same among its costs and measures."""
        return self.size_below((self.cost, *self.measures.values()))

    def interval(
        self,
        lower: float,
        upper: float,
        measure: str | None = None,
        *,
        error: float | None = None,
        below: float = 0.0,
    ) -> tuple[float, float]:
        """Where the true mean of the cost, or of a measure, lies, per incident: proven, or estimated.

        `lower` and `upper` are proven bounds, per day, on what the numbers of the problem give. A late fraction is also
        sure to lie between 0 and 1, if all its chances do, and nothing is below 0 that has no number below 0. A
        measure that is not the problem's own has the `error` and the size `below` 0 that are given.
        """
        if error is None:
            error = self.cost_error if measure is None else self.measure_errors.get(measure, 0.0)
        table = self.cost if measure is None else self.measures.get(measure)
        lower, upper = lower / self.total_incidents_per_day - error, upper / self.total_incidents_per_day + error
        if max(self._most_negative, below) > 0.0:
            return lower, upper
        limit = 1.0 if table is self.measures.get(P_LATE) and self._are_chances else np.inf
        return min(max(lower, 0.0), limit), min(max(upper, 0.0), limit)

    @cached_property
    def _are_chances(self) -> bool:
        """Whether no P(late) is above 1."""
        return bool(self.measures[P_LATE].max(where=np.isfinite(self.cost), initial=0.0) <= 1.0)

    @cached_property
    def levels(self) -> Levels:
        """The number of idle trucks as a chain of its own."""
        needed = np.unique(self.trucks_needed)
        rates = np.array([self.incidents_per_day[self.trucks_needed == k].sum() for k in needed])
        return Levels(self.num_trucks, float(self.returns_per_day), needed, rates)

    @cached_property
    def states(self) -> StateSpace:
        """Every state, and what is the same there for every policy."""
        return StateSpace(self.trucks, self.levels)

    @cached_property
    def layout(self) -> Layout:
        """The problem laid out for the kernels."""
        return Layout(self.teams, self.levels, self.trucks, self.incidents_per_day, self.trucks_needed, self.cost)

    def __getstate__(self) -> dict[str, Any]:
        """Its fields, as pickle and copy can take them."""
        state = fields_of(self)
        state |= {name: dict(state[name]) for name in _MAPPINGS}
        state["find_source"] = None if self.source is None else partial(str, self.source)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the fields of a problem, which was checked when it was made."""
        tables = [table for name in ("measures", "p90_minutes") for table in state[name].values()]
        for array in [*(state[name] for name in _DTYPES), *tables]:
            array.flags.writeable = False
        self.__dict__.update(state, **{name: MappingProxyType(state[name]) for name in _MAPPINGS})

    def made_from(self, find_source: Callable[[], str]) -> "DispatchProblem":
        """The same problem, known to be made from inputs with the digest that the function gives when it is needed."""
        problem = object.__new__(DispatchProblem)
        problem.__dict__.update(self.__dict__, find_source=find_source)
        for name in ("source", "fingerprint"):
            problem.__dict__.pop(name, None)
        return problem

    @cached_property
    def source(self) -> str | None:
        """A digest of what the problem was made from, such as a city; None if it was made, or changed, by hand."""
        return None if self.find_source is None else self.find_source()

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the inputs and the objective: two problems are the same if theirs are."""
        return fingerprint_of(self.source or self._digest(), self.objective)

    def _digest(self) -> str:
        """A digest of the arrays and names that decisions depend on or say."""
        digest = hashlib.blake2b(digest_size=16)
        arrays = [self.trucks, self.incidents_per_day, self.trucks_needed, self.cost, self.order]
        if self.objective != LATE:
            arrays += [self.measures[P_LATE], self.measures[MINUTES]]
        for array in arrays:
            digest.update(str(array.shape).encode())
            digest.update(np.ascontiguousarray(array).data)
        digest.update(json.dumps([self.returns_per_day, self.station_ids, self.point_ids]).encode())
        return digest.hexdigest()


def fields_of(of: Any) -> dict[str, Any]:
    """What pickle and copy take of a dataclass: its fields. What was found from them is found again where it is wanted.

    It may be large, and kernels would be compiled once more for it: pickle forgets which arrays nobody can write to.
    """
    return {own.name: getattr(of, own.name) for own in fields(of)}


def fingerprint_of(source: str, objective: Objective) -> str:
    """The fingerprint of the problem that is made from inputs with this digest, for an objective."""
    words = json.dumps([source, objective.minimise, objective.weight])
    return hashlib.blake2b(words.encode(), digest_size=16).hexdigest()


def _expect(holds: bool | np.bool_, what: str) -> None:
    """Raise an InputError if a problem is not as expected."""
    if not holds:
        raise InputError(f"DispatchProblem: expected {what}")


def _private(name: str, given: Any, dtype: type) -> NDArray[Any]:
    """The numbers as a contiguous array that nobody can write to: the one given, or a copy."""
    own = as_numbers("DispatchProblem", name, given, dtype)
    if not _read_only(own):
        own = own.copy() if np.may_share_memory(own, np.asarray(given)) else own
        own.flags.writeable = False
    return own


def as_numbers(where: str, name: str, given: Any, dtype: type) -> NDArray[Any]:
    """A contiguous array of these numbers, the one given if it is that; whole ones stay whole."""
    if isinstance(given, np.ma.MaskedArray):
        raise InputError(f"{where}: expected numbers for {name}, got a masked array: fill in what is masked")
    try:
        array = np.asarray(given)
        with np.errstate(invalid="ignore"):  # what is no whole number differs from what it becomes, below
            own: NDArray[Any] = np.ascontiguousarray(array, dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{where}: expected an array of numbers for {name}: {error}") from error
    if np.issubdtype(dtype, np.integer) and array.dtype != dtype and not np.array_equal(own, array):
        raise InputError(f"{where}: expected whole numbers for {name}")
    return own


def _read_only(array: NDArray[Any]) -> bool:
    """Whether nobody can write to an array, through whatever it is a view of."""
    base: Any = array
    while isinstance(base, np.ndarray):
        if base.flags.writeable:
            return False
        base = base.base
    return base is None or isinstance(base, bytes | mmap)
