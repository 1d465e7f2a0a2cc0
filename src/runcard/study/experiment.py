"""The experiments: one settings file each, in `settings/`.

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
from dataclasses import dataclass, fields
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from itertools import product
from math import isfinite
from typing import Any, Final

from runcard.errors import InputError
from runcard.policy.solve import POLICY_NAMES

KINDS: Final = (
    "improvement",
    "range",
    "gap",
    "ignoring",
    "against-load",
    "against-gamma",
    "late",
    "map",
    "seconds",
)

IGNORING: Final = "-ignoring-correlation"
"""Ends the name of a policy that is made for the same city without correlation, and used with it."""

NEEDED: Final = {
    "improvement": ("closest-first", "optimal"),
    "range": ("closest-first", "optimal", "one-step-queueing", "one-step-mean-field", "fixed-card"),
    "gap": ("optimal",),
    "ignoring": ("optimal", f"optimal{IGNORING}"),
    "against-load": ("closest-first", "optimal"),
    "against-gamma": ("closest-first", "optimal"),
    "late": ("optimal",),
}
"""By kind: the policies that it cannot do without."""

ORDER: Final = (
    "table1",
    "table2",
    "table3",
    "table4",
    "figure-load",
    "figure-gamma",
    "figure-late",
    "figure-map",
    "appendix-load-002",
    "appendix-load-004",
    "appendix-load-01",
    "appendix-seven-trucks",
    "larger",
    "figure-seconds-trucks",
    "figure-seconds-points",
)
"""The experiments in the order of the report."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What random cities have in common."""

    side: int
    trucks: int
    load: float
    gamma: float

    @property
    def words(self) -> str:
        """The setting as part of a file name."""
        return f"side-{self.side}-trucks-{self.trucks}-load-{self.load:g}-gamma-{self.gamma:g}"


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """The settings of an experiment; they check themselves."""

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

    def __post_init__(self) -> None:
        """Raise one InputError that lists every setting that makes no sense."""
        known_policies = (*POLICY_NAMES, *(f"{name}{IGNORING}" for name in POLICY_NAMES))
        needed = NEEDED.get(self.kind, ())
        conditions = [
            (self.kind in KINDS, f"kind one of {', '.join(KINDS)}, got {self.kind!r}"),
            (self.graphs >= 1, f"graphs >= 1, got {self.graphs}"),
            (bool(self.sides) and min(self.sides, default=0) >= 2, f"sides >= 2, got {list(self.sides)}"),
            (bool(self.trucks) and min(self.trucks, default=0) >= 1, f"trucks >= 1, got {list(self.trucks)}"),
            (_positive(self.loads), f"loads > 0, got {list(self.loads)}"),
            (_positive(self.gammas), f"gammas > 0, got {list(self.gammas)}"),
            (
                bool(self.shared_delays) and all(0.0 <= q <= 1.0 for q in self.shared_delays),
                f"shared_delays from 0 to 1, got {list(self.shared_delays)}",
            ),
            (
                bool(self.policies) and set(self.policies) <= set(known_policies),
                f"policies of {', '.join(POLICY_NAMES)}, perhaps with {IGNORING}, got {list(self.policies)}",
            ),
            (set(needed) <= set(self.policies), f"the policies {', '.join(needed)} for this kind"),
        ]
        faults = [text for holds, text in conditions if not holds]
        if faults:
            raise InputError(f"the settings of {self.name}: expected " + "; ".join(faults))

    @property
    def settings(self) -> tuple[Setting, ...]:
        """Every combination of sides, trucks, loads and gammas, the last varying fastest."""
        return tuple(
            Setting(side=side, trucks=trucks, load=load, gamma=gamma)
            for side, trucks, load, gamma in product(self.sides, self.trucks, self.loads, self.gammas)
        )


def _positive(numbers: tuple[float, ...]) -> bool:
    return bool(numbers) and all(number > 0.0 and isfinite(number) for number in numbers)


def parse_experiment(name: str, text: str) -> Experiment:
    """The experiment of a settings file."""
    try:
        found: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"the settings of {name}: expected TOML, got {error}") from error
    allowed = {field.name for field in fields(Experiment)} - {"name"}
    if unknown := sorted(found.keys() - allowed):
        raise InputError(f"the settings of {name}: expected {', '.join(sorted(allowed))}; got {', '.join(unknown)}")
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in found.items()}
    try:
        return Experiment(name=name, **values)
    except TypeError as error:  # a key is missing, or a value is of another type
        raise InputError(f"the settings of {name}: {error}") from error


@cache
def experiments() -> tuple[Experiment, ...]:
    """Every experiment of the package, in the order of the report."""
    folder = files("runcard.study") / "settings"
    return tuple(parse_experiment(name, (folder / f"{name}.toml").read_text("utf-8")) for name in ORDER)


def experiment_named(name: str) -> Experiment:
    """The experiment of that name."""
    for one in experiments():
        if one.name == name:
            return one
    near = get_close_matches(name, ORDER, n=1)
    meant = f"; did you mean {near[0]}?" if near else ""
    raise InputError(f"expected an experiment, one of {', '.join(ORDER)}; got {name!r}{meant}")
