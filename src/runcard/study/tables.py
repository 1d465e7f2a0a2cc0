"""The tables of the study: ours, the paper's, and how far they are apart in standard errors.

A cell is a mean over n random cities with standard deviation s, so its standard error is s/√n. The paper's number is a
mean over other cities, as many as its settings say, with the same s, and it is rounded to a step r. So they differ by

    off = (ours - paper) / √(s²/n + s²/n_paper + r²/12)

standard errors. If both are right, off is about normal: three cells in a thousand are beyond 3.
"""

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.resources import files
from itertools import product
from math import isfinite, sqrt
from typing import Any, Final, NamedTuple

import numpy as np

from runcard.mdp.arrays import Floats
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

TABLE_KINDS: Final = ("improvement", "range", "gap", "ignoring")
MANY_GRAPHS: Final = 100
"""With fewer graphs, improvements are too skewed for a standard error to mean much."""

OURS: Final = ("one-step-queueing", "one-step-mean-field", "fixed-card")
"""The policies that the paper does not have."""

_IN_PAPER: Final = {"optimal": "opt", "one-step": "osi", "one-step-queueing-printed": "osia"}
CORRELATION: Final = {0.0: "uncorrelated", 1.0: "correlated"}
"""How the columns of the paper's tables end, by the chance of a shared delay."""


@dataclass(frozen=True, kw_only=True)
class TableNumber:
    """One number of a table, in percent."""

    column: str
    value: float
    error: float | None = None
    """Its standard error, for a mean."""
    paper: float | None = None
    off: float | None = None
    """By how many standard errors it differs from the paper's, if the two should agree."""


