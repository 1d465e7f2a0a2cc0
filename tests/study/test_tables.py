"""The tables of the study: means, standard errors, and the distance from the paper's."""

from itertools import product
from math import sqrt
from unittest.mock import Mock

import numpy as np
import pytest

from runcard.study.experiment import IGNORING, Experiment
from runcard.study.tables import (
    OURS,
    Agreement,
    ExperimentResult,
    TableNumber,
    agreement_of,
    gap,
    improvement,
    read_paper,
)

LATE = {
    "closest-first": [0.10, 0.20, 0.40],
    "optimal": [0.09, 0.16, 0.30],
    "one-step-queueing-printed": [0.10, 0.18, 0.31],
}


def rows_of(late: dict[str, list[float]], *, shared_delay: float = 0.0) -> dict[str, np.ndarray]:
    """Rows of one setting: side 6, 4 trucks, load 0.1."""
    policies = [policy for policy, values in late.items() for _ in values]
    count = len(policies)
    return {
        "side": np.full(count, 6), "trucks": np.full(count, 4), "load": np.full(count, 0.1),
        "gamma": np.full(count, 0.6), "graph": np.array([n for values in late.values() for n in range(len(values))]),
        "shared_delay": np.full(count, shared_delay), "policy": np.array(policies, object),
        "late_fraction": np.array([value for values in late.values() for value in values]),
    }  # fmt: skip


def experiment(kind: str, known: str | None, *policies: str) -> Experiment:
    """An experiment of that one setting."""
    return Experiment(
        name="e", title="t", paper="p", kind=kind, sides=(6,), trucks=(4,), loads=(0.1,), shared_delays=(0.0,),
        graphs=150, policies=policies, known=known,
    )  # fmt: skip


def table_of(one: Experiment, rows: dict[str, np.ndarray]) -> ExperimentResult:
    """The table of an experiment."""
    return ExperimentResult(experiment=one, seed=1, rows=rows)


def test_improvements_by_hand() -> None:
    """δ is the mean of 1 - late/CF, with the standard error of a mean, beside the paper's number of that cell."""
    found = table_of(experiment("improvement", "table3_mean_performance.csv", *LATE), rows_of(LATE))
    (line,) = found.lines
    late, optimal, printed = line.cells
    assert late.value == pytest.approx(100 * 0.7 / 3)
    assert late.paper == 0.47
    assert late.off is None
    deltas = np.array([10.0, 20.0, 25.0])
    assert optimal.value == pytest.approx(deltas.mean())
    assert optimal.error == pytest.approx(deltas.std(ddof=1) / sqrt(3))
    assert (optimal.paper, printed.paper) == (11.02, 10.45)
    spread = deltas.std(ddof=1)
    assert optimal.off == pytest.approx((deltas.mean() - 11.02) / sqrt(spread**2 / 3 + spread**2 / 150 + 1e-4 / 12))


def test_gaps_by_hand() -> None:
    """The gap is the mean of late/OPT - 1, and the optimal policy has no column of its own."""
    found = table_of(experiment("gap", "table4_optimality_gap.csv", *LATE), rows_of(LATE))
    assert found.columns == ("CF", "OSIA as printed")
    assert found.lines[0].cells[1].value == pytest.approx(100 * np.mean([10 / 9, 18 / 16, 31 / 30]) - 100)
    assert found.lines[0].cells[1].paper == 0.66


def test_agreement_counts_cells() -> None:
    """Cells with a number of the paper are counted by how far they are off."""
    line = table_of(experiment("gap", "table4_optimality_gap.csv", *LATE), rows_of(LATE)).lines[0]
    offs = (0.5, -2.9, 3.5, -4.5)
    cells = (*(TableNumber(column="c", value=0.0, off=off) for off in offs), TableNumber(column="d", value=0.0))
    one = experiment("gap", None, *LATE)
    found = agreement_of([Mock(lines=(line._replace(cells=cells),))])
    assert found == Agreement(num_cells=4, within_3=2, within_4=3, farthest=4.5)
    unknown = table_of(one, rows_of(LATE)).agreement
    assert (unknown.num_cells, unknown.words) == (0, "The paper's numbers are not known to us.")


def test_ignoring_correlation_by_hand() -> None:
    """The increase over the optimum, smallest, mean and largest; only the mean has an error and a distance."""
    late = {"optimal": [0.1, 0.2, 0.3], f"optimal{IGNORING}": [0.1, 0.21, 0.33]}
    found = table_of(experiment("ignoring", "table2_ignoring_correlation.csv", *late), rows_of(late))
    smallest, mean, largest = found.lines[0].cells
    assert [cell.value for cell in (smallest, mean, largest)] == pytest.approx([0.0, 5.0, 10.0])
    assert [cell.paper for cell in (smallest, mean, largest)] == [0.2, 2.8, 12.2]
    assert smallest.off is largest.off is None
    spread = 5.0
    assert mean.off == pytest.approx((5.0 - 2.8) / sqrt(spread**2 / 3 + spread**2 / 150 + 1e-2 / 12))


def test_ranges_by_hand() -> None:
    """The smallest, mean and largest improvement of the optimal policy, and the means of ours."""
    late = {
        name: LATE["closest-first"] if name == "closest-first" else LATE["optimal"]
        for name in ("closest-first", "optimal", *OURS)
    }
    found = table_of(experiment("range", None, *late), rows_of(late))
    assert [cell.value for cell in found.lines[0].cells[:3]] == pytest.approx([10.0, 55.0 / 3, 25.0])
    assert found.columns[3:] == ("OSIA corrected", "mean field", "fixed card")


def test_one_graph_has_no_standard_error() -> None:
    """With one graph there is a number, but neither an error nor a distance."""
    one = {policy: values[:1] for policy, values in LATE.items()}
    cell = table_of(experiment("gap", "table4_optimality_gap.csv", *LATE), rows_of(one)).lines[0].cells[1]
    assert cell.error is None
    assert cell.off is None
    assert cell.paper == 0.66


def test_where_nothing_is_late() -> None:
    """A city without late incidents has nothing to improve, and no gap."""
    nothing = np.zeros(2)
    assert improvement(nothing, nothing).tolist() == gap(nothing, nothing).tolist() == [0.0, 0.0]


def test_the_tables_of_the_paper_are_whole() -> None:
    """Each known table has a row for every number of trucks, and every load."""
    trucks, loads = (3, 4, 5, 6), (0.02, 0.04, 0.1, 0.4, 0.6)
    assert len(read_paper("table2_ignoring_correlation.csv")) == len(trucks)
    for name in ("table3_mean_performance.csv", "table4_optimality_gap.csv"):
        assert set(read_paper(name)) == set(product(trucks, loads))
