"""An assessment: what plans of one city achieve, side by side, the first of them being what others improve on."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Final

from runcard.assess.outcome import FleetOutcome, Outcome, avoided, larger_by
from runcard.assess.policy_choice import PolicyChoice
from runcard.assess.team_shares import TeamShares
from runcard.city.model import LATE, City
from runcard.errors import InputError
from runcard.interval import Interval
from runcard.plan.words import certainty, expected_one_of

NOTHING: Final = Interval(0.0, 0.0, 0.0, proven=True)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Assessment:
    """What plans of one city achieve, in the order in which they were asked for."""

    city: City
    outcomes: tuple[Outcome, ...]
    choices: tuple[PolicyChoice, ...] = ()
    """The policies that somebody asked for by name or file, one for each outcome."""
    num_incidents: int | None = None
    """Simulated for each plan, the same for all; None if every state was evaluated."""
    shares: tuple[Mapping[str, TeamShares], ...] = ()
    """By kind, who goes how often to each demand point; () if not asked for."""
    replaced: Mapping[str, str] = field(default_factory=dict)
    """By kind the policy that the last plan would have, where it is worse than closest-first: that is in its place."""

    def __getitem__(self, name: str) -> Outcome:
        """The outcome of the plan of that name."""
        outcomes = {outcome.name: outcome for outcome in self.outcomes}
        if name not in outcomes:
            raise InputError(expected_one_of("plan that was assessed", outcomes, name))
        return outcomes[name]

    def __iter__(self) -> Iterator[Outcome]:
        """The outcomes in turn."""
        return iter(self.outcomes)

    def __repr__(self) -> str:
        """The city and its plans."""
        return f"<Assessment of {self.city.name}: {', '.join(self.names)}>"

    def __str__(self) -> str:
        """The plans side by side as a table of plain text, and how they were assessed."""
        from runcard.assess.notebook import assessment_text  # it knows this class

        return assessment_text(self)

    def _repr_html_(self) -> str:
        """The assessment in a notebook."""
        from runcard.assess.notebook import assessment_html  # it knows this class

        return assessment_html(self)

    @property
    def first(self) -> Outcome:
        """What others improve on."""
        return self.outcomes[0]

    @property
    def last(self) -> Outcome:
        """What the last plan achieves."""
        return self.outcomes[-1]

    @property
    def exact(self) -> bool:
        """Whether every state was evaluated; else incidents were simulated."""
        return self.num_incidents is None

    @property
    def sure(self) -> str:
        """What intervals are: proven, estimated, or at 95 %."""
        return certainty(self.proven) if self.exact else "95 %"

    @property
    def names(self) -> list[str]:
        """What the plans are called."""
        return [outcome.name for outcome in self.outcomes]

    @property
    def fleets(self) -> list[FleetOutcome]:
        """What the units of the first kind do under each plan, in the first period."""
        return [next(iter(outcome.fleets.values())) for outcome in self.outcomes]

    @property
    def proven(self) -> bool:
        """Whether the intervals are proven; else they are estimated."""
        return self.first.missed.proven

    @property
    def failed(self) -> list[str]:
        """The plans that did not converge, with the kind and the period."""
        return [words for outcome in self.outcomes for words in outcome.failed]

    def improvement(self, outcome: Outcome) -> float:
        """The part of what the first plan misses that another one avoids."""
        before = self.first.missed.value
        return 1.0 - outcome.missed.value / before if before > 0.0 else 0.0

    def gain(self, outcome: Outcome) -> Interval:
        """The same with its interval."""
        return NOTHING if outcome is self.first else avoided(self.first.missed, outcome.missed)

    def fewer(self, outcome: Outcome) -> Interval:
        """How much less a plan misses than the first one, for each incident of the city."""
        return NOTHING if outcome is self.first else larger_by(outcome.missed, self.first.missed)

    def gap_to_optimum(self, outcome: Outcome) -> float | None:
        """At most how far above the optimum the cost of a plan is, as a part; None where `optimal` is not beside it."""
        lower = self._optimum
        return max(0.0, outcome.cost.high / lower - 1.0) if lower > 0.0 else None

    @cached_property
    def _optimum(self) -> float:
        return next((outcome.optimum for outcome in self.outcomes if outcome.optimum > 0.0), 0.0)

    def of_kind(self, kind: str) -> "Assessment":
        """What one kind does, in a city without periods."""
        return Assessment(
            city=self.city.of_kind(kind),
            outcomes=tuple(outcome.of_kind(kind) for outcome in self.outcomes),
            choices=self.choices,
        )

    def in_period(self, period: str) -> "Assessment":
        """What the plans achieve in one period."""
        outcomes = tuple(outcome.in_period(period) for outcome in self.outcomes)
        return Assessment(city=self.city.in_period(period), outcomes=outcomes, choices=self.choices)

    def document(self) -> dict[str, Any]:
        """The assessment as plain values, ready for JSON; fractions are fractions, not percentages.

        An objective other than the late fraction stands beside the city, and the mean cost with each policy. Of each
        policy: what all kinds add up to, every standard, and what each kind does by itself; or all that by period.
        """
        objective = {} if self.city.objective == LATE else {"objective": asdict(self.city.objective)}
        policies = [self._entry(outcome) for outcome in self.outcomes]
        gains = [
            {"name": knowing.name, "without": blind.name, "improvement": gain}
            for blind, knowing, gain in self.knowing_the_hour
        ]
        of_hour = {"knowing_the_hour": gains} if self.city.has_periods else {}
        return {"city": self.city.name} | objective | {"policies": policies} | of_hour

    def numbers(self, outcome: Outcome) -> dict[str, Any]:
        """What one plan achieves in all, as plain values."""
        missed = outcome.missed
        return {
            "name": outcome.name,
            "late_fraction": missed.value,
            "late_per_day": missed.value * outcome.city.incidents_per_day,
            "mean_response_minutes": outcome.first_minutes,
            "lower": missed.low,
            "upper": missed.high,
            "improvement_over_first": self.improvement(outcome),
            "seconds": outcome.seconds,
            "converged": not outcome.failed,
            "proven": missed.proven,
        }

    def _entry(self, outcome: Outcome, *, of_fleet: bool = False) -> dict[str, Any]:
        """What one plan achieves as plain values; `of_fleet` says that there is one fleet, and asks for its work."""
        why = outcome.why_missed
        document = self.numbers(outcome) | {
            "gap_to_optimum": self.gap_to_optimum(outcome),
            "why_missed": None if why is None else why.document(),
        }
        if of_fleet or (self.city.plain and len(outcome.periods) == 1):
            (fleet,) = outcome.fleets.values()
            return document | fleet.document()
        if outcome.standards:
            document["standards"] = [of.document() for of in outcome.standards]
        if len(outcome.periods) > 1:
            document["periods"] = [
                {"period": name, "share_of_incidents": share} | self.in_period(name)._entry(outcome.in_period(name))
                for name, share in outcome.shares.items()
            ]
        else:
            document["kinds"] = [
                {"kind": kind} | self.of_kind(kind)._entry(outcome.of_kind(kind), of_fleet=True)
                for kind in outcome.fleets
            ]
        return document

    @property
    def knowing_the_hour(self) -> list[tuple[Outcome, Outcome, float]]:
        """Each plan that does not know the hour, the same one that does, and the part of misses that it avoids."""
        outcomes = self.outcomes
        return [
            (outcomes[blind], outcomes[knowing], 1.0 - outcomes[knowing].missed.value / outcomes[blind].missed.value)
            for blind, knowing in pairs_by_hour(self.choices)
            if outcomes[blind].missed.value > 0.0
        ]


def pairs_by_hour(choices: Sequence[PolicyChoice]) -> list[tuple[int, int]]:
    """The numbers of each policy that does not know the hour, and of the same one that does."""
    return [
        (number, other)
        for number, choice in enumerate(choices)
        for other, knowing in enumerate(choices)
        if not choice.knows_hour and knowing.knows_hour and choice.name == knowing.name
    ]
