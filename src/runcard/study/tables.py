"""The tables of the study: ours, the paper's, and how far they are apart in standard errors.

A cell is a mean over n random cities with standard deviation s, so its standard error is s/√n. The paper's number is a
mean over other cities, as many as its settings say, with the same s, and it is rounded to a step r. So they differ by

    off = (ours - paper) / √(s²/n + s²/n_paper + r²/12)

standard errors. If both are right, off is about normal: three cells in a thousand are beyond 3.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from math import isfinite, sqrt
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from runcard.study.experiment import IGNORING, Experiment, Setting

HEADS: Final = {
    "closest-first": "CF",
    "optimal": "OPT",
    "one-step": "OSI",
    "one-step-queueing-printed": "OSIA as printed",
    "one-step-queueing": "OSIA corrected",
    "one-step-mean-field": "mean field",
    "fixed-card": "fixed card",
}
"""The head of each policy's column."""

MANY_GRAPHS: Final = 100
"""With fewer graphs, improvements are too skewed for a standard error to mean much."""

OURS: Final = ("one-step-queueing", "one-step-mean-field", "fixed-card")
"""The policies that the paper does not have."""

_IN_PAPER: Final = {"optimal": "opt", "one-step": "osi", "one-step-queueing-printed": "osia"}
CORRELATION: Final = {0.0: "uncorrelated", 1.0: "correlated"}
"""How the columns of the paper's tables end, by the chance of a shared delay."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One number of a table, in percent."""

    column: str
    value: float
    error: float | None = None
    """Its standard error, for a mean."""
    paper: float | None = None
    off: float | None = None
    """By how many standard errors it differs from the paper's, if the two should agree."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """The cells of one setting, with or without correlation."""

    setting: Setting
    shared_delay: float
    num_graphs: int
    cells: tuple[Cell, ...]


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """How many cells can be compared with the paper's, and how many are within 3 and 4 standard errors."""

    num_cells: int
    within_3: int
    within_4: int
    farthest: float

    def __add__(self, other: "Agreement") -> "Agreement":
        """The agreement of both together."""
        return Agreement(
            num_cells=self.num_cells + other.num_cells,
            within_3=self.within_3 + other.within_3,
            within_4=self.within_4 + other.within_4,
            farthest=max(self.farthest, other.farthest),
        )

    @property
    def words(self) -> str:
        """The agreement in a sentence."""
        if self.num_cells == 0:
            return "The paper's numbers are not known to us."
        return (
            f"{self.within_3} of {self.num_cells} cells are within 3 standard errors of the paper's, "
            f"{self.within_4} within 4; the farthest is {self.farthest:.1f} off."
        )


@dataclass(frozen=True, kw_only=True)
class StudyTable:
    """The table of an experiment."""

    experiment: Experiment
    columns: tuple[str, ...]
    lines: tuple[Line, ...]

    @property
    def num_graphs(self) -> int:
        """The random graphs of each setting."""
        return self.lines[0].num_graphs

    @property
    def words(self) -> str:
        """How well it agrees with the paper's, in a sentence or two."""
        if self.experiment.known is None:
            return "The paper's numbers are not known to us."
        if self.num_graphs == 1:
            return "With one graph there is no standard error, so that nothing can be compared with the paper's."
        rough = f" With {self.num_graphs} graphs the standard errors are rough: take {MANY_GRAPHS} or more to judge."
        return self.agreement.words + (rough if self.num_graphs < MANY_GRAPHS else "")

    @property
    def agreement(self) -> Agreement:
        """How well it agrees with the paper's."""
        off = [abs(cell.off) for line in self.lines for cell in line.cells if cell.off is not None]
        return Agreement(
            num_cells=len(off),
            within_3=sum(one <= 3.0 for one in off),
            within_4=sum(one <= 4.0 for one in off),
            farthest=max(off, default=0.0),
        )


@dataclass(frozen=True)
class LateFractions:
    """The late fractions of an experiment, found by setting and policy."""

    rows: dict[str, Any]

    def of(self, setting: Setting, shared_delay: float, policy: str) -> NDArray[np.float64]:
        """[graphs] the late fractions of a policy, by number of the graph."""
        rows = self.rows
        chosen = (
            (rows["side"] == setting.side)
            & (rows["trucks"] == setting.trucks)
            & (rows["load"] == setting.load)
            & (rows["gamma"] == setting.gamma)
            & (rows["shared_delay"] == shared_delay)
            & (rows["policy"] == policy)
        )
        order = np.argsort(rows["graph"][chosen])
        late: NDArray[np.float64] = np.asarray(rows["late_fraction"][chosen], np.float64)[order]
        return late


