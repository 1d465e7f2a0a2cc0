"""What a simulation found: means over independent batches, each with its 95 % interval, and paired differences.

Every policy meets the same incidents and delays in a batch, so the difference of two policies varies far less than
either; so does that of two cities that draw alike. The interval of a mean over batches is Student's. For a ratio
Σx / Σy it is that of the mean of x - (Σx / Σy) y, which is right to first order.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runcard.city.model import MINUTES_PER_DAY, Standard
from runcard.errors import InputError
from runcard.interval import Interval
from runcard.simulate.kernels.run import BIN_WIDTH, LEAST_MINUTES
from runcard.simulate.model import Model
from runcard.simulate.scenario import Scenario
from runcard.simulate.state import Counts, State

LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Batch:
    """What one batch found for one policy and one kind of units: of the incidents that need the kind."""

    incidents: int
    late: int
    outside: int
    turned: int
    first_mean: float
    last_mean: float
    minutes: float
    busy_minutes: NDArray[np.float64]
    dispatches: NDArray[np.int64]
    idle_minutes: NDArray[np.float64]
    of_city: int = 0
    """The incidents of the whole city."""
    missed: float = 0.0
    """The weight of all missed standards."""
    standards: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    """[standard, 2] the incidents that each standard applies to, and those that missed it."""


def batch_of(model: Model, counts: Counts, state: State) -> Batch:
    """What was counted in a batch; its arrays cannot be written to."""
    sums, standards = counts.sums[0], model.standards
    missed = float((standards["weight"] * counts.standards[standards["number"], 1]).sum())
    num = max(1, int(sums["incidents"]))
    by_truck = state.trucks["busy_minutes"].copy(), state.trucks["dispatches"].copy(), state.idle_minutes.copy()
    for array in (*by_truck, counts.standards):
        array.setflags(write=False)
    return Batch(
        int(sums["incidents"]), int(sums["late"]), int(sums["outside"]), int(sums["turned"]),
        float(sums["first_sum"] / num), float(sums["last_sum"] / num), float(sums["minutes"]), *by_truck,
        int(sums["of_city"]), missed, counts.standards,
    )  # fmt: skip


def quantile(bins: NDArray[np.int64], chance: float) -> float:
    """The minutes below which the part `chance` of the arrivals lies, to the width of a bin."""
    below = np.cumsum(bins)
    if below[-1] == 0:
        return float("nan")
    wanted = chance * below[-1]
    place = int(np.searchsorted(below, wanted))
    if place == 0:
        return LEAST_MINUTES * float(wanted / below[0])
    part = (wanted - below[place - 1]) / bins[place]
    return float(LEAST_MINUTES * np.exp(BIN_WIDTH * (place - 1 + part)))


def interval_of(values: Sequence[float] | NDArray[np.float64], level: float = LEVEL) -> Interval:
    """The mean of independent values and its interval; one value alone says nothing about its error."""
    from scipy.stats import t  # here, because it takes a while to import

    values = np.asarray(values, np.float64)
    mean = float(values.mean())
    if len(values) < 2:
        return Interval(mean, -np.inf, np.inf)
    half = float(t.ppf(0.5 + level / 2.0, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)))
    return Interval(mean, mean - half, mean + half)


def ratio_interval(above: NDArray[np.float64], below: NDArray[np.float64], level: float = LEVEL) -> Interval:
    """The ratio of two sums over batches, and its interval."""
    total = float(below.sum())
    if total == 0.0:
        return Interval(0.0, -np.inf, np.inf)
    ratio = float(above.sum()) / total
    spread = interval_of((above - ratio * below) / below.mean(), level)
    return Interval(ratio, ratio - spread.half, ratio + spread.half, batches=(above, below))


def difference_interval(
    before: tuple[NDArray[np.float64], NDArray[np.float64]],
    after: tuple[NDArray[np.float64], NDArray[np.float64]],
    level: float = LEVEL,
) -> Interval:
    """By how much a ratio of two sums over batches is larger than another one in the same batches, and its interval."""
    ratios, parts = [], []
    for above, below in (before, after):
        ratio = float(above.sum()) / float(below.sum())
        ratios.append(ratio)
        parts.append((above - ratio * below) / below.mean())
    half = interval_of(parts[1] - parts[0], level).half
    difference = ratios[1] - ratios[0]
    return Interval(difference, difference - half, difference + half)


@dataclass(frozen=True, eq=False)
class Misses:
    """The weight of the standards that the incidents of each batch missed; a late incident of a plain city counts 1."""

    weights: NDArray[np.float64]
    incidents: NDArray[np.float64]
    most: float = 1.0
    """The weight of one incident, at most."""

    @property
    def per_incident(self) -> Interval:
        """Their mean."""
        from scipy.stats import beta  # here, because it takes a while to import

        found, most, rest = ratio_interval(self.weights, self.incidents), self.most, 0.5 - LEVEL / 2.0
        missed = float(self.weights.sum()) / most
        met = max(0.0, float(self.incidents.sum()) - missed)
        # If few standards are missed, batches say little: the interval is at least that for independent incidents.
        low = most * float(beta.ppf(rest, missed, met + 1)) if missed else 0.0
        high = most * float(beta.ppf(1.0 - rest, missed + 1, met)) if met else most
        return Interval(found.value, max(0.0, min(found.low, low)), min(most, max(found.high, high)))

    def fewer_in(self, other: "Misses") -> Interval:
        """How much smaller the mean of another policy is in the same batches."""
        return ratio_interval(self.weights - other.weights, self.incidents)

    def gain_of(self, other: "Misses") -> Interval:
        """The same as a part of this mean."""
        if self.weights.sum() > 0.0 == other.weights.sum():  # more batches might have some
            return Interval(1.0, 1.0 - other.per_incident.high / self.per_incident.value, 1.0)
        return ratio_interval(self.weights - other.weights, self.weights)


CHANCES = {"median": 0.5, "p90": 0.9}
ARRIVALS = tuple(f"{which}_{of}" for which in ("first", "last") for of in ("mean", *CHANCES))
"""What is found of the minutes until the first and the last truck are there."""
LEAST_IN_SECTION = 200
"""With fewer arrivals, a median or 90th percentile says little, and nothing about its error."""


def _minutes(which: str, result: "SimulatedPolicy", other: "SimulatedPolicy | None") -> Interval:
    """One of `ARRIVALS` of a policy, or by how much it is larger than that of another one."""
    if which not in ARRIVALS:
        raise InputError(f"expected one of {', '.join(ARRIVALS)}, got {which!r}")
    truck, of = which.split("_")

    def more(found: Callable[[SimulatedPolicy], Any]) -> Any:
        return found(result) if other is None else found(result) - found(other)

    if of == "mean":
        return ratio_interval(more(lambda one: one._of_batches(which) * one.incidents), result.incidents)
    rank, chance = 0 if truck == "first" else 1, CHANCES[of]
    mean = more(lambda one: quantile(one.bins[:, rank].sum(axis=0), chance))
    in_section = result.bins[:, rank].sum(axis=1)
    sections = np.flatnonzero(in_section)
    if min(in_section[sections], default=0) < LEAST_IN_SECTION:
        return Interval(mean, -np.inf, np.inf)
    half = interval_of(more(lambda one: np.array([quantile(one.bins[part, rank], chance) for part in sections]))).half
    return Interval(mean, mean - half, mean + half)


@dataclass(frozen=True)
class SimulatedPolicy:
    """What a simulation found for one policy and one kind of units, over the incidents that need the kind."""

    name: str
    batches: tuple[Batch, ...]
    bins: NDArray[np.int64]
    """[section, first or last truck, bin] the number of arrivals; batches go to the sections in turn."""
    rules: tuple[Standard, ...] = ()
    """[standard] what counts; () if only `late` does."""
    most_weight: float = 1.0
    """Of the standards of one incident together."""

    def _of_batches(self, which: str) -> NDArray[np.float64]:
        """[batch, ...] one of their numbers, in an array that cannot be written to."""
        found = np.array([getattr(batch, which) for batch in self.batches], np.float64)
        found.setflags(write=False)
        return found

    @cached_property
    def late(self) -> NDArray[np.float64]:
        """[batch] the late incidents: those that missed some standard."""
        return self._of_batches("late")

    @cached_property
    def incidents(self) -> NDArray[np.float64]:
        """[batch] the incidents."""
        return self._of_batches("incidents")

    @property
    def num_incidents(self) -> int:
        """The incidents of all batches together."""
        return sum(batch.incidents for batch in self.batches)

    @property
    def late_fraction(self) -> Interval:
        """The part of the incidents that is late: that misses some standard."""
        return Misses(self.late, self.incidents).per_incident

    @cached_property
    def misses(self) -> Misses:
        """The weight of missed standards, which policies make as small as they can."""
        if not self.rules:
            return Misses(self.late, self.incidents)
        return Misses(self._of_batches("missed"), self.incidents, self.most_weight)

    @property
    def missed(self) -> Interval:
        """The weighted sum of missed standards per incident; the late fraction where one standard is all there is."""
        return self.misses.per_incident

    @property
    def standards(self) -> tuple[tuple[Standard, Interval], ...]:
        """Each standard, and the part of the incidents of its type that misses it."""
        counts = self._of_batches("standards")
        unknown = Interval(nan, nan, nan)  # no incident of its type
        found = (
            Misses(counts[:, s, 1], counts[:, s, 0]).per_incident if counts[:, s, 0].any() else unknown
            for s in range(len(self.rules))
        )
        return tuple(zip(self.rules, found, strict=True))

    def minutes(self, which: str) -> Interval:
        """Minutes from the call on: `first_mean`, `first_median`, `first_p90`, or the same of the `last` truck."""
        found = _minutes(which, self, None)
        return Interval(found.value, max(0.0, found.low), found.high)

    def _by_time(self, which: str) -> NDArray[np.float64]:
        """The sum over batches, divided by their minutes; 0 if all incidents of a log are at one moment."""
        found: NDArray[np.float64] = self._of_batches(which).sum(axis=0) / (self._of_batches("minutes").sum() or np.inf)
        return found

    @property
    def busy_fractions(self) -> NDArray[np.float64]:
        """[truck] the part of the time that each truck is away."""
        return self._by_time("busy_minutes")

    @property
    def dispatches_per_day(self) -> NDArray[np.float64]:
        """[truck] how often each truck is sent."""
        return MINUTES_PER_DAY * self._by_time("dispatches")

    @property
    def idle_chances(self) -> NDArray[np.float64]:
        """[trucks + 1] the part of the time with each number of idle trucks."""
        return self._by_time("idle_minutes")

    @property
    def outside_per_incident(self) -> float:
        """The mean number of trucks from outside."""
        return sum(batch.outside for batch in self.batches) / max(1, self.num_incidents)

    @property
    def turned_per_incident(self) -> float:
        """The mean number of trucks that turn back."""
        return sum(batch.turned for batch in self.batches) / max(1, self.num_incidents)


@dataclass(frozen=True)
class KindSimulation:
    """What one kind of units does under each policy in turn, over the incidents that need it."""

    policies: tuple[SimulatedPolicy, ...]
    station_of: tuple[str, ...]
    """[truck] the id of its station."""
    units: tuple[str, ...] = ()
    """[truck] its id, where the city has a roster."""

    def fewer_late(self, number: int) -> Interval:
        """How much smaller the late fraction of a policy is than that of the first policy, batch by batch."""
        first, other = self.policies[0], self.policies[number]
        return Misses(first.late, first.incidents).fewer_in(Misses(other.late, other.incidents))

    def more_minutes(self, number: int, which: str) -> Interval:
        """By how many minutes one of `ARRIVALS` of a policy is later than that of the first policy."""
        return _minutes(which, self.policies[number], self.policies[0])

    def improvement(self, number: int) -> Interval:
        """How much smaller the weighted sum of missed standards is, as a part of that of the first policy."""
        return self.policies[0].misses.gain_of(self.policies[number].misses)


@dataclass(frozen=True)
class Simulation:
    """What a simulation found in one scenario, by kind and for all kinds together, for each plan in turn."""

    scenario: Scenario
    kinds: Mapping[str, KindSimulation]
    """What each kind does, over the incidents that need it."""
    seed: int
    precise: bool
    """Whether the missed standards of every plan are as precise as was asked for."""
    order: tuple[Standard, ...]
    """The standards of the city; () if it is plain."""
    most_weight: float
    """Of the standards of one incident together."""

    def _repr_html_(self) -> str:
        """The simulation in a notebook."""
        from runcard.simulate.tables import simulation_html  # it knows this class

        return simulation_html(self)

    @property
    def names(self) -> tuple[str, ...]:
        """What each plan is called."""
        return tuple(result.name for result in self.first.policies)

    @property
    def num_incidents(self) -> int:
        """The incidents of the city in all batches, each counted once."""
        return sum(batch.of_city for batch in self.first.policies[0].batches)

    @property
    def first(self) -> KindSimulation:
        """What its first kind does: all there is in a plain city."""
        return next(iter(self.kinds.values()))

    def _misses(self, number: int) -> Misses:
        return all_misses([simulation.policies[number] for simulation in self.kinds.values()], self.most_weight)

    def missed(self, number: int) -> Interval:
        """The weighted sum of missed standards of all kinds per incident of the city, under a plan."""
        return self._misses(number).per_incident

    def fewer_missed(self, number: int) -> Interval:
        """How much smaller that sum is than that of the first plan, batch by batch."""
        return self._misses(0).fewer_in(self._misses(number))

    def improvement(self, number: int) -> Interval:
        """The same as a part of the sum of the first plan."""
        return self.gain_over(0, number)

    def gain_over(self, other: int, number: int) -> Interval:
        """The same, as a part of the sum of another plan."""
        return self._misses(other).gain_of(self._misses(number))

    def standards(self, number: int) -> tuple[tuple[Standard, Interval], ...]:
        """Each standard, in the order of the city, and the part of the incidents of its type that misses it."""
        found = {one: part for kind in self.kinds.values() for one, part in kind.policies[number].standards}
        return tuple((one, found[one]) for one in self.order or found if one in found)


def all_misses(parts: Sequence[SimulatedPolicy], most: float) -> Misses:
    """The missed standards of all kinds together, by the incidents of the whole city."""
    return Misses(sum((one.misses.weights for one in parts), np.zeros(1)), parts[0]._of_batches("of_city"), most)
