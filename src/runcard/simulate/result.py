"""What a simulation found: means over independent batches, each with its 95 % interval, and paired differences.

Every policy meets the same incidents and delays in a batch, so that the difference of two policies varies far less than
either. An interval is that of Student's t for the mean over batches; for a ratio Σx / Σy it is that of the mean of
x - (Σx / Σy) y, which is right to first order.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from runcard.simulate.kernels.run import BIN_WIDTH, LEAST_MINUTES
from runcard.simulate.scenario import Scenario
from runcard.simulate.state import Found, State

LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and the interval that has the true one with the chance of its level."""

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
    first_median: float
    last_median: float
    first_p90: float
    last_p90: float
    minutes: float
    busy_minutes: NDArray[np.float64]
    dispatches: NDArray[np.int64]
    idle_minutes: NDArray[np.float64]


def batch_of(found: Found, state: State) -> Batch:
    """The sums of a batch."""
    sums = found.sums[0]
    num = max(1, int(sums["incidents"]))
    return Batch(
        int(sums["incidents"]), int(sums["late"]), int(sums["outside"]), int(sums["turned"]),
        float(sums["first_sum"] / num), float(sums["last_sum"] / num),
        quantile(found.first_bins, 0.5), quantile(found.last_bins, 0.5),
        quantile(found.first_bins, 0.9), quantile(found.last_bins, 0.9),
        float(sums["minutes"]), state.trucks["busy_minutes"].copy(), state.trucks["dispatches"].copy(),
        state.idle_minutes,
    )  # fmt: skip


def quantile(bins: NDArray[np.int64], chance: float) -> float:
    """The minutes below which that part of the arrivals in bins lies; within the width of a bin."""
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
    """The mean of independent values, and its interval; of one value nothing is known about its error."""
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


@dataclass(frozen=True)
class PolicyResult:
    """What a simulation found for one policy."""

    name: str
    batches: tuple[Batch, ...]

    @cached_property
    def late(self) -> NDArray[np.float64]:
        """[batch] the late incidents."""
        return np.array([batch.late for batch in self.batches], np.float64)

    @cached_property
    def incidents(self) -> NDArray[np.float64]:
        """[batch]"""
        return np.array([batch.incidents for batch in self.batches], np.float64)

    @property
    def num_incidents(self) -> int:
        """Of all batches together."""
        return sum(batch.incidents for batch in self.batches)

    @property
    def late_fraction(self) -> Interval:
        """The part of the incidents that is late."""
        found = ratio_interval(self.late, self.incidents)
        return Interval(found.mean, max(0.0, found.low), min(1.0, found.high))

    def minutes(self, which: str) -> Interval:
        """Minutes from the call on: `first_mean`, `first_median`, `first_p90`, and the same of the `last` truck."""
        found = interval_of([getattr(batch, which) for batch in self.batches])
        return Interval(found.mean, max(0.0, found.low), found.high)

    @property
    def busy_fractions(self) -> NDArray[np.float64]:
        """[truck] the part of the time that each truck is away."""
        total = sum(batch.minutes for batch in self.batches)
        found: NDArray[np.float64] = np.sum([batch.busy_minutes for batch in self.batches], axis=0) / total
        return found

    @property
    def dispatches_per_day(self) -> NDArray[np.float64]:
        """[truck] how often each truck is sent."""
        days = sum(batch.minutes for batch in self.batches) / 1440.0
        found: NDArray[np.float64] = np.sum([batch.dispatches for batch in self.batches], axis=0) / days
        return found

    @property
    def idle_chances(self) -> NDArray[np.float64]:
        """[trucks + 1] the part of the time with each number of idle trucks."""
        minutes = np.sum([batch.idle_minutes for batch in self.batches], axis=0)
        found: NDArray[np.float64] = minutes / minutes.sum()
        return found

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
    policies: tuple[PolicyResult, ...]
    station_of: tuple[str, ...]
    """[truck] the id of its station."""
    seed: int
    precise: bool
    """Whether every late fraction is as precise as was asked for."""

    def fewer_late(self, number: int) -> Interval:
        """How much smaller the late fraction of a policy is than that of the first, by the batches of both."""
        first, other = self.policies[0], self.policies[number]
        return ratio_interval(first.late - other.late, first.incidents)

    def improvement(self, number: int) -> Interval:
        """The same as a part of the late fraction of the first."""
        first, other = self.policies[0], self.policies[number]
        return ratio_interval(first.late - other.late, first.late)
