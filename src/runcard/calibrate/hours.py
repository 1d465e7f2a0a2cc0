"""Periods of the week with different incident rates, found from the hours at which incidents happened.

The hours of the day are cut into one, two or three arcs, the same on every day, or on weekdays and at weekends apart.
With n_pt incidents of type t in period p, and e_p hours of the log in it, the log likelihood of a choice is
Σ n_pt log(n_pt / e_p). The choice with the smallest BIC, parameters × log(incidents) - 2 × that, is taken: a
parameter is a rate of a type in a period, or a cut.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from runcard.calibrate.clock import local_seconds
from runcard.calibrate.numbers import wilson_interval

HOURS: Final = 168
MONDAY: Final = 4 * 86400
"""The first Monday of 1970 began so many seconds after the year."""
LEAST_HOURS: Final = 3
"""No period of a day is shorter."""
SURE: Final = 0.01
"""Counts vary more than Poisson counts if those would vary as much with a smaller chance than this."""
LEAST_DAYS: Final = 6.9
"""A shorter log does not know every hour of the week."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PeriodFit:
    """The periods of the week, and what the incident rates of each type are multiplied by in each."""

    names: tuple[str, ...]
    period: Ints
    """[hour of the week] its period."""
    rates: Floats
    """[period, type]"""
    low: Floats
    high: Floats
    counts: Ints
    """[period, type]"""
    better_by: float
    """By how much its BIC is smaller than that of rates that are the same all week."""
    per_day: Floats
    """[type] incidents a day, each hour of the week counted alike, also where the log is not made of whole weeks."""


