"""The best dispatch of a department is that of each kind: checked with the states of all kinds together."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.departments import random_department
from tests.seeds import each_seed

from runcard.assess.assessment import Assessment
from runcard.assess.exact import assess_exactly
from runcard.city import City, DemandPoint, Standard, Unit
from runcard.errors import InputError
from runcard.mdp.from_city import dispatch_problem
from runcard.response.table import response_table

Team = tuple[int, ...]
"""The stations of a team, by number, in rising order."""
State = tuple[Team, ...]
"""By kind: the idle units of each station."""
Choice = Mapping[str, Team]
"""By kind: the team that goes."""


@dataclass(frozen=True)
class Joint:
    """A department as one problem: a state is the idle units of all kinds, a choice the teams of all kinds at once.

    Only the chance that a team misses one standard is taken from the package, one standard at a time.
    """

    city: City

    @cached_property
    def kinds(self) -> dict[str, list[int]]:
        """By kind: the units of each of its stations."""
        found: dict[str, list[int]] = {}
        for kind in self.city.kinds:
            homes = [unit.station_id for unit in self.city.units if unit.kind == kind]
            found[kind] = [homes.count(one.station_id) for one in self.city.stations if one.station_id in homes]
        return found

    @cached_property
    def states(self) -> list[State]:
        """Every state."""
        of_kinds = [list(product(*(range(number + 1) for number in trucks))) for trucks in self.kinds.values()]
        return list(product(*of_kinds))

    @cached_property
    def missed(self) -> dict[tuple[Standard, str, Team], float]:
        """The chance that a team misses a standard at a node."""
        found = {}
        for standard in self.city.standards:
            seen = self.city.of_kind(standard.kind)
            plain = replace(
                seen,
                units=(),
                standards=(),
                target_minutes=standard.target_minutes,
                trucks_per_incident=standard.trucks,
                arrivals_per_incident=standard.arrivals,
            )
            table = response_table(plain, minutes=False)
            for team, row in zip(table.teams.stations.tolist(), table.p_late, strict=True):
                for point, chance in zip(plain.demand, row.tolist(), strict=True):
                    found[standard, point.node_id, tuple(i for i in team if i >= 0)] = chance
        return found

    def cost(self, point: DemandPoint, choice: Choice) -> float:
        """The weighted sum of missed standards."""
        own = [standard for standard in self.city.standards if standard.type == point.type]
        return sum(one.weight * self.missed[one, point.node_id, choice[one.kind]] for one in own)

    def choices(self, state: State, point: DemandPoint) -> Iterator[Choice]:
        """Every choice of teams of idle units, as many as the type needs or as there are."""
        needed = {one.kind: one.trucks for one in self.city.standards if one.type == point.type}
        teams = []
        for kind, number in needed.items():
            idle = state[list(self.kinds).index(kind)]
            size = min(number, sum(idle))
            every = combinations_with_replacement(range(len(idle)), size)
            teams.append([team for team in every if all(team.count(i) <= idle[i] for i in team)])
        for chosen in product(*teams):
            yield dict(zip(needed, chosen, strict=True))

    def after(self, state: State, choice: Choice) -> State:
        """The state once the teams have left."""
        left = [list(idle) for idle in state]
        for kind, team in choice.items():
            for i in team:
                left[list(self.kinds).index(kind)][i] -= 1
        return tuple(map(tuple, left))

    def chain(self, policy: Mapping[tuple[State, int], Choice]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The generator of a policy, and the cost rate of each state."""
        number = {state: place for place, state in enumerate(self.states)}
        rates, costs = np.zeros((len(number), len(number))), np.zeros(len(number))
        for state, place in number.items():
            for k, (kind, trucks) in enumerate(self.kinds.items()):
                for i, most in enumerate(trucks):
                    if state[k][i] < most:
                        back = [list(idle) for idle in state]
                        back[k][i] += 1
                        busy = self.city.of_kind(kind).mean_busy_minutes
                        rates[place, number[tuple(map(tuple, back))]] += (most - state[k][i]) * 1440.0 / busy
            for j, point in enumerate(self.city.demand):
                choice = policy[state, j]
                rates[place, number[self.after(state, choice)]] += point.incidents_per_day
                costs[place] += point.incidents_per_day * self.cost(point, choice)
        rates -= np.diag(rates.sum(axis=1))
        return rates, costs

    def solved(self) -> dict[tuple[State, int], Choice]:
        """The best policy, by policy iteration over all states and choices at once."""
        points = list(enumerate(self.city.demand))
        policy = {(state, j): next(self.choices(state, point)) for state in self.states for j, point in points}
        while True:
            rates, costs = self.chain(policy)
            # Solve costs - g + rates h = 0 with h = 0 in the last state.
            system = np.column_stack([rates[:, :-1], -np.ones(len(costs))])
            found = np.linalg.lstsq(system, -costs, rcond=None)[0]
            value = dict(zip(self.states, [*found[:-1], 0.0], strict=True))

            def total(state: State, point: DemandPoint, choice: Choice) -> float:
                return self.cost(point, choice) + value[self.after(state, choice)]  # noqa: B023  used in this pass

            changed = False
            for state in self.states:
                for j, point in points:
                    best = min(self.choices(state, point), key=lambda one: total(state, point, one))
                    if total(state, point, best) < total(state, point, policy[state, j]) - 1e-12:
                        policy[state, j], changed = best, True
            if not changed:
                return policy

    def long_run(self, policy: Mapping[tuple[State, int], Choice]) -> tuple[float, dict[Standard, float]]:
        """The weighted sum of missed standards per incident, and how often each standard is missed."""
        rates, costs = self.chain(policy)
        system = np.vstack([rates.T, np.ones(len(costs))])
        chance = np.linalg.lstsq(system, np.append(np.zeros(len(costs)), 1.0), rcond=None)[0]
        missed = {}
        for standard in self.city.standards:
            points = [(j, point) for j, point in enumerate(self.city.demand) if point.type == standard.type]
            rate = sum(point.incidents_per_day for _, point in points)
            missed[standard] = sum(
                chance[place] * point.incidents_per_day / rate
                * self.missed[standard, point.node_id, policy[state, j][standard.kind]]
                for place, state in enumerate(self.states)
                for j, point in points
            )  # fmt: skip
        return float(chance @ costs) / self.city.incidents_per_day, missed