def read_paper(name: str) -> dict[tuple[int, float | None], dict[str, str]]:
    """The rows of one of the paper's tables, by number of trucks and load."""
    text = (files("runcard.study") / "paper" / name).read_text("utf-8")
    return {
        (int(row["trucks"]), float(row["load"]) if "load" in row else None): row
        for row in csv.DictReader(text.splitlines())
    }


def improvement(late: NDArray[np.float64], closest_first: NDArray[np.float64]) -> NDArray[np.float64]:
    """[graphs] δ in percent. Where nothing is ever late, nothing can be improved."""
    return np.where(closest_first > 0.0, 100.0 * (1.0 - late / np.maximum(closest_first, 1e-300)), 0.0)


def gap(late: NDArray[np.float64], optimal: NDArray[np.float64]) -> NDArray[np.float64]:
    """[graphs] the gap to the optimum in percent."""
    return np.where(late == optimal, 0.0, 100.0 * (late / np.maximum(optimal, 1e-300) - 1.0))


def make_table(experiment: Experiment, rows: dict[str, Any]) -> StudyTable:
    """The table of an experiment of a kind that is one, from its rows."""
    lateness = LateFractions(rows)
    known = None if experiment.known is None else read_paper(experiment.known)
    lines = []
    for setting in experiment.settings:
        for shared_delay in experiment.shared_delays:
            cells = tuple(_cells(experiment, lateness, setting, shared_delay, known))
            num_graphs = len(lateness.of(setting, shared_delay, experiment.policies[0]))
            lines.append(Line(setting=setting, shared_delay=shared_delay, num_graphs=num_graphs, cells=cells))
    columns = tuple(cell.column for cell in lines[0].cells)
    return StudyTable(experiment=experiment, columns=columns, lines=tuple(lines))


def _cells(
    experiment: Experiment, lateness: LateFractions, setting: Setting, shared_delay: float, known: Any
) -> Iterator[Cell]:
    """The cells of a line."""
    kind, graphs = experiment.kind, experiment.graphs
    printed = {} if known is None else known[setting.trucks, None if kind == "ignoring" else setting.load]
    side = CORRELATION.get(shared_delay, "")
    late = {policy: lateness.of(setting, shared_delay, policy) for policy in experiment.policies}

    def in_paper(column: str) -> float | None:
        return float(printed[column]) if column in printed else None

    if kind == "improvement":
        percent = 100.0 * late["closest-first"]
        yield Cell(
            column="CF late",
            value=float(percent.mean()),
            error=standard_error(percent),
            paper=in_paper(f"flar_cf_{side}"),
        )
        for policy in experiment.policies:
            if policy != "closest-first":
                paper = in_paper(f"delta_{_IN_PAPER.get(policy)}_{side}")
                yield mean_cell(HEADS[policy], improvement(late[policy], late["closest-first"]), paper, graphs)
    elif kind == "range":
        best = improvement(late["optimal"], late["closest-first"])
        yield Cell(column="OPT min", value=float(best.min()))
        yield mean_cell("OPT mean", best, None, graphs)
        yield Cell(column="OPT max", value=float(best.max()))
        for policy in OURS:
            yield mean_cell(HEADS[policy], improvement(late[policy], late["closest-first"]), None, graphs)
    elif kind == "gap":
        for policy in experiment.policies:
            if policy != "optimal":
                paper = in_paper(f"{_IN_PAPER.get(policy)}_{side}")
                yield mean_cell(HEADS[policy], gap(late[policy], late["optimal"]), paper, graphs)
    elif kind == "ignoring":
        more = gap(late[f"optimal{IGNORING}"], late["optimal"])
        yield Cell(column="min", value=float(more.min()), paper=in_paper("min"))
        yield mean_cell("mean", more, in_paper("mean"), graphs, step=0.1)
        yield Cell(column="max", value=float(more.max()), paper=in_paper("max"))
        for policy in OURS:
            if f"{policy}{IGNORING}" in late:
                yield mean_cell(HEADS[policy], gap(late[f"{policy}{IGNORING}"], late["optimal"]), None, graphs)


def standard_error(values: NDArray[np.float64]) -> float | None:
    """The standard error of a mean; of one value it is not known."""
    return float(values.std(ddof=1)) / sqrt(len(values)) if len(values) > 1 else None


def mean_cell(
    column: str, values: NDArray[np.float64], paper: float | None, num_in_paper: int, step: float = 0.01
) -> Cell:
    """A mean, beside the paper's, which is rounded to a multiple of `step`."""
    mean, error = float(values.mean()), standard_error(values)
    if paper is None or error is None:
        return Cell(column=column, value=mean, error=error, paper=paper)
    rounding = step / sqrt(12.0)
    of_paper = error * sqrt(len(values) / num_in_paper)
    off = (mean - paper) / sqrt(error**2 + of_paper**2 + rounding**2)
    return Cell(column=column, value=mean, error=error, paper=paper, off=off if isfinite(off) else None)
