"""How well a fitted city describes the log that it came from, in numbers and in words.

- **Response times.** Each response that the log has is drawn `DRAWS` times by the model, from the unit's home: turnout,
  the fixed part, and the drive. The share u of draws below what happened is uniform if the model is right. Its largest
  distance from uniform, and the quantiles of all draws beside those of the log, say where it is not.
- **Counts.** Incidents an hour against a Poisson law with the rate of the hour's period. The dispersion
  Σ (n - e)² / e / hours is 1 for a Poisson law.
- **Work.** The part of its time that each unit is busy, and its responses a day, against the same under closest-first
  in the fitted city (`work.py`).
- **Late.** For what was really sent: the part of incidents that missed each standard, against the mean chance that the
  model gives for the same units, with the delays that they share.

Draws are shown by a clock as coarse as that of the log.

What is judged on the log that it was fitted to looks better than it is; `backtest.py` uses one part for each.
"""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.stats import poisson

from runcard.calibrate.draws import draw, drawn_drives, drawn_turnouts
from runcard.calibrate.driving import EXACT_MINUTES
from runcard.calibrate.fit import Fit
from runcard.calibrate.hours import hourly_counts
from runcard.calibrate.numbers import wilson_interval
from runcard.calibrate.work import UnitWork, predicted_days, unit_work, work_faults
from runcard.city.model import Standard

DRAWS: Final = 200
MOST_RESPONSES: Final = 5000
MOST_INCIDENTS: Final = 20_000
"""Of larger logs a sample is judged."""
QUANTILES: Final = tuple(np.linspace(0.02, 0.98, 49).tolist())
LEAST_OF_AREA: Final = 5
POOR_RESPONSE: Final = 0.10
"""Distance of u from uniform, and relative error of means, above which response times are said to be off."""
POOR_DISPERSION: Final = 1.5
POOR_LATE: Final = 0.05
POOR_EXPLAINED: Final = 0.25
POOR_ROSTER: Final = 0.25

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ResponseFit:
    """Response times of one kind: in the log, and drawn by the model for the same drives."""

    kind: str
    num: int
    share_below: Floats
    """u, sorted."""
    observed: Floats
    """[quantile] minutes, at `QUANTILES`."""
    predicted: Floats
    observed_mean: float
    predicted_mean: float

    @property
    def distance(self) -> float:
        """The largest distance of u from uniform."""
        steps = np.arange(1, self.num + 1) / self.num
        return float(
            np.maximum(np.abs(self.share_below - steps), np.abs(self.share_below - steps + 1.0 / self.num)).max()
        )


@dataclass(frozen=True, slots=True)
class AreaFit:
    """The mean response minutes of the units that came to one area."""

    node_id: str
    num: int
    observed: float
    predicted: float


@dataclass(frozen=True, eq=False)
class CountFit:
    """Hours of the log by their number of incidents, and what a Poisson law gives."""

    observed: Floats
    """[number] hours."""
    predicted: Floats
    dispersion: float
    p_value: float


@dataclass(frozen=True, slots=True)
class LateFit:
    """A standard: the part of incidents that missed it, with its interval, and what the model gives for them."""

    standard: Standard
    num: int
    observed: float
    low: float
    high: float
    predicted: float


@dataclass(frozen=True, eq=False)
class Goodness:
    """How well a city fits its log."""

    responses: tuple[ResponseFit, ...]
    areas: tuple[AreaFit, ...]
    counts: CountFit
    busy: tuple[UnitWork, ...]
    late: tuple[LateFit, ...]
    faults: tuple[str, ...]
    """What is badly fitted, in words; empty if nothing is."""

    def document(self) -> dict[str, Any]:
        """The main numbers as plain values, ready for JSON."""
        return {
            "response_minutes": [
                {"kind": one.kind, "responses": one.num, "observed_mean": one.observed_mean,
                 "predicted_mean": one.predicted_mean, "distance_from_uniform": one.distance}
                for one in self.responses
            ],
            "dispersion": self.counts.dispersion,
            "busy": [unit.document() for unit in self.busy],
            "late": [
                {**one.standard.document(), "incidents": one.num, "observed": one.observed, "low": one.low,
                 "high": one.high, "predicted": one.predicted}
                for one in self.late
            ],
            "faults": list(self.faults),
        }  # fmt: skip


def judge_fit(fit: Fit, *, seed: int = 1) -> Goodness:
    """How well a fit describes its log."""
    rng = np.random.default_rng(seed)
    responses, areas = _responses(fit, rng)
    counts, busy, late = _counts(fit), unit_work(fit, seed), _late(fit, rng)
    return Goodness(responses, areas, counts, busy, late, tuple(_faults(fit, responses, counts, busy, late)))


