"""What one worker computes: the late fractions of some policies in a few random cities of one setting.

The same seed, side, number of trucks and number of the graph give the same city on every machine, whatever the load, γ
and correlation. A task takes one thread, so the numbers do not depend on how many workers there are.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from math import nan
from typing import Final, NamedTuple

import numpy as np

from runcard.city.grid import generate_grid
from runcard.city.model import City
from runcard.errors import NotConvergedError
from runcard.mdp.evaluate import evaluate_rule
from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.rows import DecisionRule, ValueRule
from runcard.policy.base import Policy
from runcard.policy.by_table import table_rule
from runcard.policy.solve import solve
from runcard.policy.warm_up import load_kernels
from runcard.study.experiment import IGNORING, Experiment, Setting

TOLERANCE: Final = 1e-8
"""The relative tolerance of the optimal policy."""

BLOCK_GRAPHS: Final = 10
MANY_GRAPHS: Final = 50
SMALL_STATES: Final = 1 << 7
"""Cities of more states are a task each."""


class LateRow(NamedTuple):
    """The late fraction of one policy in one city, and proven bounds on it."""

    side: int
    trucks: int
    load: float
    gamma: float
    graph: int
    shared_delay: float
    policy: str
    late_fraction: float
    lower: float
    upper: float
    converged: bool
    """Whether the bounds are as close as they should be; if next to nothing is late, rounding may keep them apart."""


class SecondsRow(NamedTuple):
    """How long it took to solve a policy for one city; if it decides online, with the table of every state."""

    side: int
    trucks: int
    load: float
    gamma: float
    graph: int
    shared_delay: float
    policy: str
    seconds: float


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
        return f"{self.setting.words}-graphs-{self.first}-{self.stop - 1}-{digest}"

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
    found = []
    for setting in experiment.settings:
        block = BLOCK_GRAPHS if 2**setting.trucks <= SMALL_STATES else 1
        found += [
            Task(
                setting=setting, first=first, stop=min(first + block, graphs),
                shared_delays=experiment.shared_delays, policies=experiment.policies, seed=seed, timed=timed,
            )
            for first in range(0, graphs, block)
        ]  # fmt: skip
    return found


def city_of(setting: Setting, graph: int, *, shared_delay: float, seed: int) -> City:
    """One random city."""
    state = np.random.SeedSequence([seed, setting.side, setting.trucks, graph]).generate_state(1)
    return generate_grid(
        side=setting.side, num_stations=setting.trucks, load=setting.load, gamma=setting.gamma,
        seed=int(state[0]), shared_delay=shared_delay,
    )  # fmt: skip


def solved(problem: DispatchProblem, name: str) -> Policy:
    """The policy of a name, on one thread."""
    return solve(problem, name, tolerance=TOLERANCE, threads=1)


def run_task(task: Task) -> list[LateRow] | list[SecondsRow]:
    """The rows of a task."""
    return list(_seconds_rows(task)) if task.timed else list(_late_rows(task))


def _problems(task: Task) -> Iterator[tuple[tuple[int, int, float, float, int, float], City, DispatchProblem]]:
    """Every city of a task: what its rows begin with, the city, and its problem."""
    setting = task.setting
    for graph in range(task.first, task.stop):
        for shared_delay in task.shared_delays:
            city = city_of(setting, graph, shared_delay=shared_delay, seed=task.seed)
            start = (setting.side, setting.trucks, setting.load, setting.gamma, graph, shared_delay)
            yield start, city, dispatch_problem(city, minutes=False)


def _late_rows(task: Task) -> Iterator[LateRow]:
    for start, city, problem in _problems(task):
        for name in task.policies:
            yield LateRow(*start, name, *_late(problem, city, name))


def _late(problem: DispatchProblem, city: City, name: str) -> tuple[float, float, float, bool]:
    """The late fraction of a policy, its bounds, and whether they are certain; NaN if the policy was not found."""
    try:
        policy, rule = _policy_and_rule(problem, city, name)
    except NotConvergedError:
        return nan, nan, nan, False
    found = evaluate_rule(problem, rule, threads=1)
    certain = policy.certificate is None or policy.certificate.converged
    return found.late_fraction, found.lower, found.upper, found.converged and certain


def _policy_and_rule(problem: DispatchProblem, city: City, name: str) -> tuple[Policy, DecisionRule]:
    """A policy, and the rule of what it sends in the city of the problem."""
    if not name.endswith(IGNORING):
        policy = solved(problem, name)
        return policy, policy.rule
    without = dispatch_problem(replace(city, shared_delay=0.0), minutes=False)
    policy = solved(without, name.removesuffix(IGNORING))
    rule = policy.rule
    return policy, table_rule(without, rule) if isinstance(rule, ValueRule) else rule


def _seconds_rows(task: Task) -> Iterator[SecondsRow]:
    for start, _, problem in _problems(task):
        load_kernels(problem, task.policies)
        for name in task.policies:
            began = time.perf_counter()
            _ = solved(problem, name).rule
            yield SecondsRow(*start, name, time.perf_counter() - began)
