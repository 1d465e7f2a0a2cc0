"""What one worker computes."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from runcard import dispatch_problem, evaluate, solve_problem
from runcard.errors import NotConvergedError
from runcard.policy.base import Policy
from runcard.study.experiment import IGNORING, Setting, experiment_named
from runcard.study.tasks import Task, city_of, run_task, tasks_of

SMALL = Setting(side=4, trucks=3, load=0.1, gamma=0.6)


def task(*policies: str, setting: Setting = SMALL, seed: int = 1, timed: bool = False) -> Task:
    """A task of two graphs with correlation."""
    return Task(
        setting=setting, first=0, stop=2, shared_delays=(1.0,), policies=policies, seed=seed, timed=timed
    )  # fmt: skip


def test_rows_are_what_solving_and_evaluating_gives() -> None:
    """The late fractions of a task are those of the public functions on the same cities."""
    rows = run_task(task("closest-first", "optimal"))
    assert len(rows) == 4
    for row in rows:
        problem = dispatch_problem(city_of(SMALL, row["graph"], shared_delay=1.0, seed=1))
        expected = evaluate(solve_problem(problem, row["policy"])).late_fraction
        assert row["late_fraction"] == pytest.approx(expected, rel=1e-7)
        assert row["lower"] <= row["late_fraction"] <= row["upper"]
        assert row["converged"]


def test_the_same_graph_for_every_load_and_correlation() -> None:
    """Loads, targets and correlation change neither the links nor the stations; another graph or seed does."""
    other = Setting(side=4, trucks=3, load=0.4, gamma=0.9)
    one = city_of(SMALL, 5, shared_delay=1.0, seed=1)
    same = city_of(other, 5, shared_delay=0.0, seed=1)
    assert (one.links, one.stations) == (same.links, same.stations)
    assert city_of(SMALL, 6, shared_delay=1.0, seed=1).links != one.links
    assert city_of(SMALL, 5, shared_delay=1.0, seed=2).links != one.links


def test_ignoring_correlation_is_never_better() -> None:
    """The optimal policy of the city without correlation, used with it, is late at least as often as the optimum."""
    setting = Setting(side=5, trucks=4, load=0.1, gamma=0.6)
    names = [f"{name}{IGNORING}" for name in ("optimal", "one-step-mean-field", "fixed-card")]
    rows = run_task(task("optimal", *names, setting=setting))
    late = {(row["graph"], row["policy"]): row["late_fraction"] for row in rows}
    for name in names:
        more = [late[graph, name] / late[graph, "optimal"] - 1.0 for graph in range(2)]
        assert min(more) >= -1e-7
        assert max(more) > 1e-4


def test_a_policy_that_is_not_found_is_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """A policy without a fixed point has a row without a number, which says that it did not converge."""

    def fails(*_: object, **__: object) -> None:
        raise NotConvergedError("no fixed point")

    monkeypatch.setattr("runcard.study.tasks.solve_problem", fails)
    rows = run_task(task("one-step-queueing-printed"))
    assert all(np.isnan(row["late_fraction"]) and not row["converged"] for row in rows)


def test_a_policy_that_is_not_solved_to_its_tolerance_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """However exactly it is evaluated, it may not be the policy that it is called."""

    def vague(*given: Any, **options: Any) -> Policy:
        policy: Any = solve_problem(*given, **options)
        return replace(policy, certificate=replace(policy.certificate, converged=False))

    monkeypatch.setattr("runcard.study.tasks.solve_problem", vague)
    assert not any(row["converged"] for row in run_task(task("optimal")))


def test_seconds_are_measured() -> None:
    """A timed task has the seconds of each policy and nothing else."""
    rows = run_task(task("optimal", timed=True))
    assert all(0.0 < row["seconds"] < 10.0 and "late_fraction" not in row for row in rows)


def test_keys_tell_tasks_apart() -> None:
    """Whatever changes what a task computes changes its key."""
    other = Setting(side=4, trucks=3, load=0.2, gamma=0.6)
    keys = {
        one.key
        for one in (task("optimal"), task("one-step"), task("optimal", seed=2), task("optimal", setting=other),
                    task("optimal", timed=True))
    }  # fmt: skip
    assert len(keys) == 5


def test_tasks_cover_every_graph_once() -> None:
    """The blocks of an experiment are all graphs of all settings, also when their number is no multiple of a block."""
    experiment = experiment_named("table3")
    for num_graphs, expected in ((None, 150), (25, 25), (1, 1)):
        tasks = tasks_of(experiment, num_graphs=num_graphs, seed=1)
        graphs = [(one.setting, graph) for one in tasks for graph in range(one.first, one.stop)]
        assert len(graphs) == len(set(graphs)) == expected * len(experiment.settings)
    assert tasks_of(experiment_named("figure-map"), num_graphs=None, seed=1) == []


def test_experiments_of_a_few_graphs_keep_to_them() -> None:
    """More graphs are for the tables; a figure that draws four, or a table of large cities, takes at most its own."""
    for name in ("larger", "figure-load"):
        experiment = experiment_named(name)
        assert tasks_of(experiment, num_graphs=200, seed=1) == tasks_of(experiment, num_graphs=None, seed=1)
        fewer = tasks_of(experiment, num_graphs=2, seed=1)
        assert max(one.stop for one in fewer) == 2


def test_weights_grow_with_the_work() -> None:
    """A task of more trucks weighs more, so that the time that is left is not far off."""
    weights = [task("optimal", setting=Setting(side=10, trucks=n, load=0.1, gamma=0.6)).weight for n in (3, 8, 16)]
    assert (np.diff(weights) > 0.0).all()
