"""Which fire trucks to send: optimal, state-dependent dispatch under shared traffic delays.

    city = runcard.read_city("my-city")            # or generate_grid(...)
    problem = runcard.dispatch_problem(city)       # P(late) of every team, as arrays
    policy = runcard.solve_problem(problem, "optimal")     # with certified bounds on its late fraction
    runcard.evaluate(policy).late_fraction
    policy.decide(idle, point).team

A city with several kinds of units has a problem for each, and a department for all of them:

    department = runcard.solve(runcard.demo_city())
    department.decide({"E01", "E02", "T01"}, "old-d2", "fire").units

Names are loaded when they are first used: importing this package compiles nothing and takes a few milliseconds.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "City": "runcard.city.model",
    "Decision": "runcard.policy.base",
    "DispatchProblem": "runcard.mdp.problem",
    "Evaluation": "runcard.mdp.evaluate",
    "Plan": "runcard.plan.plan",
    "Policy": "runcard.policy.base",
    "RuncardError": "runcard.errors",
    "Scenario": "runcard.simulate.scenario",
    "Simulation": "runcard.simulate.result",
    "compare_department": "runcard.outputs.department_comparison",
    "demo_city": "runcard.city.demo",
    "dispatch_problem": "runcard.mdp.from_city",
    "evaluate": "runcard.policy.solve",
    "generate_grid": "runcard.city.grid",
    "load": "runcard.plan.file",
    "read_city": "runcard.city.files",
    "read_scenario": "runcard.simulate.scenario",
    "response_table": "runcard.response.table",
    "simulate_plans": "runcard.simulate.department",
    "simulate_policies": "runcard.simulate.engine",
    "solve": "runcard.plan.plan",
    "solve_problem": "runcard.policy.solve",
    "write_city": "runcard.city.files",
}

_NEED_EXTRAS = {"DispatchEnv": "runcard.simulate.environment"}
"""Not among `__all__`: `from runcard import *` has to do without the packages that these need."""

__version__ = "0.2.0"
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """The public name, from the module where it lives."""
    home = _HOMES.get(name) or _NEED_EXTRAS.get(name)
    if home is not None:
        return getattr(import_module(home), name)
    raise AttributeError(f"module 'runcard' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Every public name."""
    return list(__all__)
