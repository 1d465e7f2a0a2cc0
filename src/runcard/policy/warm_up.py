"""Compiled code made ready before a clock starts, so that a policy's seconds are those of solving it."""

from collections.abc import Sequence

from runcard.city.grid import generate_grid
from runcard.mdp.cpu import cpu_backend, load_coarse_kernels
from runcard.mdp.evaluate import evaluate_rule
from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.problem import DispatchProblem
from runcard.policy.solve import solve_problem


def load_kernels(problem: DispatchProblem, names: Sequence[str]) -> None:
    """Run everything that comparing these policies of `problem` will run, once, on the smallest city there is.

    This loads the kernels from numba's cache, or compiles them: a fraction of a second, or some seconds the first time.
    """
    smallest = dispatch_problem(generate_grid(side=2, num_stations=2, load=0.1, seed=1))
    for name in names:
        rule = solve_problem(smallest, name).rule
        evaluate_rule(smallest, rule)
    if cpu_backend(problem).has_coarse:
        load_coarse_kernels(smallest)
