"""What a simulation found: means over independent batches, each with its 95 % interval, and paired differences.

Every policy meets the same incidents and delays in a batch, so the difference of two policies varies far less than
either. The interval of a mean over batches is Student's. For a ratio Σx / Σy it is that of the mean of x - (Σx / Σy) y,
which is right to first order.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runcard.city.model import MINUTES_PER_DAY
from runcard.errors import InputError
from runcard.simulate.kernels.run import BIN_WIDTH, LEAST_MINUTES
from runcard.simulate.scenario import Scenario
from runcard.simulate.state import Counts, State

LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean, and an interval that holds the true mean with the chance of its level."""

    mean: float
    low: float
    high: float

    @property
    def half(self) -> float:
        """Half of its width."""
        return (self.high - self.low) / 2.0


@dataclass(frozen=True, slots=True)
class Batch:
    """What one batch found for one policy."""

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


def batch_of(counts: Counts, state: State) -> Batch:
    """What was counted in a batch; its arrays cannot be written to."""
    sums = counts.sums[0]
    num = max(1, int(sums["incidents"]))
    by_truck = state.trucks["busy_minutes"].copy(), state.trucks["dispatches"].copy(), state.idle_minutes.copy()
    for array in by_truck:
        array.setflags(write=False)
    return Batch(
        int(sums["incidents"]), int(sums["late"]), int(sums["outside"]), int(sums["turned"]),
        float(sums["first_sum"] / num), float(sums["last_sum"] / num), float(sums["minutes"]), *by_truck,
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
    return Interval(ratio, ratio - spread.half, ratio + spread.half)


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
    """What a simulation found for one policy."""

    name: str
    batches: tuple[Batch, ...]
    bins: NDArray[np.int64]
    """[section, first or last truck, bin] the number of arrivals; batches go to the sections in turn."""

    def _of_batches(self, which: str) -> NDArray[np.float64]:
        """[batch, ...] one of their numbers, in an array that cannot be written to."""
        found = np.array([getattr(batch, which) for batch in self.batches], np.float64)
        found.setflags(write=False)
        return found

    @cached_property
    def late(self) -> NDArray[np.float64]:
        """[batch] the late incidents."""
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
        """The part of the incidents that is late."""
        from scipy.stats import beta  # here, because it takes a while to import

        found = ratio_interval(self.late, self.incidents)
        late, in_time, rest = int(self.late.sum()), int(self.incidents.sum() - self.late.sum()), 0.5 - LEVEL / 2.0
        # If few incidents are late, batches say little: the interval is at least that for independent incidents.
        low = float(beta.ppf(rest, late, in_time + 1)) if late else 0.0
        high = float(beta.ppf(1.0 - rest, late + 1, in_time)) if in_time else 1.0
        return Interval(found.mean, max(0.0, min(found.low, low)), min(1.0, max(found.high, high)))

    def minutes(self, which: str) -> Interval:
        """Minutes from the call on: `first_mean`, `first_median`, `first_p90`, or the same of the `last` truck."""
        found = _minutes(which, self, None)
        return Interval(found.mean, max(0.0, found.low), found.high)

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
class Simulation:
    """What a simulation found in one scenario, for each policy in turn."""

    scenario: Scenario
    policies: tuple[SimulatedPolicy, ...]
    station_of: tuple[str, ...]
    """[truck] the id of its station."""
    seed: int
    precise: bool
    """Whether every late fraction is as precise as was asked for."""

    def fewer_late(self, number: int) -> Interval:
        """How much smaller the late fraction of a policy is than that of the first policy, batch by batch."""
        first, other = self.policies[0], self.policies[number]
        return ratio_interval(first.late - other.late, first.incidents)

    def more_minutes(self, number: int, which: str) -> Interval:
        """By how many minutes one of `ARRIVALS` of a policy is later than that of the first policy."""
        return _minutes(which, self.policies[number], self.policies[0])

    def improvement(self, number: int) -> Interval:
        """How much smaller the late fraction of a policy is, as a part of that of the first policy."""
        first, other = self.policies[0], self.policies[number]
        if first.late.sum() > 0.0 == other.late.sum():  # more batches might have some
            return Interval(1.0, 1.0 - other.late_fraction.high / first.late_fraction.mean, 1.0)
        return ratio_interval(first.late - other.late, first.late)
