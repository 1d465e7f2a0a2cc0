"""What every policy can do, and what a decision says.

A policy decides for a state f and a demand point j. Its price for a team a is h(f-a) - h(f): the expected extra cost,
from now on, of taking those trucks. The recommended team of a value policy minimises cost now + price. Cost is what the
objective of the problem counts; unless a city says otherwise that is late incidents, and the cost now is P(late now).

A policy lives in one file. It says how it decides, how a simulation asks it for many decisions (`in_bulk`), and what a
policy file holds of it (`stored`). Its `Recipe` says what it is called, how it is solved, and how it is read again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from runcard.errors import InputError, PolicyFileError
from runcard.mdp.arrays import Floats, Ints
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.rows import DecisionRule, checked_lines, checked_order, checked_table, checked_values
from runcard.policy.ahead_rule import AheadRule
from runcard.policy.solve_options import SolveOptions


@dataclass(frozen=True, kw_only=True)
class Option:
    """One team that could go: station ids (one for each truck, "outside" for the rest), P(late) and price.

    `cost` and `minutes` are given where the objective is not the late fraction: its cost now, and the mean response.
    """

    team: tuple[str, ...]
    p_late: float
    price: float
    cost: float | None = None
    minutes: float | None = None

    @property
    def total(self) -> float:
        """Cost now, which is P(late now) unless another one is given, + price: what a value policy makes smallest."""
        return (self.p_late if self.cost is None else self.cost) + self.price


@dataclass(frozen=True, kw_only=True)
class Decision(Option):
    """The team that goes, and the other teams that could, best first."""

    alternatives: tuple[Option, ...]

    def _repr_html_(self) -> str:
        """The decision in a notebook."""
        from runcard.policy.notebook import decision_html  # it knows this class

        return decision_html(self)


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """Where the mean cost of an incident is proven to lie, and whether the solver met its tolerance.

    The mean cost is the late fraction, unless the problem has another objective. The bounds count every error: that of
    the solver, and that of the costs.
    """

    lower: float
    upper: float
    converged: bool


@dataclass(frozen=True, eq=False, kw_only=True)
class BulkRule:
    """How a policy decides, as one array or a tuple of them; the others are None."""

    order: Ints | None = None
    """[J, I] the first idle trucks in the order of the demand point go."""
    value: Floats | None = None
    """[states + padding] the team with the smallest cost + value of the state that is left goes."""
    lines: Ints | None = None
    """[J, depth] beside an order: the first of these teams that is idle goes, -1 behind the last; else by the order."""
    table: Ints | None = None
    """[states, J] the number of the team that goes."""
    ahead: AheadRule | None = None
    """The team with the smallest cost + price goes, with prices that look one event ahead."""

    def checked(self, problem: DispatchProblem) -> "BulkRule":
        """The same with arrays as kernels want them; an InputError if the problem cannot follow it."""
        ways = [name for name in ("order", "value", "table", "ahead") if getattr(self, name) is not None]
        if len(ways) != 1 or (self.lines is not None and ways != ["order"]):
            ways += ["lines"] if self.lines is not None else []
            raise InputError(
                "BulkRule: expected one of order, value, table and ahead, and lines only beside an order; got "
                f"{' and '.join(ways) or 'none of them'}"
            )
        return replace(
            self,
            order=None if self.order is None else checked_order(problem, self.order),
            value=None if self.value is None else checked_values(problem, self.value),
            lines=None if self.lines is None else checked_lines(problem, self.lines),
            table=None if self.table is None else checked_table(problem, self.table),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Stored:
    """What a policy file holds of a policy, beside its problem."""

    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Plain values, as JSON has them."""
    certificate: Certificate | None = None

    def array(self, name: str, dtype: type, shape: tuple[int, ...]) -> NDArray[Any]:
        """The array of that name, if it has that type and shape."""
        found = self.arrays.get(name)
        if found is None or found.dtype != dtype or found.shape != shape:
            got = "none" if found is None else f"{found.dtype} {found.shape}"
            raise PolicyFileError(f"damaged: expected the array {name} of {np.dtype(dtype)} {shape}, found {got}")
        return found


class Policy(Protocol):
    """Who goes: one method decides, and a rule lets the solver evaluate the policy in every state at once."""

    @property
    def name(self) -> str:
        """The name on the command line."""
        ...

    @property
    def problem(self) -> DispatchProblem:
        """The problem that the policy was made for."""
        ...

    @property
    def certificate(self) -> Certificate | None:
        """Proven bounds on its mean cost, where solving gave them."""
        ...

    @property
    def reason(self) -> str:
        """Why its team goes, as "is the closest"; empty if because cost now + price is the smallest."""
        ...

    @property
    def rule(self) -> DecisionRule:
        """How it chooses, for evaluation in every state; a SizeError where there are too many states."""
        ...

    def in_bulk(self, decisions: float) -> BulkRule | None:
        """How it decides, for so many decisions; None where it takes less time to ask it for each one."""
        ...

    def stored(self) -> Stored:
        """What a policy file holds of it; a PolicyFileError if there is no file of such a policy."""
        ...

    @property
    def fixed_order(self) -> Ints | None:
        """[J, I] the order in which idle trucks go, whatever else is known; None where it looks at more than that."""
        ...

    @property
    def has_card(self) -> bool:
        """Whether that order is made for its demand points; else it is by driving time."""
        ...

    @property
    def decides_anywhere(self) -> bool:
        """Whether it can decide for places that are no demand points."""
        ...

    def teams(self, idle: Ints, points: Ints) -> Ints:
        """The number of the team that `decide` sends to each of some demand points, all in one state."""
        ...

    def best_prices(self, idle: Ints, teams: Ints, cost: Floats) -> Floats:
        """The prices of idle teams of these costs now; nan or inf for those that no decision would list."""
        ...

    def prices(self, idle: Ints, teams: Ints) -> Floats:
        """The price of each team, by number, when `idle` [I] trucks of each station are idle, the teams' among them."""
        ...

    def decide(self, idle: Ints, point: int) -> Decision:
        """The team for an incident at demand point `point` when `idle` [I] trucks of each station are idle."""
        ...


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What a policy is called, how it is solved, and how it is made again from a file."""

    name: str
    """On the command line."""
    label: str = ""
    """In the paper, if it is there."""
    solve: Callable[[DispatchProblem, SolveOptions], Policy]
    read: Callable[[DispatchProblem, Stored], Policy]
    has_horizon: bool = False
    """Whether it takes `horizon_busy_times`."""
    values_up_to: float = 0.0
    """It has the value of every state, and its file the mean minutes, where there are no more states than this."""
