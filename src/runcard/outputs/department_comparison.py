"""Policies of a whole department side by side: one comparison for each kind of units, and what they add up to.

The mean number of missed standards of an incident, each with its weight, is a sum over kinds: with Λ_k the incidents a
day that need kind k and Λ all of them, it is Σ_k (Λ_k / Λ) × the mean of kind k. Proven bounds add up in the same way.
Where every incident needs one kind and has one standard of weight 1, this is the late fraction.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from runcard.assess.steps import NO_STEPS, NamedSteps, Steps
from runcard.city.model import LATE, City
from runcard.mdp.memory import check_states
from runcard.outputs.compare import DEFAULT_POLICIES, ComparedPolicy, Comparison, StandardResult, compare_policies
from runcard.policy.solve_options import DEFAULTS, SolveOptions


@dataclass(frozen=True, eq=False, kw_only=True)
class DepartmentResult:
    """What one policy achieves with all kinds together; numbers are for each incident of the city."""

    name: str
    missed: float
    """The weighted sum of missed standards, which lies in [lower, upper]."""
    lower: float
    upper: float
    improvement_over_first: float
    gap_to_optimum: float | None
    seconds: float
    converged: bool
    standards: tuple[StandardResult, ...]
    """In the order of the city."""


@dataclass(frozen=True, eq=False, kw_only=True)
class DepartmentComparison:
    """The comparisons of every kind of one city, of the same policies."""

    city: City
    kinds: Mapping[str, Comparison]

    def _repr_html_(self) -> str:
        """The comparison in a notebook."""
        from runcard.outputs.notebook import department_comparison_html  # it knows this class

        return department_comparison_html(self)

    @property
    def proven(self) -> bool:
        """Whether the intervals are proven; else they are estimated."""
        return all(comparison.proven for comparison in self.kinds.values())

    @property
    def failed(self) -> list[str]:
        """The policies that did not converge, with their kind."""
        kinds = {kind: "" if self.city.plain else f" ({kind})" for kind in self.kinds}
        return [f"{name}{kinds[kind]}" for kind, comparison in self.kinds.items() for name in comparison.failed]

    @property
    def names(self) -> list[str]:
        """What the policies are called."""
        return [result.name for result in next(iter(self.kinds.values())).results]

    @cached_property
    def results(self) -> tuple[DepartmentResult, ...]:
        """What each policy achieves with all kinds together."""
        found: list[DepartmentResult] = []
        for number, name in enumerate(self.names):
            of_kinds = {kind: comparison.results[number] for kind, comparison in self.kinds.items()}
            missed = self._sum({kind: one.evaluation.late_fraction for kind, one in of_kinds.items()})
            before = found[0].missed if found else missed
            standards = {one.standard: one for result in of_kinds.values() for one in result.standards}
            result = DepartmentResult(
                name=name,
                missed=missed,
                lower=self._sum({kind: one.lower for kind, one in of_kinds.items()}),
                upper=self._sum({kind: one.upper for kind, one in of_kinds.items()}),
                improvement_over_first=1.0 - missed / before if before > 0.0 else 0.0,
                gap_to_optimum=self._gap(of_kinds),
                seconds=sum(one.seconds for one in of_kinds.values()),
                converged=all(one.converged for one in of_kinds.values()),
                standards=tuple(
                    standards.get(one, StandardResult(one))
                    for one in self.city.standards
                    if one in standards or not self.city.plain
                ),
            )
            found.append(result)
        return tuple(found)

    def _sum(self, by_kind: Mapping[str, float]) -> float:
        """The sum over kinds of what each has for an incident that needs it, for each incident of the city."""
        total = self.city.incidents_per_day
        return sum(self.kinds[kind].city.incidents_per_day / total * number for kind, number in by_kind.items())

    def _gap(self, of_kinds: Mapping[str, ComparedPolicy]) -> float | None:
        """At most how far above the optimum the cost of a policy is, as a part; None if that is not known."""
        best = {
            kind: result.cost_lower
            for kind, comparison in self.kinds.items()
            for result in comparison.results
            if result.is_optimum
        }
        lower = self._sum(best) if len(best) == len(self.kinds) else 0.0
        upper = self._sum({kind: one.cost_upper for kind, one in of_kinds.items()})
        return max(0.0, upper / lower - 1.0) if lower > 0.0 else None

    def document(self) -> dict[str, Any]:
        """The comparison as plain values, ready for JSON; fractions are fractions, not percentages.

        Of each policy: what all kinds add up to, every standard, and what each kind does by itself. Of a plain city:
        what its one kind does.
        """
        by_kind = {kind: comparison.document() for kind, comparison in self.kinds.items()}
        if self.city.plain:
            return next(iter(by_kind.values()))
        objective = {} if self.city.objective == LATE else {"objective": next(iter(by_kind.values()))["objective"]}
        policies = []
        for number, result in enumerate(self.results):
            own = {kind: document["policies"][number] for kind, document in by_kind.items()}
            minutes = self.mean_minutes(number)
            policies.append(
                {
                    "name": result.name,
                    "late_fraction": result.missed,
                    "late_per_day": result.missed * self.city.incidents_per_day,
                    "mean_response_minutes": minutes,
                    "lower": result.lower,
                    "upper": result.upper,
                    "improvement_over_first": result.improvement_over_first,
                    "seconds": result.seconds,
                    "converged": result.converged,
                    "proven": self.proven,
                    "gap_to_optimum": result.gap_to_optimum,
                    "standards": [one.document() for one in result.standards],
                    "kinds": [{"kind": kind} | document for kind, document in own.items()],
                }
            )
        return {"city": self.city.name} | objective | {"policies": policies}

    def mean_minutes(self, number: int) -> float:
        """The mean time until the first unit of a kind is there, over all kinds that incidents need."""
        per_day = {kind: comparison.city.incidents_per_day for kind, comparison in self.kinds.items()}
        total = 0.0
        for kind, rate in per_day.items():
            mean = self.kinds[kind].results[number].evaluation.mean_response_minutes
            assert mean is not None  # a comparison always has minutes
            total += rate * mean
        return total / sum(per_day.values())


def compare_department(
    city: City,
    policies: Sequence[str] = DEFAULT_POLICIES,
    options: SolveOptions = DEFAULTS,
    *,
    steps: Steps = NO_STEPS,
) -> DepartmentComparison:
    """The comparison of policies for every kind of a city."""
    for kind in city.kinds:  # before any work
        check_states(city.of_kind(kind).trucks, kind=city.said(kind))
    found = {}
    for kind in city.kinds:
        named = steps if len(city.kinds) == 1 else NamedSteps(steps, kind)
        found[kind] = compare_policies(city, policies, options, kind=kind, steps=named)
    return DepartmentComparison(city=city, kinds=found)
