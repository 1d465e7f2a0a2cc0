"""What one worker computes: the late fractions of some policies in a few random cities of one setting.

The same seed, side, number of trucks and number of the graph give the same city, whatever the load, γ and correlation,
and so does every machine; one thread each, so that the numbers do not depend on how many workers there are.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Final, NamedTuple

import numpy as np

from runcard.city.grid import generate_grid
from runcard.city.model import City
from runcard.mdp.evaluate import evaluate_rule
from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.rows import Rule
from runcard.policy.base import Policy
from runcard.policy.by_table import table_rule
from runcard.policy.solve import solve
from runcard.study.experiment import IGNORING, Experiment, Setting

TOLERANCE: Final = 1e-8
"""Of the optimal policy, relatively."""

BLOCK_GRAPHS: Final = 10
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
    """Whether the bounds came as close as they should; where next to nothing is late, rounding may keep them apart."""


class SecondsRow(NamedTuple):
    """How long a policy took to solve for one city; for those that decide online, with the table of every state."""

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
    """The graphs first..last-1 of a setting, and what is computed for each."""

    setting: Setting
    first: int
    last: int
    shared_delays: tuple[float, ...]
    policies: tuple[str, ...]
    seed: int
    timed: bool = False

    @property
    def key(self) -> str:
        """A name that is the same for the same work, for files."""
        rest = repr((self.shared_delays, self.policies, self.seed, self.timed)).encode()
        digest = blake2b(rest, digest_size=6).hexdigest()
        return f"{self.setting.words}-graphs-{self.first}-{self.last - 1}-{digest}"

    @property
    def weight(self) -> float:
        """About how long it takes, in relative terms, for the time that is left."""
        states, points = 2.0**self.setting.trucks, self.setting.side**2
        work = 1.0 + states * points * self.setting.trucks / 2e4
        return (self.last - self.first) * len(self.shared_delays) * len(self.policies) * work


def tasks_of(experiment: Experiment, *, num_graphs: int | None, seed: int) -> list[Task]:
    """The tasks of an experiment."""
    if experiment.kind == "map":
        return []
    timed = experiment.kind == "seconds"
    graphs = experiment.graphs if num_graphs is None or timed else num_graphs
    found = []
    for setting in experiment.settings:
        block = BLOCK_GRAPHS if 2**setting.trucks <= SMALL_STATES else 1
        found += [
            Task(
                setting=setting, first=first, last=min(first + block, graphs),
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
    return _seconds_rows(task) if task.timed else _late_rows(task)


def _late_rows(task: Task) -> list[LateRow]:
    rows = []
    for graph in range(task.first, task.last):
        for shared_delay in task.shared_delays:
            city = city_of(task.setting, graph, shared_delay=shared_delay, seed=task.seed)
            problem = dispatch_problem(city, minutes=False)
            for name in task.policies:
                policy, rule = _policy_and_rule(problem, city, name)
                found = evaluate_rule(problem, rule, threads=1)
                certain = policy.certificate is None or policy.certificate.converged
                rows.append(
                    LateRow(
                        *_place(task.setting), graph, shared_delay, name,
                        found.late_fraction, found.lower, found.upper, found.converged and certain,
                    )
                )  # fmt: skip
    return rows


def _policy_and_rule(problem: DispatchProblem, city: City, name: str) -> tuple[Policy, Rule]:
    """A policy, and the rule of what it sends in the city of the problem."""
    if name == IGNORING:
        policy = solved(dispatch_problem(replace(city, shared_delay=0.0), minutes=False), "optimal")
        return policy, table_rule(policy)
    policy = solved(problem, name)
    return policy, policy.rule


def _seconds_rows(task: Task) -> list[SecondsRow]:
    warm_up(task.policies)
    rows = []
    for graph in range(task.first, task.last):
        for shared_delay in task.shared_delays:
            problem = dispatch_problem(city_of(task.setting, graph, shared_delay=shared_delay, seed=task.seed))
            for name in task.policies:
                began = time.perf_counter()
                _ = solved(problem, name).rule
                seconds = time.perf_counter() - began
                rows.append(SecondsRow(*_place(task.setting), graph, shared_delay, name, seconds))
    return rows


def warm_up(policies: Sequence[str]) -> None:
    """Compile or load what the policies need, so that no measurement includes it."""
    problem = dispatch_problem(generate_grid(side=3, num_stations=3, load=0.1, seed=0))
    for name in policies:
        _ = solved(problem, name).rule


def _place(setting: Setting) -> tuple[int, int, float, float]:
    return setting.side, setting.trucks, setting.load, setting.gamma
