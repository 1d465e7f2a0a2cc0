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

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from math import sqrt
from statistics import fmean
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from runcard.plan.words import counted
from runcard.service.audit.scores import StandardKey, decision_time, known_outcome, scores_of, times_of

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


@dataclass(frozen=True, kw_only=True)
class DriftRow:
    """One standard in one month, or over all months."""

    standard: StandardKey
    month: str | None
    """Such as 2026-11; None over all months."""
    incidents: int
    met: int
    predicted: float
    """The predicted fraction that meets the standard."""
    low: float
    high: float
    """Between these the fraction lies in 19 of 20 months, if the model is right."""
    p_value: float
    exact: bool
    """Whether it is exact; else normal, because there are many incidents."""
    first_minutes: float | None = None
    """The mean first arrival of this kind."""
    predicted_minutes: float | None = None
    warns: bool = False

    @property
    def met_fraction(self) -> float:
        """The fraction that met the standard."""
        return self.met / self.incidents

    @property
    def tells(self) -> bool:
        """Whether there are enough incidents to tell whether the model fits."""
        return self.incidents >= LEAST_INCIDENTS and self.high - self.low <= WIDEST

    @property
    def when(self) -> str:
        """The month in words."""
        return "all months" if self.month is None else f"{MONTHS[int(self.month[5:]) - 1]} {self.month[:4]}"

    @property
    def words(self) -> str:
        """What is to be known of it, in a sentence or two."""
        return f"{self.standard.words}, {self.when}: {self.figures}. {_odds(self.p_value)}"

    @property
    def figures(self) -> str:
        """What was met and what was predicted."""
        return f"met {self.met_fraction:.1%} of {counted(self.incidents, 'incident')}, predicted {self.predicted:.1%}"

    def document(self) -> dict[str, Any]:
        """The row as plain values, ready for JSON."""
        plain = asdict(self) | {"met_fraction": self.met_fraction}
        return (
            self.standard._asdict()
            | {"words": self.standard.words}
            | {key: value for key, value in plain.items() if key != "standard"}
        )


@dataclass(frozen=True, kw_only=True)
class Drift:
    """Standards met against predicted."""

    rows: tuple[DriftRow, ...]
    """By standard; of each the months in order, and then all months."""
    decisions: int
    with_outcome: int
    overridden: int
    """Decisions of which other units were sent than recommended, of some kind."""
    unknown: int
    """Standards that could not be counted, because times are missing."""
    wrong_clocks: int
    """Decisions whose outcome has times that cannot be; these times are left out."""
    notes: tuple[str, ...] = field(default=())

    @property
    def warnings(self) -> tuple[str, ...]:
        """A sentence for each standard that warns."""
        by_standard = groupby(self.rows, key=lambda row: row.standard)
        found = ((standard.words, list(rows)) for standard, rows in by_standard)
        return tuple(f"{words}: {_warning(rows)}" for words, rows in found if any(row.warns for row in rows))

    @property
    def headline(self) -> str:
        """The finding in one sentence."""
        if not self.rows:
            return "There is nothing to compare yet: no decision has an outcome with the recommended units and times."
        last = {row.standard: row for row in self.rows}  # over all months
        standards, unclear = counted(len(last), "standard"), sum(not row.tells for row in last.values())
        if self.warnings:
            return (
                f"The model drifts: what was met is further from what was predicted than luck explains, for "
                f"{len(self.warnings)} of {standards}."
            )
        if unclear == len(last):
            return (
                f"There are too few outcomes to tell whether the model fits, for {standards}: what was met is no "
                "further from what was predicted than luck explains."
            )
        words = f"; for {unclear} of them there are too few outcomes to tell" if unclear else ""
        return f"The model fits: what was met agrees with what was predicted, for {standards}{words}."

    def document(self) -> dict[str, Any]:
        """The finding as plain values, ready for JSON."""
        return {
            "drifts": bool(self.warnings),
            "headline": self.headline,
            "warnings": [*self.warnings, *([ADVICE] if self.warnings else [])],
            "notes": list(self.notes),
            "decisions": self.decisions,
            "with_outcome": self.with_outcome,
            "overridden": self.overridden,
            "unknown": self.unknown,
            "wrong_clocks": self.wrong_clocks,
            "rows": [row.document() for row in self.rows],
        }


