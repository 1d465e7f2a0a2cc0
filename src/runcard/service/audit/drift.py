"""Whether the model still fits: how often each standard was met, against the chances that were predicted.

Of n incidents whose recommended units were sent, with predicted chances p_1 ... p_n to meet a standard, the number that
meets it is, if the model is right, a sum of independent yes-or-no draws (Poisson-binomial):

    X = B_1 + ... + B_n,   B_i ~ Bernoulli(p_i),   f_i(k) = (1 - p_i) f_{i-1}(k) + p_i f_{i-1}(k - 1),   f_0(0) = 1

and P(X = k) = f_n(k), by sums of positive terms. With x seen, the two-sided chance of so large a difference is

    P = min(1, 2 min(P(X <= x), P(X >= x))).

Above MOST_EXACT incidents X is taken as normal, with mean m = Σ p_i, variance s² = Σ p_i (1 - p_i) and a correction for
continuity: P = 2 Φ(-max(0, |x - m| - ½) / s).

Each standard is tested in each month and over all months. Among so many tests some are unlucky, so Holm's rule decides
which warn: of K tests in the order of their P, the k-th warns if all before it do and P_(k) <= ALARM / (K - k + 1). If
the model is right, the chance of even one wrong warning is at most ALARM.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from math import sqrt
from statistics import fmean
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field
from scipy.special import ndtr, ndtri

from runcard.plan.words import counted, round_percent
from runcard.service.audit.scores import Score, StandardKey, decision_time, scores_of, times_of

MOST_EXACT: Final = 5_000
ALARM: Final = 0.05
EXPECTED: Final = 0.95
"""The range in which what is met lies with this chance, if the model is right."""
LEAST_INCIDENTS: Final = 30
WIDEST: Final = 0.2
"""With fewer incidents, or a wider range in which what is met would lie, nobody can tell whether the model fits."""
MUCH_UNKNOWN: Final = 0.1
MOST_NAMED: Final = 3
"""Months that a warning names one by one."""
MONTHS: Final = tuple(
    "January February March April May June July August September October November December".split()  # noqa: SIM905
)
ADVICE: Final = (
    "Look for what changed (roads, turnout, stations, clocks), and fit the city again with newer calls (runcard fit)."
)


class DriftRowDocument(BaseModel):
    """A standard in one month, or over all months."""

    model_config = ConfigDict(frozen=True)

    type: str
    kind: str
    arrivals: int
    target_minutes: float
    words: str = Field(description="The standard in words.", examples=["fire: first engine within 6 min"])
    month: str | None = Field(description="null: all months.", examples=["2026-11"])
    incidents: int
    met: int
    met_fraction: float
    predicted: float
    low: float = Field(description="Between low and high the fraction lies in 19 of 20 months, if the model is right.")
    high: float
    p_value: float = Field(description="How likely so large a difference is, if the model is right.")
    exact: bool = Field(
        description="Whether p_value is exact; else by the normal law, because there are many incidents."
    )
    first_minutes: float | None = Field(description="The mean first arrival.")
    predicted_minutes: float | None
    warns: bool

    @property
    def tells(self) -> bool:
        """Whether there are enough incidents to tell whether the model fits."""
        return self.incidents >= LEAST_INCIDENTS and self.high - self.low <= WIDEST

    @property
    def when(self) -> str:
        """The month in words."""
        return "all months" if self.month is None else f"{MONTHS[int(self.month[5:]) - 1]} {self.month[:4]}"

    @property
    def sentences(self) -> str:
        """What is to be known of it, in a sentence or two."""
        return f"{self.words}, {self.when}: {self.figures}. {_odds(self.p_value)}"

    @property
    def figures(self) -> str:
        """What was met and what was predicted."""
        met, predicted = (round_percent(part, 1) for part in (self.met_fraction, self.predicted))
        return f"met {met} of {counted(self.incidents, 'incident')}, predicted {predicted}"


class DriftDocument(BaseModel):
    """Standards met against predicted."""

    drifts: bool
    headline: str
    warnings: list[str]
    notes: list[str]
    decisions: int
    with_outcome: int
    overridden: int = Field(description="Decisions of which other units were sent than recommended.")
    unknown: int = Field(description="Standards that could not be counted, because times are missing.")
    wrong_clocks: int = Field(description="Outcomes with times that cannot be; these times are left out.")
    rows: list[DriftRowDocument]


def find_drift(decisions: Iterable[Mapping[str, Any]]) -> DriftDocument:
    """Standards met against predicted, from decisions with their outcomes (see `AuditLog.decisions`)."""
    trials: dict[StandardKey, dict[str, list[Score]]] = {}
    num = {"decisions": 0, "with_outcome": 0, "overridden": 0, "unknown": 0, "wrong_clocks": 0}
    for decision in decisions:
        num["decisions"] += 1
        times = times_of(decision)
        if times.units is None:
            continue
        num["with_outcome"] += 1
        num["wrong_clocks"] += times.wrong_clock
        scores = list(scores_of(decision))
        num["overridden"] += any(score.followed is False for score in scores)
        month = f"{decision_time(decision):%Y-%m}"
        for score in scores:
            if score.standard is None or score.chance is None or not score.followed:
                continue
            if score.met is None:
                num["unknown"] += 1
                continue
            trials.setdefault(score.standard, {}).setdefault(month, []).append(score)
    rows = _warned([row for standard in sorted(trials) for row in _rows(standard, trials[standard])])
    warnings = _warnings(rows)
    return DriftDocument(
        drifts=bool(warnings), headline=_headline(rows, len(warnings)),
        warnings=[*warnings, *([ADVICE] if warnings else [])], notes=_notes(rows, **num), rows=rows, **num,
    )  # fmt: skip


def by_standard(rows: Iterable[DriftRowDocument]) -> Iterator[list[DriftRowDocument]]:
    """The rows of each standard: its months in order, and then all months."""
    for _, of_standard in groupby(rows, key=lambda row: (row.type, row.kind, row.arrivals, row.target_minutes)):
        yield list(of_standard)


def _warnings(rows: Sequence[DriftRowDocument]) -> list[str]:
    """A sentence for each standard that warns."""
    return [_warning(of_standard) for of_standard in by_standard(rows) if any(row.warns for row in of_standard)]


def _headline(rows: Sequence[DriftRowDocument], num_warnings: int) -> str:
    """The finding in one sentence."""
    if not rows:
        return "There is nothing to compare yet: no decision has an outcome with the recommended units and times."
    last = [of_standard[-1] for of_standard in by_standard(rows)]  # over all months
    standards, unclear = counted(len(last), "standard"), sum(not row.tells for row in last)
    if num_warnings:
        return (
            f"The model drifts: what was met is further from what was predicted than luck explains, for "
            f"{num_warnings} of {standards}."
        )
    if unclear == len(last):
        return (
            f"There are too few outcomes to tell whether the model fits, for {standards}: what was met is no "
            "further from what was predicted than luck explains."
        )
    words = f"; for {unclear} of them there are too few outcomes to tell" if unclear else ""
    return f"The model fits: what was met agrees with what was predicted, for {standards}{words}."


def _rows(standard: StandardKey, months: Mapping[str, list[Score]]) -> list[DriftRowDocument]:
    """The rows of one standard."""
    rows = [_row(standard, month, months[month]) for month in sorted(months)]
    # Of one month all months would be the same test again.
    every = [trial for month in sorted(months) for trial in months[month]]
    return rows if len(rows) == 1 else [*rows, _row(standard, None, every)]


def _row(standard: StandardKey, month: str | None, trials: Sequence[Score]) -> DriftRowDocument:
    """The test of one standard in one month."""
    num, met = len(trials), sum(trial.met is True for trial in trials)
    chances = np.clip(np.array([trial.chance for trial in trials], np.float64), 0.0, 1.0)
    first = [trial.first_minutes for trial in trials if trial.first_minutes is not None]
    predicted_first = [trial.predicted_minutes for trial in trials if trial.predicted_minutes is not None]
    p_value, (low, high), exact = compare_with_expected(chances, met)
    return DriftRowDocument(
        **standard._asdict(), words=standard.words, month=month, incidents=num, met=met, met_fraction=met / num,
        predicted=float(chances.mean()), low=low / num, high=high / num, p_value=p_value, exact=exact, warns=False,
        first_minutes=fmean(first) if first else None,
        # The mean of some of them would be compared with that of all.
        predicted_minutes=fmean(predicted_first) if len(predicted_first) == num else None,
    )  # fmt: skip


def compare_with_expected(chances: NDArray[np.float64], met: int) -> tuple[float, tuple[float, float], bool]:
    """The two-sided chance of a difference as large as seen, the expected range, and whether both are exact."""
    if len(chances) > MOST_EXACT:
        mean, spread = float(chances.sum()), sqrt(float((chances * (1.0 - chances)).sum()))
        away = max(0.0, abs(met - mean) - 0.5)
        p_value = min(1.0, 2.0 * float(ndtr(-away / spread))) if spread else float(away == 0.0)
        half = spread * float(ndtri(0.5 + EXPECTED / 2.0))
        return p_value, (max(0.0, mean - half), min(float(len(chances)), mean + half)), False
    weights = poisson_binomial(chances)
    p_value = min(1.0, 2.0 * min(float(weights[: met + 1].sum()), float(weights[met:].sum())))
    below = np.cumsum(weights)
    tail = (1.0 - EXPECTED) / 2.0
    low, high = (int(np.searchsorted(below, quantile)) for quantile in (tail, 1.0 - tail))
    return p_value, (float(low), float(min(high, len(chances)))), True


def poisson_binomial(chances: NDArray[np.float64]) -> NDArray[np.float64]:
    """[n + 1] the chances that so many of n independent events happen."""
    weights = np.zeros(len(chances) + 1)
    weights[0] = 1.0
    for number, chance in enumerate(chances, start=1):
        weights[1 : number + 1] = weights[1 : number + 1] * (1.0 - chance) + weights[:number] * chance
        weights[0] *= 1.0 - chance
    return weights


def _warned(rows: Sequence[DriftRowDocument]) -> list[DriftRowDocument]:
    """The rows, with those that warn by Holm's rule."""
    found = list(rows)
    order = sorted(range(len(rows)), key=lambda number: rows[number].p_value)
    for before, number in enumerate(order):
        if rows[number].p_value > ALARM / (len(rows) - before):
            break
        found[number] = rows[number].model_copy(update={"warns": True})
    return found


