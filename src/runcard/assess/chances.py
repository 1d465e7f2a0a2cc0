"""What is missed in a simulation, as the sum of the chances of those who went, batch by batch.

Of each incident the chance x to miss a standard counts, given the team that went, and not whether it was missed: where
units wait at home and a driving time decides nothing else (the scenario `paper`), its noise can be left out. The mean
is the same, and the intervals are narrower. With x_b the sum of chances and n_b the number of incidents of batch b,

    missed   Σx / Σn,        less than before   Σ(x - x') / Σn,        as a part of it   Σ(x - x') / Σx,

each with the interval of a ratio (see `simulate/result.py`). Mean minutes are found in the same way, and the chances of
each area from the same teams (see `team_shares.py`), so that all numbers of one page fit together.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from runcard.assess.team_shares import ShareKeeper, TeamShares
from runcard.assess.why import MetStates, Reasons, WhyMissed
from runcard.city.model import City
from runcard.interval import Interval
from runcard.mdp.problem import LAST_MINUTES, MINUTES, P_LATE, DispatchProblem
from runcard.mdp.standards import Rule, rules_of
from runcard.plan.plan import Plan
from runcard.simulate.result import ratio_interval

COST: Final = "cost"
"""Of an incident, as the objective counts it."""
Sums = tuple[NDArray[np.float64], NDArray[np.float64]]
"""By batch: the sum of a measure, and the number of incidents that it is about."""


class ChanceKeeper:
    """Sums what those who go can expect, batch by batch, and counts who goes where: hand `keep` to a simulation."""

    def __init__(self, city: City, plans: Mapping[str, Plan]) -> None:
        self._shares = ShareKeeper(city, plans)
        problems = {fleet.kind: fleet.problem for fleet in next(iter(plans.values())).fleets}
        reasons = {kind: Reasons(city.of_kind(kind), problems[kind]) for kind in city.kinds}
        self._states = {(name, kind): MetStates(reasons[kind]) for name in plans for kind in city.kinds}
        self.rules = {kind: rules_of(city.of_kind(kind), problems[kind]) for kind in city.kinds}
        self._tables = {kind: self._tables_of(problems[kind], rules) for kind, rules in self.rules.items()}
        self._sums: dict[tuple[str, str, str], dict[int, tuple[float, float]]] = defaultdict(dict)
        self._at_points: dict[tuple[str, str], dict[int, Sums]] = defaultdict(dict)
        self._num_batches = 0

    @staticmethod
    def _tables_of(
        problem: DispatchProblem, rules: list[Rule]
    ) -> dict[str, tuple[NDArray[np.float64], NDArray[np.bool_]]]:
        """The tables [T, J] to sum, and the demand points [J] that each is about."""
        everywhere = np.ones(problem.num_points, np.bool_)
        measures = [name for name in (P_LATE, MINUTES, LAST_MINUTES) if name in problem.measures]
        found = {name: (problem.measures[name], everywhere) for name in measures} | {COST: (problem.cost, everywhere)}
        for number, rule in enumerate(rules):
            found[f"rule {number}"] = rule.table, rule.here
            if rule.minutes is not None:
                found[f"minutes {number}"] = rule.minutes, rule.here
        return found

    def keep(self, name: str, batch: int, records: NDArray[np.void], free: NDArray[np.uint16] | None = None) -> None:
        """Count who went to the incidents of a batch, and sum what they can expect; `free` is who could have gone."""
        self._num_batches = max(self._num_batches, batch + 1)
        if not len(records):
            return
        kind, points, teams = self._shares.count(name, records)
        if free is not None:
            self._states[name, kind].add(points, free)
        late, num = self._tables[kind][P_LATE][0], len(self._tables[kind][P_LATE][1])
        chances, seen = (np.bincount(points, own, num) for own in (late[teams, points], np.ones(len(points))))
        self._at_points[name, kind][batch] = chances.astype(np.float64), seen.astype(np.float64)
        for which, (table, here) in self._tables[kind].items():
            own = here[points]
            self._sums[name, kind, which][batch] = float(table[teams[own], points[own]].sum()), float(own.sum())

    def _of_batches(self, name: str, kind: str, which: str) -> Sums:
        """What was summed of one of the tables; a batch without incidents of the kind has none."""
        found = np.zeros((self._num_batches, 2))
        for batch, pair in self._sums[name, kind, which].items():
            found[batch] = pair
        return found[:, 0], found[:, 1]

    def missed(self, name: str, kind: str) -> Sums:
        """The weighted sum of missed standards."""
        return self._of_batches(name, kind, P_LATE)

    def cost(self, name: str, kind: str) -> Sums:
        """What the objective counts."""
        return self._of_batches(name, kind, COST)

    def why_missed(self, name: str, kind: str) -> WhyMissed | None:
        """The parts of what is missed; None where nobody asked who could have gone."""
        weights, incidents = self.missed(name, kind)
        return self._states[name, kind].why(float(weights.sum() / incidents.sum())) if incidents.any() else None

    def is_worse(self, name: str, than: str, kind: str) -> bool:
        """Whether a policy costs more than another one, beyond chance, over the same incidents of a kind."""
        (own, incidents), (other, _) = (self._of_batches(one, kind, COST) for one in (name, than))
        return bool(incidents.any()) and ratio_interval(own - other, incidents).low > 0.0

    def missed_at_points(self, name: str, kind: str) -> Sums:
        """[batch, J] the same at each demand point."""
        found = np.zeros((2, self._num_batches, len(self._tables[kind][P_LATE][1])))
        for batch, own in self._at_points[name, kind].items():
            found[:, batch] = own
        return found[0], found[1]

    def minutes(self, name: str, kind: str, *, last: bool = False) -> Sums | None:
        """The minutes until the first unit, or the last one, is there; None where their means are not known."""
        which = LAST_MINUTES if last else MINUTES
        return self._of_batches(name, kind, which) if which in self._tables[kind] else None

    def standard(self, name: str, kind: str, number: int) -> Sums:
        """How often one of the rules is missed."""
        return self._of_batches(name, kind, f"rule {number}")

    def standard_minutes(self, name: str, kind: str, number: int) -> Sums | None:
        """The minutes of the arrival that one of the rules is about, if they are known."""
        which = f"minutes {number}"
        return self._of_batches(name, kind, which) if which in self._tables[kind] else None

    def shares(self) -> dict[str, dict[str, TeamShares]]:
        """Who goes how often to each demand point, by name and kind."""
        return self._shares.shares()


def chance_interval(sums: Sums, most: float = 1.0) -> Interval:
    """The mean of chances, or of their weighted sum that is at most `most`, and its interval."""
    found = ratio_interval(*sums)
    return Interval(found.value, max(0.0, found.low), min(most, found.high), batches=sums)
