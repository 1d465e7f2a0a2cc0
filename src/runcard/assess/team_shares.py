"""How often each team goes to each demand point in the long run, and so what every area gets.

With s(j, a) the share of the incidents at j that get team a, the mean of a table x [T, J] at j is Σ_a s(j, a) x(a, j).

**Exact**: s(j, a) = Σ_f p(f) [a(f, j) = a] over the states f, the likeliest first, until what is left is less likely
than `LEFT_OUT` in all. **Simulated**: counted over simulated incidents. The mean of a table is then free of the noise
of driving times: only who goes is left to chance.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from runcard.city.model import City
from runcard.mdp.evaluate import Evaluation
from runcard.mdp.kernels.team_shares import card_shares, table_shares, value_shares
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.rows import DecisionRule, TableRule, ValueRule, checked_rule
from runcard.plan.plan import Plan
from runcard.policy.base import Policy
from runcard.policy.solve import evaluate
from runcard.threads import checked_threads, run_each

LEFT_OUT = 1e-9
"""States that are less likely than this in all are left out; the shares of the others add up to 1."""


@dataclass(frozen=True, eq=False, kw_only=True)
class TeamShares:
    """How often each team goes to each demand point; entries are in the order of points."""

    problem: DispatchProblem
    point: NDArray[np.int64]
    team: NDArray[np.int64]
    share: NDArray[np.float64]
    """The share of the incidents of the point; those of one point add up to 1."""
    exact: bool
    """Whether they come from the probability of every state; else they were counted in a simulation."""

    def mean(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """[J] the mean of a table [T, J] at each demand point; nan where a simulation saw no incident."""
        num_points = self.problem.num_points
        weighed: NDArray[np.float64] = self.share * table[self.team, self.point]
        parts = np.bincount(self.point, weighed, num_points).astype(np.float64)
        parts[np.bincount(self.point, minlength=num_points) == 0] = np.nan
        return parts


def exact_shares(policy: Policy, evaluation: Evaluation | None = None, *, threads: int | None = None) -> TeamShares:
    """The shares under a policy, from its evaluation if that is there."""
    problem, threads = policy.problem, checked_threads(threads)
    rule = checked_rule(problem, policy.rule)
    probability = (evaluation or evaluate(policy, threads=threads)).probability
    likely = np.argsort(-probability, kind="stable")
    kept = int(np.searchsorted(np.cumsum(probability[likely]), 1.0 - LEFT_OUT)) + 1
    parts = [likely[part:kept:threads] for part in range(min(threads, kept))]

    def of_part(states: NDArray[np.int64]) -> NDArray[np.float64]:
        share = np.zeros((problem.num_points, problem.num_teams))
        _add_shares(problem, rule, np.sort(states), probability, share)
        return share

    share = np.sum(run_each(of_part, parts, threads), axis=0)
    point, team = np.nonzero(share)
    total = share.sum(axis=1)
    return TeamShares(problem=problem, point=point, team=team, share=share[point, team] / total[point], exact=True)


def _add_shares(
    problem: DispatchProblem,
    rule: DecisionRule,
    states: NDArray[np.int64],
    probability: NDArray[np.float64],
    share: NDArray[np.float64],
) -> None:
    """Add what a rule sends in some states."""
    layout, teams, needed = problem.layout, problem.teams, problem.trucks_needed
    if isinstance(rule, TableRule):
        table_shares(states, probability, rule.table, share)
    elif isinstance(rule, ValueRule):
        for num in np.unique(needed).tolist():
            points = np.flatnonzero(needed == num)
            cost = np.ascontiguousarray(problem.cost[:, points])
            value_shares(
                states, probability, layout.states, rule.value, teams.counts, teams.first_of_size, layout.offset, num,
                points, cost, share,
            )  # fmt: skip
    else:
        card_shares(
            states, probability, layout.states, rule.lines, rule.order, needed, layout.teams.mask,
            teams.number_of_code, share,
        )  # fmt: skip


class ShareKeeper:
    """Counts who goes where in the records of a simulation: hand `keep` to it."""

    def __init__(self, city: City, plans: Mapping[str, Plan]) -> None:
        self._kinds = city.kinds
        self._problems = {(name, fleet.kind): fleet.problem for name, plan in plans.items() for fleet in plan.fleets}
        cities = {kind: city.of_kind(kind) for kind in city.kinds}
        self._points = {kind: _numbers_of_points(city, seen) for kind, seen in cities.items()}
        self._stations = {kind: _numbers_of_stations(city, seen) for kind, seen in cities.items()}
        self._counts: dict[tuple[str, str], dict[int, int]] = {key: {} for key in self._problems}
        """By name and kind: how often each pair of a demand point and a team was seen, as point × teams + team."""

    def keep(self, name: str, _: int, records: NDArray[np.void]) -> None:
        """Count the records of a batch."""
        if len(records):
            self.count(name, records)

    def count(self, name: str, records: NDArray[np.void]) -> tuple[str, NDArray[np.int64], NDArray[np.int64]]:
        """Count some records, at least one; says their kind, and of each its demand point and its team."""
        kind, points, teams = self._who_went(name, records)
        counts, num_teams = self._counts[name, kind], self._problems[name, kind].num_teams
        pairs, number = np.unique(points * num_teams + teams, return_counts=True)
        for pair, seen in zip(pairs.tolist(), number.tolist(), strict=True):
            counts[pair] = counts.get(pair, 0) + seen
        return kind, points, teams

    def _who_went(self, name: str, records: NDArray[np.void]) -> tuple[str, NDArray[np.int64], NDArray[np.int64]]:
        """The kind of some records, and of each its demand point and its team in the problem."""
        kind = self._kinds[int(records["kind"][0])]
        problem = self._problems[name, kind]
        sent = records["stations"][:, : problem.teams.max_size]
        own = np.where(sent >= 0, self._stations[kind][sent], -1)
        return kind, self._points[kind][records["point"]], problem.teams.find(own)

    def shares(self) -> dict[str, dict[str, TeamShares]]:
        """What was counted, by name and kind."""
        found: dict[str, dict[str, TeamShares]] = {}
        for (name, kind), counts in self._counts.items():
            problem, pairs = self._problems[name, kind], np.array(sorted(counts), np.int64)
            point, team = np.divmod(pairs, problem.num_teams)
            seen = np.array([counts[pair] for pair in pairs.tolist()], np.float64)
            share = seen / np.bincount(point, seen, problem.num_points)[point]
            own = TeamShares(problem=problem, point=point, team=team, share=share, exact=False)
            found.setdefault(name, {})[kind] = own
        return found


def _numbers_of_points(city: City, seen: City) -> NDArray[np.int64]:
    """[rows of demand.csv] the number of each demand point among those that a kind sees; -1 if it does not."""
    kind = seen.standards[0].kind
    own = np.array([any(one.kind == kind for one in city.standards_of(point)) for point in city.demand])
    return np.where(own, np.cumsum(own) - 1, -1)


def _numbers_of_stations(city: City, seen: City) -> NDArray[np.int64]:
    """[stations] the number of each station among those of a kind; -1 if it has none."""
    return np.array([seen.station_numbers.get(station.station_id, -1) for station in city.stations], np.int64)