class TableLine(NamedTuple):
    """The cells of one setting, with or without correlation."""

    setting: Setting
    shared_delay: float
    cells: tuple[TableNumber, ...]


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """How many cells can be compared with the paper's, and how many are within 3 and 4 standard errors."""

    num_cells: int
    within_3: int
    within_4: int
    farthest: float

    @property
    def words(self) -> str:
        """The agreement in a sentence."""
        if self.num_cells == 0:
            return "The paper's numbers are not known to us."
        return (
            f"{self.within_3} of {self.num_cells} cells are within 3 standard errors of the paper's, "
            f"{self.within_4} within 4; the farthest is {self.farthest:.1f} off."
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class ExperimentResult:
    """What a study has found for an experiment: its rows, as an array for each column (see `tasks.Row`)."""

    experiment: Experiment
    seed: int
    rows: dict[str, Any]

    @property
    def num_graphs(self) -> int:
        """The random graphs of each setting."""
        return 1 + int(self.rows["graph"].max()) if "graph" in self.rows else self.experiment.graphs

    @property
    def is_table(self) -> bool:
        """Whether it is a table; otherwise it is a figure."""
        return self.experiment.kind in TABLE_KINDS

    @cached_property
    def lines(self) -> tuple[TableLine, ...]:
        """The lines of the table; none if it is a figure."""
        known = None if self.experiment.known is None else read_paper(self.experiment.known)
        places = product(self.experiment.settings, self.experiment.shared_delays) if self.is_table else ()
        return tuple(TableLine(*place, tuple(_cells(self.experiment, self.rows, *place, known))) for place in places)

    @property
    def columns(self) -> tuple[str, ...]:
        """The heads of the columns of the table."""
        return tuple(cell.column for cell in self.lines[0].cells)

    @property
    def agreement(self) -> Agreement:
        """How well the table agrees with the paper's."""
        return agreement_of([self])

    @property
    def words(self) -> str:
        """How well the table agrees with the paper's, in a sentence or two."""
        if self.experiment.known is not None and self.num_graphs == 1:
            return "With one graph there is no standard error, so that nothing can be compared with the paper's."
        rough = f" With {self.num_graphs} graphs the standard errors are rough: take {MANY_GRAPHS} or more to judge."
        return self.agreement.words + (rough if self.agreement.num_cells and self.num_graphs < MANY_GRAPHS else "")

    @property
    def num_open(self) -> int:
        """The rows whose bounds did not come as close as they should."""
        return 0 if "converged" not in self.rows else int((~self.rows["converged"]).sum())


def agreement_of(results: Iterable[ExperimentResult]) -> Agreement:
    """How well all tables together agree with the paper's."""
    cells = [cell for result in results for line in result.lines for cell in line.cells]
    off = [abs(cell.off) for cell in cells if cell.off is not None]
    within_3, within_4 = (sum(one <= most for one in off) for most in (3.0, 4.0))
    return Agreement(num_cells=len(off), within_3=within_3, within_4=within_4, farthest=max(off, default=0.0))


def late_fractions(rows: dict[str, Any], setting: Setting, shared_delay: float, policy: str) -> Floats:
    """[graphs] the late fractions of a policy in a setting, by number of the graph."""
    wanted = setting._asdict() | {"shared_delay": shared_delay, "policy": policy}
    chosen = np.logical_and.reduce([rows[name] == value for name, value in wanted.items()])
    late: Floats = np.asarray(rows["late_fraction"][chosen], np.float64)
    return late[np.argsort(rows["graph"][chosen])]


def read_paper(name: str) -> dict[tuple[int, float | None], dict[str, str]]:
    """The rows of one of the paper's tables, by number of trucks and load."""
    text = (files("runcard.study") / "paper" / name).read_text("utf-8")
    return {
        (int(row["trucks"]), float(row["load"]) if "load" in row else None): row
        for row in csv.DictReader(text.splitlines())
    }


def improvement(late: Floats, closest_first: Floats) -> Floats:
    """[graphs] δ in percent. Where nothing is ever late, nothing can be improved."""
    return np.where(closest_first > 0.0, 100.0 * (1.0 - late / np.maximum(closest_first, 1e-300)), 0.0)


def gap(late: Floats, optimal: Floats) -> Floats:
    """[graphs] the gap to the optimum in percent."""
    return np.where(late == optimal, 0.0, 100.0 * (late / np.maximum(optimal, 1e-300) - 1.0))


def _cells(
    experiment: Experiment, rows: dict[str, Any], setting: Setting, shared_delay: float, known: Any
) -> Iterator[TableNumber]:
    """The cells of a line."""
    kind, graphs = experiment.kind, experiment.graphs
    printed = {} if known is None else known[setting.trucks, None if kind == "ignoring" else setting.load]
    side, ending = CORRELATION.get(shared_delay, ""), IGNORING if kind == "ignoring" else ""
    late = {policy: late_fractions(rows, setting, shared_delay, policy) for policy in experiment.policies}
    base, compared = ("closest-first", improvement) if kind in ("improvement", "range") else ("optimal", gap)

    def in_paper(column: str) -> float | None:
        return float(printed[column]) if column in printed else None

    policies = experiment.policies
    if kind == "improvement":
        percent = 100.0 * late["closest-first"]
        yield replace(mean_cell("CF late", percent, in_paper(f"flar_cf_{side}"), graphs), off=None)
    elif kind in ("range", "ignoring"):
        values, who, policies = compared(late[f"optimal{ending}"], late[base]), "" if ending else "OPT ", OURS
        yield TableNumber(column=f"{who}min", value=float(values.min()), paper=in_paper("min"))
        yield mean_cell(f"{who}mean", values, in_paper("mean"), graphs, step=0.1)
        yield TableNumber(column=f"{who}max", value=float(values.max()), paper=in_paper("max"))
    for policy in policies:
        if policy != base and f"{policy}{ending}" in late:
            paper = in_paper(f"{'delta_' if compared is improvement else ''}{_IN_PAPER.get(policy)}_{side}")
            yield mean_cell(HEADS[policy], compared(late[f"{policy}{ending}"], late[base]), paper, graphs)


def standard_error(values: Floats) -> float | None:
    """The standard error of a mean; of one value it is not known."""
    return float(values.std(ddof=1)) / sqrt(len(values)) if len(values) > 1 else None


def mean_cell(column: str, values: Floats, paper: float | None, num_in_paper: int, step: float = 0.01) -> TableNumber:
    """A mean, beside the paper's, which is rounded to a multiple of `step`."""
    mean, error = float(values.mean()), standard_error(values)
    if paper is None or error is None:
        return TableNumber(column=column, value=mean, error=error, paper=paper)
    rounding = step / sqrt(12.0)
    of_paper = error * sqrt(len(values) / num_in_paper)
    off = (mean - paper) / sqrt(error**2 + of_paper**2 + rounding**2)
    return TableNumber(column=column, value=mean, error=error, paper=paper, off=off if isfinite(off) else None)
