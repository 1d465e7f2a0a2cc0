"""What a derivation of a finding works with, and the evidence that it gives.

The share of the optimum's gain that a policy keeps is δ/δ_OPT. Both are means over random cities, as in the tables of
the paper. With d = δ - share × δ_OPT in each city, the standard error of the share is that of the mean of d, divided by
δ_OPT. The paper's share is of other cities with the same spread, and its two means are rounded to a step r. So they
differ by

    off = (ours - paper) / √(error² (1 + n/n_paper) + (1 + paper²) (r/δ_OPT)²/12)

standard errors.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from math import sqrt
from typing import Any, Final, NamedTuple

import numpy as np
from joblib import Parallel, delayed

from runcard.errors import InputError
from runcard.mdp.arrays import Floats
from runcard.policy.base import Policy
from runcard.policy.solve import evaluate
from runcard.study.experiment import Setting, experiment_named
from runcard.study.tables import CORRELATION, read_paper, standard_error

TABLE_3: Final = "table3_mean_performance.csv"
TABLE_4: Final = "table4_optimality_gap.csv"
STEP: Final = 0.01
"""Percent: the numbers of both tables are rounded to this."""

FAR: Final = 3.0
"""Standard errors; a number that is farther off does not agree."""
FAR_OF_MANY: Final = 4.0
"""The same for the farthest cell of a whole table."""


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """A small table, what it says in sentences, and whether it supports the finding."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]
    holds: bool

    @property
    def lines(self) -> tuple[str, ...]:
        """The table with its columns under each other, then the sentences."""
        table = (self.heads, *self.rows)
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        aligned = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in table]
        return (*aligned, *self.notes)


@dataclass(frozen=True, kw_only=True)
class Graphs:
    """The random graphs of a derivation: how many, from which seed, and by how many workers; they check themselves."""

    num: int
    seed: int = 1
    jobs: int = 1

    def __post_init__(self) -> None:
        """Raise an InputError where there are too few for a standard error."""
        if self.num < 2:
            raise InputError(f"expected at least 2 graphs for a finding, got {self.num}")

    def measure(self, what: Callable[..., list[float]], cells: Sequence[tuple[Any, ...]]) -> Floats:
        """[cells, graphs, numbers] what(*cell, graph=, seed=) of every cell and graph; it does not depend on `jobs`."""
        calls = [delayed(what)(*cell, graph=graph, seed=self.seed) for cell in cells for graph in range(self.num)]
        return np.array(Parallel(n_jobs=self.jobs)(calls)).reshape(len(cells), self.num, -1)


class Share(NamedTuple):
    """The share of the optimum's gain that a policy keeps, and its standard error."""

    value: float
    error: float

    @property
    def words(self) -> str:
        """The share in percent."""
        return f"{100 * self.value:.1f} ± {100 * self.error:.1f}"


@cache
def setting_of(trucks: int, load: float) -> Setting:
    """A setting of Table 3."""
    return next(one for one in experiment_named("table3").settings if (one.trucks, one.load) == (trucks, load))


def num_in_paper() -> int:
    """The random graphs behind each number of Table 3."""
    return experiment_named("table3").graphs


def late(policy: Policy) -> float:
    """The late fraction of a policy."""
    return evaluate(policy, threads=1).late_fraction


def share_kept(gain: Floats, best: Floats) -> Share:
    """The share of a policy with improvements `gain` [graphs], the optimum's being `best` [graphs]."""
    total = float(best.mean())
    if total <= 0.0:
        raise InputError("expected graphs in which the optimum gains something; take more of them")
    share = float(gain.mean()) / total
    error = standard_error(gain - share * best)
    assert error is not None
    return Share(value=share, error=error / total)


def share_in_paper(trucks: int, load: float, shared_delay: float) -> float:
    """The share that OSIA keeps by Table 3."""
    row, kind = read_paper(TABLE_3)[trucks, load], CORRELATION[shared_delay]
    return float(row[f"delta_osia_{kind}"]) / float(row[f"delta_opt_{kind}"])


def off_paper(share: Share, trucks: int, load: float, shared_delay: float, num_graphs: int) -> float:
    """By how many standard errors a share of OSIA differs from that of Table 3."""
    paper = share_in_paper(trucks, load, shared_delay)
    best = float(read_paper(TABLE_3)[trucks, load][f"delta_opt_{CORRELATION[shared_delay]}"])
    rounding = STEP / best * sqrt((1.0 + paper**2) / 12.0)
    return (share.value - paper) / sqrt(share.error**2 * (1.0 + num_graphs / num_in_paper()) + rounding**2)
