"""one-step-neighbourhoods: near the optimum where the mean field is not, and its tables by station."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from tests.mdp.problems import make_problem
from tests.policy_files import load_policy, save_policy

import runcard
from runcard.mdp.bound.values import by_station

NAME = "one-step-neighbourhoods"


@pytest.mark.slow
def test_it_is_near_the_optimum_at_high_load_and_comes_back_from_its_file(tmp_path: Path) -> None:
    """Within half a percent, proven, and less than half as far from it as the mean field; with its name and decisions.

    Fourteen trucks, too many for one table of the mean field, that are busy most of the time.
    """
    city = runcard.generate_grid(side=10, num_stations=14, load=0.4, seed=1, gamma=0.2, shared_delay=0.0)
    problem = runcard.dispatch_problem(city, minutes=False)
    policies = {name: runcard.solve_problem(problem, name) for name in (NAME, "one-step-mean-field", "optimal")}
    late = {name: runcard.evaluate(policy).late_fraction for name, policy in policies.items()}
    gap, of_mean_field = (late[name] / late["optimal"] - 1.0 for name in (NAME, "one-step-mean-field"))
    assert gap < 0.005
    assert gap < of_mean_field / 2.0
    policy = policies[NAME]
    again = load_policy(save_policy(policy, tmp_path / "policy"), problem)
    assert again.name == policy.name == NAME
    idle = problem.trucks.copy()
    idle[::2] = 0
    assert [again.decide(idle, point) for point in range(20)] == [policy.decide(idle, point) for point in range(20)]


@pytest.mark.slow
@pytest.mark.parametrize(("side", "trucks", "load", "seed"), [(7, 10, 0.4, 4), (6, 12, 0.8, 4)])
def test_it_is_not_later_than_closest_first_where_nearly_all_are_late(
    side: int, trucks: int, load: float, seed: int
) -> None:
    """What nobody can avoid moves no payment; and where incidents find too few trucks, one band has better values."""
    city = runcard.generate_grid(side=side, num_stations=trucks, load=load, seed=seed, gamma=0.05)
    problem = runcard.dispatch_problem(city, minutes=False)
    late, closest = (
        runcard.evaluate(runcard.solve_problem(problem, name)).late_fraction for name in (NAME, "closest-first")
    )
    assert late < closest


def test_small_fleets_and_stations_of_several_trucks_have_values() -> None:
    """Where every incident takes all trucks there is no band, and the optimum is found.

    Tables by station serve teams of one to three trucks, and come near the optimum.
    """
    all_go = make_problem([1, 1], [3, 1], seed=1, load=0.3)
    several = make_problem([2, 1, 3, 1, 2], [1, 2, 3, 2, 1, 2, 2, 3], seed=4, load=0.3)
    for problem, most in ((all_go, 1.0), (several, 1.01)):
        late, best = (runcard.evaluate(runcard.solve_problem(problem, name)).cost for name in (NAME, "optimal"))
        assert best * (1.0 - 1e-6) <= late <= most * best * (1.0 + 1e-6)


@pytest.mark.parametrize("stations", [[0, 1, 2], [0, 0, 2], [2, 0, 2, 2], [1, 1]])
def test_a_table_by_station_is_the_mean_over_who_is_idle(stations: list[int]) -> None:
    """Every way in which so many trucks of each station can be idle counts the same."""
    trucks, rng = np.array([2, 4, 3]), np.random.default_rng(1)
    value, owners = rng.normal(size=1 << len(stations)), np.unique(stations)
    table = by_station(value, np.array(stations), trucks)
    for counts in product(*(range(trucks[i] + 1) for i in owners)):
        found = []
        # All trucks of these stations, the members first.
        own = [(i, n) for n, i in enumerate(stations)]
        own += [(int(i), -1) for i in owners for _ in range(trucks[i] - stations.count(int(i)))]
        for pattern in product((0, 1), repeat=len(own)):
            idle = [sum(on for on, (i, _) in zip(pattern, own, strict=True) if i == owner) for owner in owners]
            if tuple(idle) == counts:
                found.append(value[sum(on << n for on, (_, n) in zip(pattern, own, strict=True) if n >= 0)])
        assert table[counts] == pytest.approx(np.mean(found))