def hours_of_week(seconds: Floats, time_zone: str | None) -> Ints:
    """[moment] its local hour of the week, from Monday 0:00 on."""
    return ((local_seconds(seconds, time_zone) - MONDAY) // 3600 % HOURS).astype(np.int64)


def exposure(seconds: Floats, time_zone: str | None) -> Floats:
    """[hour of the week] how many hours of the log fall into each."""
    start, end = float(seconds.min()), float(seconds.max())
    edges = np.arange(np.floor(start / 1800.0), np.ceil(end / 1800.0) + 1) * 1800.0
    low, high = np.maximum(edges[:-1], start), np.minimum(edges[1:], end)
    found = np.zeros(HOURS)
    np.add.at(found, hours_of_week(edges[:-1], time_zone), np.maximum(high - low, 0.0) / 3600.0)
    return found


def find_periods(hour: Ints, kind: Ints, num_types: int, hours: Floats, *, most: int = 4) -> PeriodFit:
    """The periods of incidents, given the hour of the week and type of each, and the hours of the log [hour]."""
    counts = np.zeros((HOURS, num_types))
    np.add.at(counts, (hour, kind), 1.0)
    best, best_bic, flat = np.zeros(HOURS, np.int64), np.inf, np.inf
    for period, num_cuts in _choices():
        num = int(period.max()) + 1
        if num > most:
            continue
        bic = (num * num_types + num_cuts) * np.log(len(hour)) - 2.0 * _likelihood(period, num, counts, hours)
        if num == 1:
            flat = bic
        if bic < best_bic - 1e-9:
            best, best_bic = period, bic
    return given_periods(best, _names(best), hour, kind, num_types, hours, better_by=flat - best_bic)


def given_periods(
    period: Ints,
    names: tuple[str, ...],
    hour: Ints,
    kind: Ints,
    num_types: int,
    hours: Floats,
    *,
    better_by: float = 0.0,
    spread: float = 1.0,
) -> PeriodFit:
    """The rates in known periods; intervals are of counts that vary `spread` times as much as Poisson's."""
    num = len(names)
    counts, own = np.zeros((num, num_types), np.int64), np.zeros(num)
    np.add.at(counts, (period[hour], kind), 1)
    np.add.at(own, period, hours)
    of_week = np.bincount(period, minlength=num) / HOURS
    totals = counts.sum(axis=0)
    rates, low, high = (np.ones((num, num_types)) for _ in range(3))
    per_day = 24.0 * totals / hours.sum()
    for t in range(num_types):
        if totals[t] == 0 or (own == 0.0).any():
            continue
        # If the log is not made of whole weeks, its hours are not those of the week.
        per_hour = counts[:, t] / own
        mean = float(of_week @ per_hour)
        rates[:, t], per_day[t] = per_hour / mean, 24.0 * mean
        for p in range(num):
            ends = wilson_interval(counts[p, t] / spread, totals[t] / spread)
            scale = rates[p, t] / (counts[p, t] / totals[t]) if counts[p, t] else totals[t] / own[p] / mean
            low[p, t], high[p, t] = (end * scale for end in ends)
    return PeriodFit(names, period, rates, low, high, counts, better_by, per_day)


@dataclass(frozen=True, eq=False)
class Hourly:
    """The incidents of each whole hour of a log, and how many were to be expected in its period."""

    counts: Ints
    expected: Floats

    @property
    def dispersion(self) -> float:
        """Σ (n - e)² / e / hours: about 1 for Poisson counts."""
        return float(((self.counts - self.expected) ** 2 / np.maximum(self.expected, 1e-9)).sum()) / len(self.counts)

    @property
    def p_value(self) -> float:
        """How likely Poisson counts vary as much."""
        return float(chi2.sf(self.dispersion * len(self.counts), len(self.counts)))

    @property
    def spread(self) -> float:
        """How many times as much as Poisson counts they vary, as far as that is no chance."""
        return self.dispersion if self.dispersion > 1.0 and self.p_value < SURE else 1.0


def hourly_counts(seconds: Floats, time_zone: str | None, period: Ints | None) -> Hourly:
    """The incidents of each hour, given their moments and the period of each hour of the week, if there are some."""
    period = np.zeros(HOURS, np.int64) if period is None else period
    hours = np.floor(np.sort(seconds) / 3600.0)
    # The first and the last hour are not whole.
    start, end = hours[0] + 1, hours[-1]
    inside, num = (hours >= start) & (hours < end), max(int(end - start), 1)
    counts = np.bincount((hours[inside] - start).astype(np.int64), minlength=num)[:num]
    own, spent = np.zeros(int(period.max()) + 1), np.zeros(int(period.max()) + 1)
    np.add.at(own, period[hours_of_week(seconds, time_zone)], 1.0)
    np.add.at(spent, period, exposure(seconds, time_zone))
    of_week = hours_of_week((start + np.arange(num)) * 3600.0, time_zone)
    return Hourly(counts, (own / np.maximum(spent, 1e-9))[period[of_week]])


def _choices() -> Iterator[tuple[Ints, int]]:
    """Every way to cut the week, and the number of its cuts."""
    weekend = np.repeat(np.arange(7) >= 5, 24)
    for num in (0, 2, 3):
        for cuts in combinations(range(24), num):
            lengths = np.diff([*cuts, cuts[0] + 24]) if cuts else np.array([24])
            if lengths.min() < LEAST_HOURS:
                continue
            of_day = np.searchsorted(cuts, np.arange(24), side="right") % max(num, 1) if num else np.zeros(24, np.int64)
            period = np.tile(of_day, 7).astype(np.int64)
            yield period, num
            yield period + (int(period.max()) + 1) * weekend, num + 1


def _likelihood(period: Ints, num: int, counts: Floats, hours: Floats) -> float:
    found, own = np.zeros((num, counts.shape[1])), np.zeros(num)
    np.add.at(found, period, counts)
    np.add.at(own, period, hours)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = found * np.log(found / own[:, None])
    return float(np.nansum(terms))


def _names(period: Ints) -> tuple[str, ...]:
    """What periods are called: by the hour at which they begin, and weekend where that is apart."""
    num, found = int(period.max()) + 1, []
    apart = bool((period[:24] != period[120:144]).any())
    for number in range(num):
        hours = np.flatnonzero(period == number)
        days = "weekend " if apart and hours.min() >= 120 else "weekday " if apart else ""
        of_day = hours[hours // 24 == hours.min() // 24] % 24
        gaps = [hour for hour in of_day.tolist() if (hour - 1) % 24 not in of_day]
        start = gaps[0] if gaps else 0
        end = (start + len(of_day)) % 24 or 24
        found.append(f"{days}{start}-{end}" if len(of_day) < 24 else f"{days or 'all '}day".strip())
    return tuple(found)