def draw_responses(fit: Fit, drives: Ints, rng: np.random.Generator, num: int = DRAWS) -> Floats:
    """[drive, draw] response minutes of single units by the model: turnout and the drive."""
    city, data = fit.city, fit.driving_data
    kinds = fit.log.responses["kind"][data.drives.response[drives]]
    scale = float(city.driving.scale_minutes or 1.0)
    found = rng.gamma(np.maximum(data.mean[drives], 1e-9)[:, None] / scale, scale, (len(drives), num))
    for number, kind in enumerate(fit.log.kinds):
        law = city.turnout_by_kind.get(kind, city.turnout)
        own = np.flatnonzero(kinds == number)
        if law.mean_minutes and len(own):
            found[own] += draw(rng, law.model, law.cv, np.full(len(own) * num, law.mean_minutes)).reshape(len(own), num)
    return found


def shown_by_clock(drawn: Floats, step_minutes: float, rng: np.random.Generator) -> Floats:
    """[unit, draw] response minutes of units that are sent at one moment, as a clock of such steps shows them."""
    if step_minutes <= EXACT_MINUTES:
        return drawn
    begin = rng.random(drawn.shape[1])
    return np.asarray(np.floor(drawn / step_minutes + begin) * step_minutes)


def _responses(fit: Fit, rng: np.random.Generator) -> tuple[tuple[ResponseFit, ...], tuple[AreaFit, ...]]:
    data, rows = fit.driving_data, fit.log.responses
    places = np.flatnonzero(data.used)
    if len(places) > MOST_RESPONSES:
        places = np.sort(rng.choice(places, MOST_RESPONSES, replace=False))
    response = data.drives.response[places]
    steps, step_minutes = fit.log.steps_between("dispatched", "on_scene")
    observed = steps[response] * step_minutes
    drawn = shown_by_clock(draw_responses(fit, places, rng), step_minutes, rng)
    below = (drawn < observed[:, None]).mean(axis=1)
    if step_minutes > EXACT_MINUTES:  # what is shown as the same may be less or more
        below += rng.random(len(below)) * (np.abs(drawn - observed[:, None]) < step_minutes / 2.0).mean(axis=1)
    found = []
    for number, kind in enumerate(fit.log.kinds):
        own = rows["kind"][response] == number
        if own.sum() >= LEAST_OF_AREA:
            found.append(
                ResponseFit(
                    kind,
                    int(own.sum()),
                    np.sort(below[own]),
                    np.quantile(observed[own], QUANTILES),
                    np.quantile(drawn[own], QUANTILES),
                    float(observed[own].mean()),
                    float(drawn[own].mean()),
                )
            )
    area = fit.placed.area[rows["incident"][response]]
    areas = []
    for number in np.unique(area).tolist():
        own = area == number
        if own.sum() >= LEAST_OF_AREA:
            means = float(observed[own].mean()), float(drawn[own].mean())
            areas.append(AreaFit(fit.placed.centres[number], int(own.sum()), *means))
    return tuple(found), tuple(areas)


def _counts(fit: Fit) -> CountFit:
    times = fit.log.incidents["time"][fit.incident_type >= 0]
    found = hourly_counts(times, fit.log.time_zone, None if fit.periods is None else fit.periods.period)
    numbers = np.arange(int(found.counts.max()) + 6)
    rates, weights = np.unique(found.expected, return_counts=True)
    predicted = np.asarray(weights @ poisson.pmf(numbers[None, :], rates[:, None]), np.float64)
    observed = np.bincount(found.counts, minlength=len(numbers)).astype(np.float64)
    return CountFit(observed, predicted, found.dispersion, found.p_value)


def _late(fit: Fit, rng: np.random.Generator) -> tuple[LateFit, ...]:
    """The standards, over incidents with enough arrivals of units that left from a known place."""
    data, rows = fit.driving_data, fit.log.responses
    steps, step_minutes = fit.log.steps_between("dispatched", "on_scene")
    by_incident: dict[int, list[int]] = defaultdict(list)
    for place, response in enumerate(data.drives.response.tolist()):
        by_incident[int(rows["incident"][response])].append(place)
    chosen = np.array(sorted(by_incident))
    if len(chosen) > MOST_INCIDENTS:
        chosen = np.sort(rng.choice(chosen, MOST_INCIDENTS, replace=False))
    missed: dict[Standard, list[tuple[float, float]]] = {standard: [] for standard in fit.city.standards}
    by_type: dict[str, list[Standard]] = defaultdict(list)
    for standard in fit.city.standards:
        by_type[standard.type].append(standard)
    for incident in chosen.tolist():
        drives = np.array(by_incident[incident])
        response = data.drives.response[drives]
        drawn = shown_by_clock(team_draws(fit, drives, rng), step_minutes, rng)
        observed = steps[response] * step_minutes
        kinds = [fit.log.kinds[k] if k >= 0 else "" for k in rows["kind"][response].tolist()]
        for standard in by_type[fit.types[fit.incident_type[incident]]]:
            own = [place for place, kind in enumerate(kinds) if kind == standard.kind or not fit.city.has_roster]
            if len(own) >= standard.arrivals:
                there = np.sort(drawn[own], axis=0)[standard.arrivals - 1]
                happened = np.sort(observed[own])[standard.arrivals - 1]
                target = standard.target_minutes
                missed[standard].append((float(happened > target), float((there > target).mean())))
    found = []
    for standard, pairs in missed.items():
        if len(pairs) >= LEAST_OF_AREA:
            happened, chance = (np.array(of) for of in zip(*pairs, strict=True))
            low, high = wilson_interval(float(happened.sum()), len(pairs))
            found.append(LateFit(standard, len(pairs), float(happened.mean()), low, high, float(chance.mean())))
    return tuple(found)


