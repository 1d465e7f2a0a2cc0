"""Which fire trucks to send: optimal, state-dependent dispatch under shared traffic delays.

    city = runcard.read_city("my-city")            # or demo_city(), or generate_grid(...)
    plan = runcard.solve(city)                     # or solve(city, "closest-first"), or a policy for each kind of units
    answer = plan.decide(runcard.Situation(at="old-d2", type="fire", busy={"E01"}))
    answer.units, answer.reason, answer.document()
    plan.save("town.policy")                       # and runcard.load("town.policy")

For research there are the problem and the policy of one kind of units:

    problem = runcard.dispatch_problem(city, kind="engine")    # P(late) of every team, as arrays
    policy = runcard.solve_problem(problem, "optimal")         # with proven bounds on its late fraction
    runcard.evaluate(policy).late_fraction
    policy.decide(idle, point).team

Names are loaded when they are first used: importing this package compiles nothing and takes a few milliseconds.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runcard.assess.assess import assess
    from runcard.assess.change import difference
    from runcard.city.demo import demo_city
    from runcard.city.files import read_city, write_city
    from runcard.city.grid import generate_grid
    from runcard.city.model import City
    from runcard.errors import RuncardError
    from runcard.mdp.from_city import dispatch_problem
    from runcard.mdp.problem import DispatchProblem
    from runcard.plan.answer import Answer
    from runcard.plan.file import load
    from runcard.plan.plan import Plan, solve
    from runcard.plan.situation import Situation
    from runcard.policy.base import Policy
    from runcard.policy.solve import evaluate, solve_problem
    from runcard.simulate.engine import simulate_plans

__version__ = "0.2.0"
__all__ = [
    "Answer",
    "City",
    "DispatchProblem",
    "Plan",
    "Policy",
    "RuncardError",
    "Situation",
    "assess",
    "demo_city",
    "difference",
    "dispatch_problem",
    "evaluate",
    "generate_grid",
    "load",
    "read_city",
    "simulate_plans",
    "solve",
    "solve_problem",
    "write_city",
]

_HOMES = {
    "Answer": "plan.answer",
    "City": "city.model",
    "DispatchEnv": "simulate.environment",
    "DispatchProblem": "mdp.problem",
    "Plan": "plan.plan",
    "Policy": "policy.base",
    "RuncardError": "errors",
    "Situation": "plan.situation",
    "assess": "assess.assess",
    "demo_city": "city.demo",
    "difference": "assess.change",
    "dispatch_problem": "mdp.from_city",
    "evaluate": "policy.solve",
    "generate_grid": "city.grid",
    "load": "plan.file",
    "read_city": "city.files",
    "simulate_plans": "simulate.engine",
    "solve": "plan.plan",
    "solve_problem": "policy.solve",
    "write_city": "city.files",
}
"""Where each name lives. `DispatchEnv` is not in `__all__`: `import *` has to do without the package that it needs."""


def __getattr__(name: str) -> Any:
    """The public name, from the module where it lives."""
    if name in _HOMES:
        return getattr(import_module(f"runcard.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'runcard' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Every public name."""
    return list(__all__)
