"""What the bound assumes: an incident gets as many trucks as it needs, or all that are idle."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

import runcard
from runcard.mdp.bound import lower_bound

NEEDED = 2
Choice = tuple[float, int]
"""The cost of a team, and the set of trucks that it leaves idle."""


def smallest_cost(city: runcard.City, *, fewer: bool) -> float:
    """The smallest mean cost of an incident that needs two trucks, by policy iteration with dense matrices.

    States are sets of idle trucks. With `fewer`, a truck may also go alone, and no other one comes from outside.
    """
    both = runcard.dispatch_problem(city)
    alone = runcard.dispatch_problem(replace(city, trucks_per_incident=1))
    num_trucks, num_points = both.num_trucks, both.num_points
    states, total = range(1 << num_trucks), both.total_incidents_per_day

    def choices(state: int, point: int) -> list[Choice]:
        idle = [truck for truck in range(num_trucks) if state >> truck & 1]
        teams = combinations(idle, min(NEEDED, len(idle)))
        costs = [
            (float(both.cost[both.teams.number(list(team)), point]), state - sum(1 << one for one in team))
            for team in teams
        ]
        if fewer:
            costs += [(float(alone.cost[alone.teams.number([one]), point]), state - (1 << one)) for one in idle]
        return costs

    listed = [[choices(state, point) for point in range(num_points)] for state in states]
    chosen = np.zeros((len(states), num_points), np.int64)
    while True:
        rates, cost = np.zeros((len(states), len(states))), np.zeros(len(states))
        for state in states:
            for truck in range(num_trucks):
                rates[state, state | 1 << truck] += both.returns_per_day * (not state >> truck & 1)
            for point, rate in enumerate(both.incidents_per_day):
                late, left = listed[state][point][chosen[state, point]]
                cost[state] += rate * late
                rates[state, left] += rate
        # rates h - (row sums) h + cost = g, with h of the last state 0
        system = rates - np.diag(rates.sum(axis=1))
        system[:, -1] = -1.0
        found = np.linalg.solve(system, -cost)
        gain, value = float(found[-1]), np.append(found[:-1], 0.0)
        better = chosen.copy()
        for state in states:
            for point in range(num_points):
                totals = np.array([late + value[left] for late, left in listed[state][point]])
                if totals.min() < totals[chosen[state, point]] - 1e-12:
                    better[state, point] = int(totals.argmin())
        if (better == chosen).all():
            return gain / total
        chosen = better


@pytest.mark.parametrize("shared_delay", [0.0, 1.0])
def test_a_policy_that_may_send_fewer_can_be_below_the_bound(shared_delay: float) -> None:
    """The bound is that of two trucks to each incident; who may send one alone keeps more at home, and is below it."""
    city = runcard.generate_grid(side=4, num_stations=5, load=0.1, seed=1, gamma=0.4, shared_delay=shared_delay)
    problem = runcard.dispatch_problem(city)
    bound = lower_bound(problem, neighbourhood=5, steps=20, threads=1).lower
    best = smallest_cost(city, fewer=False)
    assert 0.9999 * best <= bound <= best * (1.0 + 1e-9)
    assert smallest_cost(city, fewer=True) < 0.95 * bound
