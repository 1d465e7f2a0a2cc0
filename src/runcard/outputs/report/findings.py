"""What a report says: the policies, the units, what looks absurd, and what changes if the city is different."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from runcard.assess.assessment import Assessment
from runcard.assess.auto import (
    CARD,
    CLOSEST,
    OPTIMAL,
    RECOMMENDED,
    Effort,
    solved_city,
    with_team_shares,
)
from runcard.city.model import City
from runcard.errors import InputError
from runcard.outputs.cards.book import make_book
from runcard.outputs.cards.depth import DEPTHS, DepthTable, is_quick, measure_depths
from runcard.outputs.report.answers import FarUnit, far_units
from runcard.outputs.report.sensitivity import Row, sensitivity
from runcard.plan.everywhere import Everywhere, everywhere
from runcard.plan.fleet import fleet_of
from runcard.plan.plan import plan_of
from runcard.plan.words import named_units

REPORTED: Final = (CLOSEST, CARD, OPTIMAL)
"""The policies of an exact comparison that a report takes over."""


@dataclass(frozen=True, kw_only=True)
class StationUnits:
    """The units of one kind at a station, and the work of one of them."""

    kind: str
    station_id: str
    station_name: str
    units: tuple[str, ...]
    """() where the city has no roster."""
    num_units: int
    busy_fractions: tuple[float, float]
    """With closest-first, and with the recommended dispatch."""
    calls_per_day: tuple[float, float]
    price: float
    """What taking one of them is expected to cost later, with every unit idle: missed standards, unless the city
    minimises something else."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Report:
    """All that a report says."""

    given: City
    """The city, with its periods."""
    solved: Assessment
    """The city at the mean rates of the week."""
    stations: tuple[StationUnits, ...]
    """By kind, those of the highest price first."""
    answers: Mapping[str, Everywhere]
    """By kind: who goes to each demand point with every unit idle."""
    far: tuple[FarUnit, ...]
    rows: tuple[Row, ...]
    """The city as it is, then changed; () if not asked for."""
    seed: int
    depths: tuple[DepthTable, ...] = ()
    """By kind: what run cards of some depth keep of the gain; () where that takes long."""
    fit: Mapping[str, Any] | None = None
    """What a fit wrote beside the city, if it is fitted."""

    @property
    def city(self) -> City:
        """The city at the mean rates of the week."""
        return self.solved.city


def find(
    given: City,
    effort: Effort,
    *,
    comparison: Assessment | None = None,
    quick: bool = False,
    fit: Mapping[str, Any] | None = None,
) -> Report:
    """The findings of a city; with an exact comparison of it at hand, that is not made again."""
    if comparison is None:
        solved = solved_city(given.of_week, (CLOSEST, CARD, RECOMMENDED), effort, with_shares=True)
    else:
        if tuple(comparison.names) != REPORTED or comparison.city != given.of_week:
            raise InputError(
                f"{given.name}: expected a comparison of this city with {', '.join(REPORTED)}, got one of "
                f"{comparison.city.name} with {', '.join(comparison.names)}"
            )
        solved = with_team_shares(comparison, effort)
    rows = () if quick else sensitivity(given, solved, effort)
    depths = () if quick else _depths(solved, effort)
    answers = {}
    for kind, policy in solved.last.policies.items():
        effort.steps.begin(f"{kind}: who goes to each area")
        answers[kind] = everywhere(fleet_of(policy))
    return Report(
        given=given,
        solved=solved,
        stations=tuple(one for kind in solved.city.kinds for one in _stations(solved, kind)),
        answers=answers,
        far=tuple(unit for kind, sent in answers.items() for unit in far_units(solved, kind, sent)),
        rows=rows,
        seed=effort.seed,
        depths=depths,
        fit=fit,
    )


def _depths(solved: Assessment, effort: Effort) -> tuple[DepthTable, ...]:
    """What cards keep of the gain, for a city that is small enough to say it in a few seconds."""
    policies = solved.last.policies
    if not solved.exact or set(policies) != set(solved.city.sent_kinds):
        return ()
    plan = plan_of(solved.city, policies)
    if not is_quick(plan):
        return ()
    known = [(kind, policy) for outcome in solved for kind, policy in outcome.policies.items() if policy.has_card]
    orders = {kind: policy.fixed_order for kind, policy in known if policy.fixed_order is not None}
    book = make_book(plan, depth_to_measure=DEPTHS[-1], orders=orders, options=effort.options, steps=effort.steps)
    return measure_depths(book, threads=effort.options.threads, steps=effort.steps)


def _stations(solved: Assessment, kind: str) -> list[StationUnits]:
    """The units of a kind by station, those of the highest price first."""
    seen, policy = solved.city.of_kind(kind), solved.last.policies[kind]
    closest, recommended = solved.first.fleets[kind], solved.last.fleets[kind]
    prices = policy.prices(policy.problem.trucks, np.arange(1, policy.problem.num_stations + 1))
    found = [
        StationUnits(
            kind=kind,
            station_id=station.station_id,
            station_name=station.name,
            units=tuple(unit.unit_id for unit in named_units(seen, station.station_id)),
            num_units=station.trucks,
            busy_fractions=(float(closest.busy_fractions[i]), float(recommended.busy_fractions[i])),
            calls_per_day=(float(closest.calls_per_day[i]), float(recommended.calls_per_day[i])),
            price=float(prices[i]),
        )
        for i, station in enumerate(seen.stations)
    ]
    return sorted(found, key=lambda one: -one.price)
