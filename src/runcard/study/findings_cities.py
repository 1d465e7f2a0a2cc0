"""Findings on the random cities: which sparseness and rates the paper's tables have, and its late fractions.

The first two are decided by the mean improvement δ of the optimal policy without correlation, beside that of Table 3,
in standard errors (see `tables`). For the third, let r be our late fraction of closest-first divided by the paper's, in
each cell of Table 3. Its standard error e comes from the sampling of both and the rounding of the paper's. If one
factor is behind all cells, it is about c = Σ r e^-2 / Σ e^-2, and each r is within a few e of it.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import sqrt
from typing import Final

import numpy as np

from runcard.city.grid import generate_grid
from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.problem import DispatchProblem
from runcard.study.evidence import (
    FAR,
    FAR_OF_MANY,
    STEP,
    TABLE_3,
    Evidence,
    Graphs,
    late,
    num_in_paper,
    setting_of,
)
from runcard.study.experiment import Setting, experiment_named
from runcard.study.tables import CORRELATION, improvement, mean_cell, read_paper, standard_error
from runcard.study.tasks import city_of, solved

CELLS: Final = tuple((trucks, load) for trucks in (3, 4, 5, 6) for load in (0.02, 0.1))
WEIGHTS: Final = ("U(0, 1)", "equal", "exponential")
"""How the rates of the demand points are drawn, before they are scaled to the load."""


def derive_sparseness(graphs: Graphs) -> Evidence:
    """The evidence for finding 2."""
    heads, rows, (kept, removed) = _beside_paper(graphs, late_of_sparseness, ("s is kept", "s is removed"))
    return Evidence(
        heads=heads,
        rows=rows,
        notes=(
            f"Mean δ of OPT in percent over {graphs.num} graphs, and how many standard errors it is off the paper's.",
            f"As the part kept, s is at most {kept:.1f} off; as the part removed, {removed:.1f}.",
        ),
        holds=kept <= FAR < removed,
    )


def late_of_sparseness(setting: Setting, *, graph: int, seed: int) -> list[float]:
    """The late fractions of closest-first and the optimum where s ~ U(0.4, 1) of the links are kept; then removed."""
    rng = np.random.default_rng([seed, setting.side, setting.trucks, graph])
    kept = city_of(setting, graph, shared_delay=0.0, seed=seed)
    removed = generate_grid(
        side=setting.side, num_stations=setting.trucks, load=setting.load, gamma=setting.gamma, shared_delay=0.0,
        seed=int(rng.integers(1 << 31)), sparseness=1.0 - rng.uniform(0.4, 1.0),
    )  # fmt: skip
    return [chance for city in (kept, removed) for chance in _late_pair(dispatch_problem(city, minutes=False))]


def derive_rates(graphs: Graphs) -> Evidence:
    """The evidence for finding 3."""
    heads, rows, farthest = _beside_paper(graphs, late_of_weights, WEIGHTS)
    num_agree = sum(off <= FAR for off in farthest)
    return Evidence(
        heads=heads,
        rows=rows,
        notes=(
            f"Mean δ of OPT in percent over the same {graphs.num} graphs, and how many standard errors it is off.",
            f"Rates from U(0, 1) are at most {farthest[0]:.1f} off, equal ones {farthest[1]:.1f}, exponential ones "
            f"{farthest[2]:.1f}: {num_agree} of {len(WEIGHTS)} agree"
            + (", so the tables do not tell which of them it is." if num_agree > 1 else "."),
        ),
        holds=farthest[0] <= FAR,
    )


def late_of_weights(setting: Setting, *, graph: int, seed: int) -> list[float]:
    """The late fractions of closest-first and the optimum in one city, for rates of each kind in turn."""
    problem = dispatch_problem(city_of(setting, graph, shared_delay=0.0, seed=seed), minutes=False)
    rng, num = np.random.default_rng([seed, setting.side, setting.trucks, graph]), problem.num_points
    found = []
    for weights in (problem.incidents_per_day, np.ones(num), rng.exponential(size=num)):
        rates = weights * (problem.total_incidents_per_day / weights.sum())
        found += _late_pair(replace(problem, incidents_per_day=rates))
    return found


def derive_late_fractions(graphs: Graphs) -> Evidence:
    """The evidence for finding 7."""
    experiment, paper = experiment_named("table3"), read_paper(TABLE_3)
    cells = [(setting, shared_delay) for setting in experiment.settings for shared_delay in CORRELATION]
    percent = 100.0 * graphs.measure(closest_first, cells)[..., 0]
    printed = np.array([float(paper[one.trucks, one.load][f"flar_cf_{CORRELATION[delay]}"]) for one, delay in cells])
    mean = percent.mean(axis=1)
    sampling = np.array([standard_error(values) for values in percent], np.float64) * sqrt(
        1.0 + graphs.num / num_in_paper()
    )
    ratio = mean / printed
    error = ratio * np.hypot(sampling / mean, STEP / sqrt(12.0) / printed)
    factor = float((ratio / error**2).sum() / (1.0 / error**2).sum())
    farthest = float(np.abs((ratio - factor) / error).max())
    rows = [
        (str(trucks), kind, *(f"{ratio[n]:.1f} ± {error[n]:.1f}" for n, (one, delay) in enumerate(cells)
                              if one.trucks == trucks and CORRELATION[delay] == kind))
        for trucks in experiment.trucks for kind in CORRELATION.values()
    ]  # fmt: skip
    crowded = dispatch_problem(city_of(setting_of(3, 0.6), 0, shared_delay=0.0, seed=graphs.seed), minutes=False)
    none_idle, outside = float(crowded.levels.idle_distribution[0]), float(crowded.cost[0].min())
    in_paper = float(paper[3, 0.6]["flar_cf_uncorrelated"])
    return Evidence(
        heads=("trucks", "delays", *(f"load {load:g}" for load in experiment.loads)),
        rows=tuple(rows),
        notes=(
            f"Mean late fraction of closest-first over {graphs.num} graphs, divided by the paper's.",
            f"One factor for all {len(cells)} would be {factor:.1f}; none is over {farthest:.1f} standard errors off.",
            f"With 3 trucks at load 0.6 no truck is idle {100 * none_idle:.1f} % of the time, under every policy, and "
            f"trucks from outside are late with chance {outside:.3f} (in the first graph). So at least "
            f"{100 * none_idle * outside:.1f} % are late, where the paper has {in_paper:g} %.",
        ),
        holds=15.0 < factor < 18.0 and farthest <= FAR_OF_MANY and 100.0 * none_idle * outside > in_paper,
    )


def closest_first(setting: Setting, shared_delay: float, *, graph: int, seed: int) -> list[float]:
    """The late fraction of closest-first."""
    city = city_of(setting, graph, shared_delay=shared_delay, seed=seed)
    return [late(solved(dispatch_problem(city, minutes=False), "closest-first"))]


def _late_pair(problem: DispatchProblem) -> list[float]:
    return [late(solved(problem, name)) for name in ("closest-first", "optimal")]


def _beside_paper(
    graphs: Graphs, late_pairs: Callable[..., list[float]], readings: Sequence[str]
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...], list[float]]:
    """Heads, a row of words for each of `CELLS`, and by how many standard errors each reading is off at most.

    `late_pairs` gives the late fractions of closest-first and the optimum for each reading in turn.
    """
    found = graphs.measure(late_pairs, [(setting_of(*cell),) for cell in CELLS]).reshape(len(CELLS), graphs.num, -1, 2)
    rows, off = [], []
    for (trucks, load), late_fractions in zip(CELLS, found, strict=True):
        paper = float(read_paper(TABLE_3)[trucks, load]["delta_opt_uncorrelated"])
        deltas = improvement(late_fractions[..., 1], late_fractions[..., 0]).T
        cells = [mean_cell("OPT", delta, paper, num_in_paper()) for delta in deltas]
        words = [word for one in cells for word in (f"{one.value:.2f} ± {one.error:.2f}", f"{one.off:+.1f}")]
        rows.append((str(trucks), f"{load:g}", f"{paper:.2f}", *words))
        off.append([abs(cell.off or 0.0) for cell in cells])
    heads = ("trucks", "load", "paper", *(head for reading in readings for head in (reading, "off")))
    return heads, tuple(rows), np.max(off, axis=0).tolist()
