"""Compiled code made ready before a clock starts, so that a policy's seconds are those of solving it."""

from collections.abc import Sequence

from runcard.city.model import City, DemandPoint, Link, Node, Station
from runcard.mdp.cpu import cpu_backend, load_coarse_kernels
from runcard.mdp.evaluate import evaluate_rule
from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.problem import DispatchProblem
from runcard.policy.solve import solve_problem


def load_kernels(problem: DispatchProblem, names: Sequence[str]) -> None:
    """Run everything that comparing these policies of `problem` will run, once, on the smallest city there is.

    This loads the kernels from numba's cache, or compiles them: a fraction of a second, or some seconds the first time.
    """
    smallest = dispatch_problem(_smallest_city())
    for name in names:
        rule = solve_problem(smallest, name).rule
        evaluate_rule(smallest, rule)
    if cpu_backend(problem).has_coarse:
        load_coarse_kernels(smallest)


def _smallest_city() -> City:
    return City(
        name="warm-up",
        busy_minutes=60.0,
        target_minutes=1.0,
        nodes=(Node("a", 0.0, 0.0), Node("b", 1.0, 0.0)),
        links=(Link("ab", "a", "b", False, 1.0),),
        stations=(Station("s", "a", 1), Station("t", "b", 1)),
        demand=(DemandPoint("b", 1.0),),
    )