@dataclass(slots=True)
class _Gathered:
    """What is compared, of one standard and month."""

    chances: list[float] = field(default_factory=list)
    met: int = 0
    first: list[float] = field(default_factory=list)
    predicted_first: list[float] = field(default_factory=list)

    def add(self, other: "_Gathered") -> None:
        """Add those of another month."""
        self.chances += other.chances
        self.met += other.met
        self.first += other.first
        self.predicted_first += other.predicted_first


def find_drift(decisions: Iterable[Mapping[str, Any]]) -> Drift:
    """Standards met against predicted, from decisions with their outcomes (see `AuditLog.decisions`)."""
    groups: dict[StandardKey, dict[str, _Gathered]] = {}
    num = {"decisions": 0, "with_outcome": 0, "overridden": 0, "unknown": 0, "wrong_clocks": 0}
    for decision in decisions:
        num["decisions"] += 1
        if known_outcome(decision) is None:
            continue
        num["with_outcome"] += 1
        num["wrong_clocks"] += times_of(decision).wrong_clock
        scores = list(scores_of(decision))
        num["overridden"] += any(score.followed is False for score in scores)
        month = f"{decision_time(decision):%Y-%m}"
        for score in scores:
            if score.standard is None or score.chance is None or not score.followed:
                continue
            if score.met is None:
                num["unknown"] += 1
                continue
            group = groups.setdefault(score.standard, {}).setdefault(month, _Gathered())
            group.chances.append(min(1.0, max(0.0, score.chance)))
            group.met += score.met
            if score.first_minutes is not None:
                group.first.append(score.first_minutes)
            if score.predicted_minutes is not None:
                group.predicted_first.append(score.predicted_minutes)
    rows = _warned([row for standard in sorted(groups) for row in _rows(standard, groups[standard])])
    return Drift(rows=rows, notes=_notes(rows, **num), **num)


def _rows(standard: StandardKey, months: Mapping[str, _Gathered]) -> list[DriftRow]:
    """The rows of one standard."""
    every = _Gathered()
    rows = []
    for month in sorted(months):
        rows.append(_row(standard, month, months[month]))
        every.add(months[month])
    # Of one month all months would be the same test again.
    return rows if len(rows) == 1 else [*rows, _row(standard, None, every)]


def _row(standard: StandardKey, month: str | None, group: _Gathered) -> DriftRow:
    """The test of one standard in one month."""
    chances = np.array(group.chances)
    p_value, (low, high), exact = compare_with_expected(chances, group.met)
    return DriftRow(
        standard=standard, month=month, incidents=len(chances), met=group.met, predicted=float(chances.mean()),
        low=low / len(chances), high=high / len(chances), p_value=p_value, exact=exact,
        first_minutes=fmean(group.first) if group.first else None,
        # The mean of some of them would be compared with that of all.
        predicted_minutes=fmean(group.predicted_first) if len(group.predicted_first) == len(chances) else None,
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


def _warned(rows: Sequence[DriftRow]) -> tuple[DriftRow, ...]:
    """The rows, with those that warn by Holm's rule."""
    found = list(rows)
    order = sorted(range(len(rows)), key=lambda number: rows[number].p_value)
    for before, number in enumerate(order):
        if rows[number].p_value > ALARM / (len(rows) - before):
            break
        found[number] = replace(rows[number], warns=True)
    return tuple(found)


def _notes(
    rows: Sequence[DriftRow], *, decisions: int, with_outcome: int, overridden: int, unknown: int, wrong_clocks: int
) -> tuple[str, ...]:
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
    return tuple(notes)


def _warning(rows: Sequence[DriftRow]) -> str:
    """What warns about one standard: each month, or of many the last one, and all months."""
    months = [row for row in rows if row.month is not None]
    warn = [row for row in months if row.warns]
    named = warn if len(warn) <= MOST_NAMED else warn[-1:]
    parts = [f"{row.when} {row.figures}" for row in named]
    if len(warn) > MOST_NAMED:
        parts[0] = f"{len(warn)} of {len(months)} months, the last {parts[0]}"
    parts += [f"all months {row.figures}" for row in rows if row.month is None and row.warns]
    least = min(rows, key=lambda row: row.p_value)
    return f"{'; '.join(parts)}. {_odds(least.p_value)}"


def _odds(p_value: float) -> str:
    """How unlikely a difference is, in a sentence."""
    start = "If the model were right, so large a difference would come by chance in"
    if p_value < 1e-6:
        return f"{start} less than 1 of 1,000,000 cases."
    if p_value > 0.1:
        return f"{start} {p_value:.0%} of cases."
    return f"{start} 1 of {float(f'{1.0 / p_value:.2g}'):,.0f} cases."
