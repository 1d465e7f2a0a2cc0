"""Policies as somebody asks for them, by name, paper label or file; and which one a city gets where nobody does."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Final

from runcard.city.conditions import TRUCK
from runcard.city.model import MINUTES_PER_DAY, City
from runcard.errors import InputError, PolicyFileError
from runcard.mdp.mean_field import WHOLE_STATES
from runcard.mdp.problem import DispatchProblem
from runcard.plan.file import load, said_of
from runcard.plan.fleet import OTHER_CITY, Fleet
from runcard.plan.plan import Plan
from runcard.plan.words import expected_one_of, round_percent
from runcard.policy import mean_field, neighbourhoods, optimal
from runcard.policy.base import Policy
from runcard.policy.closest_first import NAME as CLOSEST
from runcard.policy.solve import LABELS, RECIPES, check_horizon, policy_name, policy_names, solve_named
from runcard.policy.solve_options import SolveOptions

FILE_ENDING: Final = ".policy"
SECONDS_OF_CHOICE: Final = 1e-10
"""Of one core, for each state, team and demand point of an exact solution, about; teams count as stations²."""
SOME_SECONDS: Final = 5.0
"""What an exact solution may take that nobody asks for: about 18 trucks and 400 demand points. A report solves a dozen
such cities."""
OFTEN_BUSY: Final = 1 / 3
"""Part of the time. Up to it the mean field is solved sooner, and about as near to the optimum; beyond it, where the
states are too many for one neighbourhood, it falls behind the neighbourhoods, and in the end behind closest-first
(measured in docs/background/heuristics.md)."""
OF_WEEK: Final = "/week"
"""Behind the name of a policy: solved once, at the mean rates of the week, in a city with periods."""


def exact_seconds(city: City) -> float:
    """How long solving a city of one kind exactly takes, about: by states × demand points × stations²."""
    num_states = prod(trucks + 1 for trucks in city.trucks)
    return SECONDS_OF_CHOICE * float(num_states) * len(city.demand) * len(city.stations) ** 2


def needs_neighbourhoods(city: City) -> bool:
    """Whether trucks of a city of one kind are often busy, and its states too many for one table of the mean field."""
    num_states = prod(trucks + 1 for trucks in city.trucks)
    return num_states > WHOLE_STATES and busy_part(city) > OFTEN_BUSY


def is_small(city: City) -> bool:
    """Whether a city of one kind is solved exactly where nobody says which policy is wanted: `optimal` is then best."""
    return exact_seconds(city) <= SOME_SECONDS


def busy_part(city: City) -> float:
    """The part of the time that trucks of a city of one kind are busy if none come from outside; it can be above 1."""
    sent = sum(point.incidents_per_day * city.trucks_for(point) for point in city.demand)
    return sent * city.mean_busy_minutes / (MINUTES_PER_DAY * city.num_trucks)


def best_policy(*cities: City, exact: bool | None = None) -> str:
    """The policy that all these cities of one kind get where nobody names one.

    `exact` says whether they are solved exactly; if they are small, where it is left out. Where it is
    given out and is not the optimum, it is simulated beside closest-first, and given up if it is worse.
    """
    if all(map(is_small, cities)) if exact is None else exact:
        return optimal.NAME
    return neighbourhoods.NAME if any(map(needs_neighbourhoods, cities)) else mean_field.NAME


def worse_note(name: str) -> str:
    """What is said where a policy that a city got by itself is worse there than closest-first."""
    return (
        f"{name}, which a city like this gets by itself, was worse than {CLOSEST} over the same simulated incidents: "
        f"{CLOSEST} is taken instead."
    )


def policy_note(city: City, name: str) -> str:
    """What somebody should know who asks for a policy in a city of one kind; nothing if it is a good one there."""
    if name != mean_field.NAME or is_small(city) or not needs_neighbourhoods(city):
        return ""
    return (
        f"{name} is for units that are mostly idle, and these are needed {round_percent(busy_part(city))} of the time: "
        f"{neighbourhoods.NAME} is made for that, and was nearer to the optimum where it is known."
    )


@dataclass(frozen=True, kw_only=True)
class PolicyChoice:
    """A policy that is asked for."""

    label: str
    """What it is called in results: its name, or the file as it was given."""
    name: str
    """The name of the policy, also of one in a file."""
    file: Path | None = None
    plan: Plan | None = None
    """What the file holds."""
    of_week: bool = False
    """Whether it is asked for at the mean rates of the week."""

    @property
    def knows_hour(self) -> bool:
        """Whether it has a policy of its own for each period, in a city with periods."""
        return not self.of_week if self.plan is None else self.plan.knows_hour

    def name_for(self, kind: str) -> str:
        """The name of the policy of a kind."""
        fleets = () if self.plan is None else self.plan.fleets
        return next((fleet.policy.name for fleet in fleets if fleet.kind == kind), self.name)

    def policy(self, problem: DispatchProblem, options: SolveOptions, kind: str = TRUCK) -> Policy:
        """The policy of a kind for its problem, solved or read; a file made for another problem is refused."""
        if self.plan is None:
            return solve_named(problem, self.name, options)
        with said_of(self.label):
            return self._fleet(kind).made_for(problem)

    def read(self, kind: str, fingerprint: str) -> Policy:
        """The policy of a kind from its file, only if it is made for this fingerprint."""
        with said_of(self.label):
            return self._fleet(kind).of_fingerprint(fingerprint)

    def _fleet(self, kind: str) -> Fleet:
        """The fleet of a kind in the file."""
        for fleet in () if self.plan is None else self.plan.fleets:
            if fleet.kind == kind:
                return fleet
        raise PolicyFileError(OTHER_CITY)


def policy_choices(words: Sequence[str], options: SolveOptions) -> list[PolicyChoice]:
    """The policies of these words, each once. Files are read now, so that a damaged one is refused before long work."""
    found: dict[str, PolicyChoice] = {}
    for word in words:
        if names_file(word):
            plan = load(word)
            choice = PolicyChoice(label=word, name=plan.name, file=Path(word), plan=plan)
        else:
            of_week = word.strip().lower().endswith(OF_WEEK)
            name = policy_name(word.strip()[: -len(OF_WEEK)] if of_week else word)
            choice = PolicyChoice(label=name + OF_WEEK * of_week, name=name, of_week=of_week)
        found.setdefault(choice.label, choice)
    if not found:
        raise InputError("expected at least one policy, got none")
    if options.horizon_busy_times is not None:
        check_horizon([choice.name for choice in found.values() if choice.file is None])
    return list(found.values())


def policy_of_kinds(words: str, kinds: Sequence[str], options: SolveOptions) -> dict[str, str]:
    """The name of the policy of each kind: the same for all, or one for each, such as engine=CF,ladder=OPT."""
    if "=" not in words:
        (name,) = policy_names([words], options)
        return dict.fromkeys(kinds, name)
    found: dict[str, str] = {}
    for word in words.split(","):
        kind, _, name = (part.strip() for part in word.partition("="))
        if kind not in kinds:
            raise InputError(expected_one_of("kind of units", kinds, kind))
        if kind in found:
            raise InputError(f"expected one policy for each kind of units, got two for {kind}")
        found[kind] = policy_name(name)
    for kind in kinds:
        if kind not in found:
            raise InputError(f"expected a policy for every kind of units, got none for {kind}")
    policy_names(list(found.values()), options)
    return {kind: found[kind] for kind in kinds}


def names_file(word: str) -> bool:
    """Whether a word means a policy file; a name means the policy, even where there is a file of that name."""
    name = word.strip().lower().removesuffix(OF_WEEK)
    if name.upper() in LABELS or name in RECIPES:
        return False
    return word.endswith(FILE_ENDING) or Path(word).is_file()


def check_week(city: City, choices: Sequence[PolicyChoice]) -> None:
    """Raise an error if a policy is asked for at the mean rates of the week and the city has no periods."""
    for choice in choices:
        if choice.of_week and not city.has_periods:
            raise InputError(f"{city.name}: expected a city with periods for {choice.label}, got one without")
