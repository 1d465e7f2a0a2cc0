"""The experiments: their settings are in `experiments.toml`, in the order of the report.

An experiment takes `graphs` random cities of every combination of its sides, numbers of trucks, loads and values of γ
(the target as a part of the longest route), with and without correlation, and evaluates its policies in each. `kind` is
what is made of it:

    improvement    mean improvement δ over closest-first, by policy
    range          smallest, mean and largest δ of the optimal policy
    gap            mean gap to the optimal policy, by policy
    ignoring       increase in late incidents of the optimal policy that ignores correlation
    against-load, against-gamma    δ of each graph as a curve
    late           late fraction of the optimal policy with confidence intervals
    map            teams of the optimal policy with every truck idle
    seconds        computing time of each policy

Only `seconds` depend on the machine and differ from run to run.
"""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import product
from typing import Any, Final, NamedTuple

from runcard.city.conditions import near
from runcard.errors import InputError

IGNORING: Final = "-ignoring-correlation"
"""Ends the name of a policy that is made for the same city without correlation, and used with it."""


class Setting(NamedTuple):
    """What random cities have in common."""

    side: int
    trucks: int
    load: float
    gamma: float


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """The settings of an experiment."""

    name: str
    title: str
    paper: str
    """Where it is in the paper."""
    kind: str
    sides: tuple[int, ...]
    trucks: tuple[int, ...]
    loads: tuple[float, ...]
    gammas: tuple[float, ...] = (0.6,)
    shared_delays: tuple[float, ...] = (0.0, 1.0)
    graphs: int
    policies: tuple[str, ...]
    known: str | None = None
    """The file of `paper/` with the paper's numbers, where they are known."""
    notes: tuple[str, ...] = ()
    """What the paper does not say, and other remarks."""

    @property
    def axes(self) -> tuple[tuple[Any, ...], ...]:
        """The values of each field of a setting."""
        return self.sides, self.trucks, self.loads, self.gammas

    @property
    def settings(self) -> tuple[Setting, ...]:
        """Every combination of sides, trucks, loads and gammas, the last varying fastest."""
        return tuple(Setting(*each) for each in product(*self.axes))


@cache
def experiments() -> tuple[Experiment, ...]:
    """Every experiment of the package, in the order of the report."""
    text = (files("runcard.study") / "experiments.toml").read_text("utf-8")
    frozen: dict[str, dict[str, Any]] = {
        name: {key: tuple(value) if isinstance(value, list) else value for key, value in keys.items()}
        for name, keys in tomllib.loads(text).items()
    }
    return tuple(Experiment(name=name, **keys) for name, keys in frozen.items())


def experiment_named(name: str) -> Experiment:
    """The experiment of that name."""
    by_name = {one.name: one for one in experiments()}
    if name not in by_name:
        raise InputError(f"expected an experiment, one of {', '.join(by_name)}; got {name!r}{near(name, by_name)}")
    return by_name[name]