def _notes(
    rows: Sequence[DriftRowDocument],
    *,
    decisions: int,
    with_outcome: int,
    overridden: int,
    unknown: int,
    wrong_clocks: int,
) -> list[str]:
    """What is to be known of the comparison."""
    notes = [
        f"{with_outcome:,} of {counted(decisions, 'decision')} have an outcome. In {overridden:,} of them other units "
        "were sent than recommended; of these kinds nothing is compared."
    ]
    counted_rows = sum(row.incidents for row in rows if row.month is not None)
    if unknown > MUCH_UNKNOWN * (counted_rows + unknown):
        notes.append(
            f"Beware: {unknown:,} of {counted_rows + unknown:,} standards could not be counted, because times of "
            "arrival are missing. If these are not missing by chance, the comparison is wrong."
        )
    if wrong_clocks:
        notes.append(
            f"{counted(wrong_clocks, 'outcome')} with times that cannot be, such as an arrival before units were sent: "
            "these times are left out. Look at the clocks."
        )
    if any(not row.exact for row in rows):
        notes.append(f"Above {MOST_EXACT:,} incidents the comparison is by the normal law; below it is exact.")
    return notes


def _warning(rows: Sequence[DriftRowDocument]) -> str:
    """What warns about one standard: each month, or of many the last one, and all months."""
    months = [row for row in rows if row.month is not None]
    warn = [row for row in months if row.warns]
    named = warn if len(warn) <= MOST_NAMED else warn[-1:]
    parts = [f"{row.when} {row.figures}" for row in named]
    if len(warn) > MOST_NAMED:
        parts[0] = f"{len(warn)} of {len(months)} months, the last {parts[0]}"
    parts += [f"all months {row.figures}" for row in rows if row.month is None and row.warns]
    least = min(rows, key=lambda row: row.p_value)
    return f"{least.words}: {'; '.join(parts)}. {_odds(least.p_value)}"


def _odds(p_value: float) -> str:
    """How unlikely a difference is, in a sentence."""
    start = "If the model were right, so large a difference would come by chance in"
    if p_value < 1e-6:
        return f"{start} less than 1 of 1,000,000 cases."
    if p_value > 0.1:
        return f"{start} {round_percent(p_value)} of cases."
    return f"{start} 1 of {float(f'{1.0 / p_value:.2g}'):,.0f} cases."
