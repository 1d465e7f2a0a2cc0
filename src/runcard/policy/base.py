"""What every policy can do, and what a decision says.

A policy decides for a state f and a demand point j. Its price for a team a is h(f-a) - h(f): the expected extra cost,
from now on, of taking those trucks. The recommended team of a value policy minimises cost now + price. Cost is what the
objective of the problem counts; unless a city says otherwise that is late incidents, and the cost now is P(late now).
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from runcard.mdp.problem import DispatchProblem
from runcard.mdp.rows import DecisionRule


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


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """Where the mean cost of an incident is proven to lie, and whether the solver met its tolerance.

    The mean cost is the late fraction, unless the problem has another objective. The bounds count every error: that of
    the solver, and that of the costs.
    """

    lower: float
    upper: float
    converged: bool


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
    def rule(self) -> DecisionRule:
        """How it chooses, for evaluation in every state; a SizeError where there are too many states."""
        ...

    def prices(self, idle: NDArray[np.int64], teams: NDArray[np.int64]) -> NDArray[np.float64]:
        """The price of each team, by number, when `idle` [I] trucks of each station are idle, the teams' among them."""
        ...

    def decide(self, idle: NDArray[np.int64], point: int) -> Decision:
        """The team for an incident at demand point `point` when `idle` [I] trucks of each station are idle."""
        ...