def team_draws(fit: Fit, drives: Ints, rng: np.random.Generator, num: int = DRAWS) -> Floats:
    """[drive, draw] response minutes of units that drive to one incident together, with the delays that they share."""
    found, data = _team_drives(fit, drives, rng, num), fit.driving_data
    numbers = fit.log.responses["kind"][data.drives.response[drives]].tolist()
    kinds = [fit.log.kinds[number] if number >= 0 else "" for number in numbers]
    return found + drawn_turnouts(rng, fit.city, kinds, data.drives.start[drives].tolist(), num)


def _team_drives(fit: Fit, drives: Ints, rng: np.random.Generator, num: int) -> Floats:
    """[drive, draw] driving minutes of these drives."""
    data, city = fit.driving_data, fit.city
    links = np.column_stack([data.paths.links[data.path[drives]], len(city.links) + data.drives.start[drives]])
    scale = float(city.driving.scale_minutes or 1.0)
    return drawn_drives(rng, links, fit.link_minutes, scale=scale, shared_delay=city.shared_delay, num=num)


def _lost_units(fit: Fit) -> list[tuple[str, int, int]]:
    """The kinds of which many units have no known station: their name, how many have none, and how many there are."""
    rows, known = fit.log.responses, {home.unit for home in fit.homes}
    found = []
    for number, kind in enumerate(fit.log.kinds):
        units = np.unique(rows["unit"][(rows["kind"] == number) & (rows["unit"] >= 0)]).tolist()
        lost = sum(fit.log.units[unit] not in known for unit in units)
        if lost > POOR_ROSTER * len(units):
            found.append((kind, lost, len(units)))
    return found


def _faults(
    fit: Fit,
    responses: tuple[ResponseFit, ...],
    counts: CountFit,
    busy: tuple[UnitWork, ...],
    late: tuple[LateFit, ...],
) -> list[str]:
    """What is badly fitted, in sentences."""
    found = []
    for kind, lost, num in _lost_units(fit):
        found.append(
            f"{lost} of {num} {kind}s in the log are left out, because nobody knows where they stand: a roster says "
            "it, or a longer log."
        )
    if fit.driving.explained < POOR_EXPLAINED:
        found.append(
            f"Routes explain only {100.0 * fit.driving.explained:.0f} % of the variance of driving times, where the "
            f"fitted law itself would have {100.0 * fit.driving.implied:.0f} %: where a unit stands says little about "
            "when it arrives. Units that are not at home when they are sent, and roads that the network lacks, are the "
            "usual reasons."
        )
    for one in responses:
        off = one.predicted_mean / one.observed_mean - 1.0
        if abs(off) > POOR_RESPONSE:
            found.append(
                f"Response times of {one.kind}: {one.predicted_mean:.1f} min are predicted on average, and "
                f"{one.observed_mean:.1f} happened."
            )
        elif one.distance > POOR_RESPONSE:
            found.append(
                f"Response times of {one.kind} have another spread than predicted: the shares are off by up to "
                f"{100.0 * one.distance:.0f} points."
            )
    if counts.dispersion > POOR_DISPERSION and counts.p_value < 0.01:
        found.append(
            f"Incidents come in bursts: their hourly counts vary {counts.dispersion:.1f} times as much as a Poisson "
            "law says, so more units are busy at once than the model thinks."
        )
    found += work_faults(busy, fit.num_days, predicted_days(fit.city))
    for of in late:
        if not of.low <= of.predicted <= of.high and abs(of.predicted - of.observed) > POOR_LATE:
            standard = of.standard
            found.append(
                f"{standard.type}, {standard.kind}, {standard.rule}: {100.0 * of.observed:.0f} % of incidents missed "
                f"it, and {100.0 * of.predicted:.0f} % is predicted for what was really sent."
            )
    return found
