"""What changes of a department do, kind by kind: exactly where the states allow it, else simulated.

Policies are solved in both cities. Both meet the same incidents at the same moments where they are simulated, and a
unit that both have is busy as long with an incident in both (see `simulate/shifts.py`); `assess/change.py` says what
the difference is.

Trucks from outside come as far after the changes as before (see `outside.py`).
"""

import time
from collections.abc import Sequence
from typing import Final

from runcard.assess.area_changes import Ends, PointMeans, area_changes
from runcard.assess.change import Difference, FleetChange
from runcard.assess.exact import assess_exactly
from runcard.assess.policy_choice import best_policy, busy_part, is_small, policy_note, worse_note
from runcard.assess.simulated import simulated_policies
from runcard.assess.steps import NO_STEPS, NamedSteps, Steps
from runcard.assess.team_shares import exact_shares
from runcard.city.model import LATE, City
from runcard.outputs.whatif.changes import CityChange, apply_changes, change_words, changed_kinds
from runcard.outputs.whatif.outside import same_outside
from runcard.outputs.whatif.result import Effect, days_per_year
from runcard.outputs.whatif.words import rate_words
from runcard.policy.optimal import NAME as OPTIMAL
from runcard.policy.solve import check_size, policy_name
from runcard.policy.solve_options import DEFAULTS, SolveOptions

CLOSEST: Final = "closest-first"
INCIDENTS: Final = 200_000
"""Simulated in each city under each policy, where nothing else is said."""


def find_effect(
    city: City,
    changes: Sequence[CityChange],
    *,
    policy: str | None = None,
    period: str | None = None,
    incidents: int | None = None,
    seed: int = 1,
    options: SolveOptions = DEFAULTS,
    steps: Steps = NO_STEPS,
) -> Effect:
    """What changes of a city change under a policy, the best one that the size allows if none is named.

    Rates are the means of the week, or those of one `period`. `incidents` are simulated in each city where there are
    too many states; if they are given, all kinds are simulated.
    """
    began = time.perf_counter()
    name = None if policy is None else policy_name(policy)
    before, after = city, apply_changes(city, changes)
    before, after = (one.of_week if period is None else one.in_period(period) for one in (before, after))
    of_period = None if period is None else city.period(period)
    changed = changed_kinds(before, after)
    notes, points = list[str](), dict[str, Ends]()
    policies: tuple[dict[str, FleetChange], dict[str, FleetChange]] = ({}, {})
    for kind in before.kinds:
        named = steps if len(before.kinds) == 1 else NamedSteps(steps, kind)
        old = before.of_kind(kind)
        new = same_outside(old, after.of_kind(kind)) if kind in changed else old
        # One city is solved, if nothing changes.
        ends = {"before": old, "after": new} if kind in changed else {"": old}
        watched = [(seen, NamedSteps(named, when) if when else named) for when, seen in ends.items()]
        names = _names(old, new, name)
        exact = incidents is None and all(map(is_small, ends.values()))
        num = None if exact else incidents or INCIDENTS
        found, points[kind] = _changes(watched, names, num, seed, options, asked=name is not None)
        for of_policy, change in zip(policies, found, strict=True):
            of_policy[kind] = change
        of_kind = [] if found[0].name == names[0] else [worse_note(names[0])]
        of_kind += filter(None, [policy_note(max(old, new, key=busy_part), names[0])])
        notes += [f"{kind}: {note}" if before.said(kind) else note for note in of_kind]
    differences = tuple(Difference(before=before, after=after, kinds=of_policy) for of_policy in policies)
    simulated = not all(change.exact for change in policies[0].values())
    if any(standard.weight != 1.0 for standard in city.standards):
        notes.append("Missed standards count with their weights.")
    if city.objective != LATE:
        notes.append("The objective of the city counts minutes, so units are not sent for the fewest misses alone.")
    if city.has_periods:
        notes.append(rate_words(of_period))
    return Effect(
        changes=tuple(change_words(before, after)),
        policies=(differences[0], differences[1]),
        areas=area_changes(differences[0], points, days_per_year=days_per_year(of_period)),
        seconds=time.perf_counter() - began,
        incidents=(incidents or INCIDENTS) if simulated else None,
        asked_to_simulate=incidents is not None,
        notes=tuple(notes),
        period=of_period,
    )


def _names(before: City, after: City, name: str | None) -> tuple[str, str]:
    """The recommended policy of a kind, and closest-first."""
    if name is not None:
        for one in (before, after):
            check_size(one.trucks, [name], kind=one.said(one.kinds[0]))
    return name or best_policy(before, after), CLOSEST


def _changes(
    cities: Sequence[tuple[City, Steps]],
    names: tuple[str, str],
    incidents: int | None,
    seed: int,
    options: SolveOptions,
    *,
    asked: bool,
) -> tuple[list[FleetChange], Ends]:
    """What changes for a kind under each policy from the first city to the last, and what demand points get.

    It is calculated, or simulated over so many `incidents` that need the kind. Then a policy that nobody `asked` for
    and that is worse than closest-first in one of the cities is given up for that.
    """
    best, outcomes, points = names[0], [], []
    for city, steps in cities:
        if incidents is None:
            found = assess_exactly(city, list(dict.fromkeys(names)), options, steps=steps)
            fleet, by_name = found.fleets[0], dict(zip(found.names, found.fleets, strict=True))
            steps.begin("areas")
            points.append(PointMeans(exact_shares(fleet.policy, fleet.evaluation, threads=options.threads)))
        else:
            by_name, keeper = simulated_policies(
                city, names, options, steps, incidents=incidents, seed=seed, like=cities[0][0]
            )
            (kind,) = city.kinds
            if not asked and best != OPTIMAL and keeper.is_worse(best, CLOSEST, kind):
                return _changes(cities, (CLOSEST, CLOSEST), incidents, seed, options, asked=asked)
            points.append(PointMeans(keeper.shares()[best][kind], keeper.missed_at_points(best, kind)))
        outcomes.append(by_name)
    return [FleetChange(outcomes[0][name], outcomes[-1][name]) for name in names], (points[0], points[-1])