@pytest.mark.slow
@each_seed(18)
def test_all_kinds_together_are_no_better_than_each_by_itself(seed: int) -> None:
    """Joint brute force over states and choices of both kinds reaches exactly the sum of the optima of each kind."""
    city = random_department(seed, shared_delay=(1.0, 0.0, 0.5)[seed % 3])
    joint, comparison = Joint(city), assess_exactly(city, ["optimal"])
    (result,) = comparison
    policy = joint.solved()
    missed, by_standard = joint.long_run(policy)
    assert result.missed.value == pytest.approx(missed, abs=1e-9)
    assert result.missed.low - 1e-12 <= missed <= result.missed.high + 1e-12
    # Where another team is exactly as good, standards may differ one by one; their weighted sum may not.
    share = {one: _share(city, one) for one in city.standards}
    found = {one.standard: one.missed.value if one.missed else 0.0 for one in result.standards}
    assert sum(one.weight * share[one] * found[one] for one in found) == pytest.approx(missed, abs=1e-9)
    assert set(by_standard) == set(found)


@each_seed(6)
def test_every_standard_of_closest_first_is_that_of_all_kinds_together(seed: int) -> None:
    """How often closest-first misses each standard is what the chain of all kinds together gives, inside its proof."""
    city = random_department(30 + seed)
    joint, comparison = Joint(city), assess_exactly(city, ["closest-first"])
    (result,) = comparison
    order = {kind: fleet.problem.order for kind, fleet in result.fleets.items()}
    policy = {
        (state, j): _closest(joint, comparison, order, state, point)
        for state in joint.states
        for j, point in enumerate(city.demand)
    }
    missed, by_standard = joint.long_run(policy)
    assert result.missed.value == pytest.approx(missed, abs=1e-9)
    for one in result.standards:
        assert one.missed is not None
        assert one.missed.value == pytest.approx(by_standard[one.standard], abs=1e-9)
        assert one.missed.low - 1e-12 <= by_standard[one.standard] <= one.missed.high + 1e-12


def _share(city: City, standard: Standard) -> float:
    rate = sum(point.incidents_per_day for point in city.demand if point.type == standard.type)
    return rate / city.incidents_per_day


def _closest(
    joint: Joint,
    comparison: Assessment,
    order: Mapping[str, NDArray[np.int64]],
    state: State,
    point: DemandPoint,
) -> Choice:
    """The teams that closest-first sends."""
    chosen = {}
    for kind, number in {one.kind: one.trucks for one in joint.city.standards if one.type == point.type}.items():
        demand = comparison.first.fleets[kind].city.demand
        idle = state[list(joint.kinds).index(kind)]
        listed = [i for i in order[kind][demand.index(point)].tolist() for _ in range(idle[i])]
        chosen[kind] = tuple(sorted(listed[:number]))
    return chosen


def test_a_kind_that_nobody_needs_changes_nothing() -> None:
    """Units that no type of incident needs leave every number of the others as it was, to the bit."""
    city = random_department(1)
    spare, bare = (*city.units, Unit("M1", city.stations[0].station_id, "medic")), _uncounted(city)
    more = replace(city, units=spare, stations=bare, busy_minutes={**dict(city.busy_minutes), "medic": 10.0})
    assert more.kinds == city.kinds
    before, after = (assess_exactly(one, ["closest-first", "optimal"]) for one in (city, more))
    assert [(one.missed, one.standards) for one in before] == [(one.missed, one.standards) for one in after]


def test_splitting_a_type_into_two_identical_ones_changes_nothing() -> None:
    """A type of incident under two names, each with half of its incidents, is missed exactly as often as before."""
    city = random_department(2)
    standards = (*city.standards, *(replace(one, type="other") for one in city.standards if one.type == "fire"))
    demand = tuple(
        replace(point, type=name, incidents_per_day=point.incidents_per_day * part)
        for point in city.demand
        for name, part in ((("fire", 0.5), ("other", 0.5)) if point.type == "fire" else ((point.type, 1.0),))
    )
    split = replace(city, standards=standards, demand=demand, stations=_uncounted(city))
    (before,), (after,) = (assess_exactly(one, ["optimal"]) for one in (city, split))
    assert after.missed.value == pytest.approx(before.missed.value, rel=1e-9)
    found = {(one.standard.type, one.standard.kind, one.standard.rule): one.missed.value for one in after.standards}
    for one in before.standards:
        for name in {one.standard.type, "other" if one.standard.type == "fire" else one.standard.type}:
            again = found[name, one.standard.kind, one.standard.rule]
            assert again == pytest.approx(one.missed.value, rel=1e-9)


def test_the_kind_must_be_one_that_incidents_need() -> None:
    """Of a city with several kinds there is no one problem, and none of a kind that is not there."""
    city = random_department(4)
    with pytest.raises(InputError, match=r"expected one of its kinds of units \(engine, ladder\), got none"):
        dispatch_problem(city)
    with pytest.raises(InputError, match=r"expected a kind that incidents need \(engine, ladder\), got 'medic'"):
        dispatch_problem(city, kind="medic")


def _uncounted(city: City) -> tuple[object, ...]:
    return tuple(replace(station, trucks=0) for station in city.stations)
