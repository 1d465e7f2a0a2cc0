"""What one worker computes: the late fractions of some policies in a few random cities of one setting.

The same seed, side, number of trucks and number of the graph give the same city on every machine, whatever the load, γ
and correlation. A task takes one thread, so the numbers do not depend on how many workers there are.
"""

import time
from dataclasses import dataclass, replace
from hashlib import blake2b
from math import nan
from typing import Any, Final

import numpy as np

from runcard.city.grid import generate_grid
from runcard.city.model import City
from runcard.errors import NotConvergedError
from runcard.mdp.evaluate import evaluate_rule
from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.rows import ValueRule
from runcard.policy.base import Policy
from runcard.policy.by_table import table_rule
from runcard.policy.solve import solve_problem
from runcard.policy.warm_up import load_kernels
from runcard.study.experiment import IGNORING, Experiment, Setting

TOLERANCE: Final = 1e-8
"""The relative tolerance of the optimal policy."""

BLOCK_GRAPHS: Final = 10
MANY_GRAPHS: Final = 50
SMALL_TRUCKS: Final = 7
"""A city of more trucks is a task of its own."""


Row = dict[str, Any]
"""One city and policy: the setting, `graph`, `shared_delay`, `policy`, and `seconds` in a timed task, otherwise
`late_fraction` with its proven bounds `lower` and `upper`, and `converged`: whether the bounds are as close as they
should be. If next to nothing is late, rounding may keep them apart.
"""


@dataclass(frozen=True, kw_only=True)
class Task:
    """The graphs first to stop - 1 of a setting, and what is computed for each."""

    setting: Setting
    first: int
    stop: int
    shared_delays: tuple[float, ...]
    policies: tuple[str, ...]
    seed: int
    timed: bool = False

    @property
    def key(self) -> str:
        """A name that is the same for the same work, for files."""
        digest = blake2b(repr((self, TOLERANCE)).encode(), digest_size=6).hexdigest()
        words = "-".join(f"{name}-{value:g}" for name, value in self.setting._asdict().items())
        return f"{words}-graphs-{self.first}-{self.stop - 1}-{digest}"

    @property
    def weight(self) -> float:
        """About how long it takes, beside other tasks; for the time that is left."""
        states, points = 2.0**self.setting.trucks, self.setting.side**2
        work = 1.0 + states * points * self.setting.trucks / 2e4
        return (self.stop - self.first) * len(self.shared_delays) * len(self.policies) * work


def tasks_of(experiment: Experiment, *, num_graphs: int | None, seed: int) -> list[Task]:
    """The tasks of an experiment, with its own number of graphs or another one that is given.

    Experiments of few graphs, because they are large or draw each graph, never take more than their own number.
    """
    if experiment.kind == "map":
        return []
    timed, graphs = experiment.kind == "seconds", experiment.graphs
    if num_graphs is not None and not timed:
        graphs = num_graphs if graphs >= MANY_GRAPHS else min(num_graphs, graphs)
    return [
        Task(
            setting=setting, first=first, stop=min(first + block, graphs),
            shared_delays=experiment.shared_delays, policies=experiment.policies, seed=seed, timed=timed,
        )
        for setting in experiment.settings
        for block in [BLOCK_GRAPHS if setting.trucks <= SMALL_TRUCKS else 1]
        for first in range(0, graphs, block)
    ]  # fmt: skip


def city_of(setting: Setting, graph: int, *, shared_delay: float, seed: int) -> City:
    """One random city."""
    state = np.random.SeedSequence([seed, setting.side, setting.trucks, graph]).generate_state(1)
    side, trucks, load, gamma = setting
    return generate_grid(
        side=side, num_stations=trucks, load=load, gamma=gamma, seed=int(state[0]), shared_delay=shared_delay
    )


def solved(problem: DispatchProblem, name: str) -> Policy:
    """The policy of a name, on one thread."""
    return solve_problem(problem, name, tolerance=TOLERANCE, threads=1)


def run_task(task: Task) -> list[Row]:
    """The rows of a task."""
    rows, setting = [], task.setting
    for graph in range(task.first, task.stop):
        for shared_delay in task.shared_delays:
            city = city_of(setting, graph, shared_delay=shared_delay, seed=task.seed)
            problem = dispatch_problem(city, minutes=False)
            if task.timed:
                load_kernels(problem, task.policies)
            for name in task.policies:
                found = _seconds(problem, name) if task.timed else _late(problem, city, name)
                rows.append(setting._asdict() | {"graph": graph, "shared_delay": shared_delay, "policy": name} | found)
    return rows


def _seconds(problem: DispatchProblem, name: str) -> Row:
    """How long it takes to solve a policy; if it decides online, with the table of every state."""
    began = time.perf_counter()
    _ = solved(problem, name).rule
    return {"seconds": time.perf_counter() - began}


def _late(problem: DispatchProblem, city: City, name: str) -> Row:
    """The late fraction of a policy and its bounds; NaN if the policy was not found."""
    ignoring = name.endswith(IGNORING)
    own = dispatch_problem(replace(city, shared_delay=0.0), minutes=False) if ignoring else problem
    try:
        policy = solved(own, name.removesuffix(IGNORING))
        rule = policy.rule
        if ignoring and isinstance(rule, ValueRule):
            rule = table_rule(own, rule)
    except NotConvergedError:
        return {"late_fraction": nan, "lower": nan, "upper": nan, "converged": False}
    found = evaluate_rule(problem, rule, threads=1)
    certain = policy.certificate is None or policy.certificate.converged
    numbers = {name: float(getattr(found, name)) for name in ("late_fraction", "lower", "upper")}
    return numbers | {"converged": bool(found.converged and certain)}
