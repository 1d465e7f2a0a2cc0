"""The work of each unit: in the log, and under closest-first in the fitted city.

- **Busy.** The part of its time. A response that does not say when the unit was free counts with the mean of its kind
  and type.
- **Responses a day.** Units of a kind that stand at one station are alike and count together. With o_s and p_s the
  shares of a kind's responses that its units at station s have, in the log and in the city,

      W = ½ Σ_s |o_s - p_s|

  is the share of the work that is at other stations. If the n responses of the log were independent draws of the city,
  each difference would be about normal, and W in the mean about

      W₀ = ½ Σ_s sqrt(2 p_s (1 - p_s) / (π n)).

- **Each unit.** Of the n + m responses of the units of a station, n in the d days of the log and m in the D days of the
  city, n is binomial with the part d / (d + D) if the city is right. Units are named whose responses a day are off by
  more than a third of those in the log, where the chance of that is below 1 % for all stations of their kind together.
- **First due.** Whether the station of a unit is the closest one with a unit of its kind, or as close, to some demand
  point that the kind is sent to. A unit that is first due nowhere and still has many responses in the log stands
  between areas that are too wide to tell it from its neighbours: closing its station would seem to cost nothing.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import pi, sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from runcard.calibrate.fit import Fit
from runcard.calibrate.made_up import workloads
from runcard.city import City

WORK_INCIDENTS: Final = 40_000
POOR_BUSY: Final = 0.25
POOR_WORK: Final = 0.10
"""W - W₀ above which the work of a kind is said to be at the wrong units."""
POOR_UNIT: Final = 1.0 / 3.0
"""The part of its responses in the log by which those of a unit may be off in the city."""
UNIT_CHANCE: Final = 0.01
"""How often any unit of a kind may be named by chance."""
MOST_NAMED: Final = 5
PER_DAY: Final = ("observed_per_day", "predicted_per_day")

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class UnitWork:
    """The part of the time that a unit is busy, and its responses, in the log and under closest-first in the city."""

    unit: str
    kind: str
    station: str
    observed: float
    predicted: float
    observed_per_day: float
    predicted_per_day: float
    first_due: bool
    off: bool = False
    """Whether its responses, those of its station together, are not those of the log."""

    def document(self) -> dict[str, str | float | bool]:
        """The same as plain values, ready for JSON."""
        return {
            "unit": self.unit, "kind": self.kind, "observed": self.observed, "predicted": self.predicted,
            "responses_per_day": self.observed_per_day, "predicted_responses_per_day": self.predicted_per_day,
            "first_due": self.first_due, "off": self.off,
        }  # fmt: skip


def unit_work(fit: Fit, seed: int) -> tuple[UnitWork, ...]:
    """The work of every unit of the roster."""
    if not fit.city.has_roster:
        return ()
    log, minutes = fit.log, _busy_minutes(fit)
    rows = log.responses[log.responses["unit"] >= 0]
    spent = np.bincount(rows["unit"], minutes[log.responses["unit"] >= 0], minlength=len(log.units))
    counted = rows["unit"][fit.incident_type[rows["incident"]] >= 0]
    responses = np.bincount(counted, minlength=len(log.units))
    busy = dict(zip(log.units, (spent / (fit.num_days * 1440.0)).tolist(), strict=True))
    per_day = dict(zip(log.units, (responses / fit.num_days).tolist(), strict=True))
    workload = workloads(fit.city, incidents=WORK_INCIDENTS, seed=seed)
    units = [
        UnitWork(
            unit=unit.unit_id,
            kind=unit.kind,
            station=unit.station_id,
            observed=busy.get(unit.unit_id, 0.0),
            predicted=workload[unit.unit_id].busy,
            observed_per_day=per_day.get(unit.unit_id, 0.0),
            predicted_per_day=workload[unit.unit_id].per_day,
            first_due=workload[unit.unit_id].first_due,
        )
        for unit in fit.city.units
        if unit.unit_id in workload
    ]
    of_kind = ([unit for unit in units if unit.kind == kind] for kind in fit.city.kinds)
    odd = [one for alike in of_kind for one in odd_units(alike, fit.num_days, predicted_days(fit.city))]
    off = {(one.kind, one.station) for one in odd}
    return tuple(replace(unit, off=(unit.kind, unit.station) in off) for unit in units)


def predicted_days(city: City) -> float:
    """About how many days of the city the predicted work is from."""
    return WORK_INCIDENTS / city.incidents_per_day


def _busy_minutes(fit: Fit) -> Floats:
    """[response] from dispatch until free; where the log does not say it, the mean of its kind and type, if known."""
    rows, log = fit.log.responses, fit.log
    minutes = (rows["available"] - rows["dispatched"]) / 60.0
    missing, of_type = np.isnan(minutes), fit.incident_type[rows["incident"]]
    for mean in sorted(fit.busy, key=lambda mean: mean.type != ""):  # that of all types stays where there is no other
        alike = missing & (rows["kind"] == log.kinds.index(mean.kind))
        minutes[alike & (of_type == log.types.index(mean.type)) if mean.type else alike] = mean.mean_minutes
    return np.asarray(np.nan_to_num(minutes))


def wrong_work(units: Iterable[UnitWork], num_days: float) -> tuple[float, float]:
    """W and W₀ of the units of a kind, in a log of so many days; 0 where the log or the city has no responses."""
    by_station: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for unit in units:
        by_station[unit.station][0] += unit.observed_per_day
        by_station[unit.station][1] += unit.predicted_per_day
    observed, predicted = np.array(list(by_station.values())).T
    num_responses = observed.sum() * num_days
    if not num_responses or not predicted.sum():
        return 0.0, 0.0
    observed, predicted = observed / observed.sum(), predicted / predicted.sum()
    by_chance = np.sqrt(2.0 * predicted * (1.0 - predicted) / (pi * num_responses))
    return 0.5 * float(np.abs(observed - predicted).sum()), 0.5 * float(by_chance.sum())


def never_first_due(units: Iterable[UnitWork], num_days: float) -> list[UnitWork]:
    """The units that are first due nowhere and have more responses in the log than the city gives them.

    More than by chance: a Poisson count of the city's mean m is above m + 2 sqrt(m) in some two of a hundred logs.
    """

    def most_by_chance(mean: float) -> float:
        return mean + 2.0 * sqrt(mean)

    return [
        unit
        for unit in units
        if not unit.first_due and unit.observed_per_day * num_days > most_by_chance(unit.predicted_per_day * num_days)
    ]


def odd_units(units: Iterable[UnitWork], num_days: float, predicted_days: float) -> list[UnitWork]:
    """The units of a kind whose work is not that of the log, those of a station together; the farthest off first."""
    by_station: dict[str, list[UnitWork]] = defaultdict(list)
    for unit in units:
        by_station[unit.station].append(unit)
    found = []
    for alike in by_station.values():
        observed, predicted = (sum(getattr(unit, name) for unit in alike) for name in PER_DAY)
        n, m = round(observed * num_days), round(predicted * predicted_days)
        law = n + m, num_days / (num_days + predicted_days)
        chance = 2.0 * min(binom.cdf(n, *law), binom.sf(n - 1, *law)) * len(by_station)
        if abs(predicted - observed) > POOR_UNIT * observed and chance < UNIT_CHANCE:
            name = " and ".join(unit.unit for unit in alike)
            found.append(replace(alike[0], unit=name, observed_per_day=observed, predicted_per_day=predicted))
    return sorted(found, key=lambda unit: -abs(unit.predicted_per_day - unit.observed_per_day))


def work_faults(units: Sequence[UnitWork], num_days: float, predicted_days: float) -> list[str]:
    """Where the work of units in so many days of the city is not that of the log, in sentences."""
    kinds = dict.fromkeys(unit.kind for unit in units)
    return [
        fault
        for kind in kinds
        for fault in _kind_faults(kind, [one for one in units if one.kind == kind], num_days, predicted_days)
    ]


def _kind_faults(kind: str, units: Sequence[UnitWork], num_days: float, predicted_days: float) -> Iterator[str]:
    """The same of the units of one kind."""
    observed = sum(unit.observed for unit in units) / len(units)
    predicted = sum(unit.predicted for unit in units) / len(units)
    if observed > 0.0 and abs(predicted / observed - 1.0) > POOR_BUSY:
        yield (
            f"The {kind}s are busy {100.0 * observed:.1f} % of the time, and {100.0 * predicted:.1f} % is "
            "predicted. Incidents that the mapping leaves out, and more or fewer units than the most common "
            "number, are the usual reasons."
        )
    wrong, by_chance = wrong_work(units, num_days)
    if wrong - by_chance > POOR_WORK:
        percent = [100.0 / sum(getattr(unit, name) for unit in units) for name in PER_DAY]
        worst = sorted(
            units, key=lambda unit: -abs(percent[0] * unit.observed_per_day - percent[1] * unit.predicted_per_day)
        )
        yield (
            f"{100.0 * wrong:.0f} % of the work of the {kind}s is at other stations than in the log, where chance "
            f"would make it {100.0 * by_chance:.0f} %. The farthest off, in % of the responses of all {kind}s: "
            f"{_named(worst[:MOST_NAMED], *percent)}. Areas that are too wide, and units that stand elsewhere than "
            "the city says, are the usual reasons."
        )
    elif odd := odd_units(units, num_days, predicted_days):
        yield (
            f"The work of some {kind}s is off by more than a third and by more than chance, in responses a day: "
            f"{_named(odd)}. What is said of these units, and of their stations, is no better. Areas that are too "
            "wide, and units that stand elsewhere than the city says, are the usual reasons."
        )
    nowhere = sorted(never_first_due(units, num_days), key=lambda unit: -unit.observed_per_day)
    if nowhere:
        yield (
            f"First due nowhere in this city, but sent in the log, in responses a day: {_named(nowhere)}. Closing a "
            "station of these would seem to cost next to nothing. Areas that are too wide to tell a unit from its "
            "neighbours are the usual reason: import the city again with more of them (runcard import --areas)."
        )


def _named(units: Sequence[UnitWork], observed_times: float = 1.0, predicted_times: float = 1.0) -> str:
    """The first units with their responses a day, or a multiple of these: E38 (10.9 in the log, 2.1 in the city)."""
    words = [
        f"{unit.unit} ({observed_times * unit.observed_per_day:.1f} in the log, "
        f"{predicted_times * unit.predicted_per_day:.1f} in the city)"
        for unit in units[:MOST_NAMED]
    ]
    if len(units) > MOST_NAMED:
        words[-1] += f" and {len(units) - MOST_NAMED} more"
    return ", ".join(words)
