"""Chances of those who went: means and intervals that hold, by batch."""

import numpy as np
import pytest
from tests.departments import grid_department

from runcard.assess.chances import ChanceKeeper, Sums, chance_interval
from runcard.assess.exact import assess_exactly
from runcard.plan.plan import solve
from runcard.simulate.engine import simulate_plans
from runcard.simulate.result import ratio_interval

NAME = "closest-first"


@pytest.mark.slow
def test_intervals_hold_the_exact_numbers() -> None:
    """Of 40 simulations of a small department, 33 or more hold what is exact: 95 % would be 38, with chance 0.999."""
    city = grid_department(side=3, engines=3, ladders=2, load=0.3)
    department = solve(city, NAME)
    (exact,) = assess_exactly(city, (NAME,))
    held = np.zeros(1 + len(exact.standards), np.int64)
    for seed in range(40):
        keeper = ChanceKeeper(city, {NAME: department})
        found = simulate_plans(city, [department], incidents=2_000, seed=seed, names=[NAME], keep_records=keeper.keep)
        (policy,) = found.kinds[city.kinds[0]].policies
        of_city = np.array([float(batch.of_city) for batch in policy.batches])
        total = np.sum([keeper.missed(NAME, kind)[0] for kind in city.kinds], axis=0)
        own = chance_interval((total, of_city), found.most_weight)
        held[0] += own.low <= exact.missed.value <= own.high
        sums = {
            rule.standard: keeper.standard(NAME, kind, number)
            for kind, rules in keeper.rules.items()
            for number, rule in enumerate(rules)
        }
        for place, standard in enumerate(exact.standards, start=1):
            own = chance_interval(sums[standard.standard])
            assert standard.missed is not None
            held[place] += own.low <= standard.missed.value <= own.high
    assert (held >= 33).all()


def test_a_batch_without_incidents_of_a_kind_counts_as_none() -> None:
    """With one incident a batch, both kinds have every batch, and together as many incidents as were simulated."""
    city = grid_department(side=3, engines=3, ladders=2, load=0.3)
    department = solve(city, NAME)
    keeper = ChanceKeeper(city, {NAME: department})
    found = simulate_plans(city, [department], incidents=32, names=[NAME], keep_records=keeper.keep)
    for kind, simulation in found.kinds.items():
        expected = [float(batch.incidents) for batch in simulation.policies[0].batches]
        assert keeper.missed(NAME, kind)[1].tolist() == expected
    assert 0.0 in keeper.missed(NAME, "ladder")[1]


def test_minutes_are_those_that_are_simulated() -> None:
    """The means of those who went, within the interval of the simulated ones, made twice as wide."""
    city = grid_department(side=3, engines=3, ladders=2, load=0.3)
    department = solve(city, NAME)
    keeper = ChanceKeeper(city, {NAME: department})
    found = simulate_plans(city, [department], incidents=20_000, names=[NAME], keep_records=keeper.keep)
    for kind, simulation in found.kinds.items():
        counted = simulation.policies[0].minutes("first_mean")
        assert ratio_interval(*keeper.minutes(NAME, kind)).value == pytest.approx(counted.value, abs=2.0 * counted.half)


def test_a_policy_is_worse_only_beyond_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that costs half an incident more in each of eight batches is worse; not where that is four more or less."""
    incidents, closest = np.full(8, 100.0), np.full(8, 10.0)
    costs = {"sure": closest + 0.5, "noisy": closest + 0.5 + np.tile([4.0, -4.0], 4), NAME: closest}
    keeper = ChanceKeeper.__new__(ChanceKeeper)
    monkeypatch.setattr(keeper, "_of_batches", lambda name, *_: (costs[name], incidents))
    assert [name for name in costs if keeper.is_worse(name, NAME, "engine")] == ["sure"]


def test_chances_stay_between_none_and_all() -> None:
    """An interval ends at 0 and at the most that one incident can miss; one batch alone says nothing."""
    sums: Sums = (np.array([0.0, 1.0]), np.array([1.0, 1.0]))
    assert (chance_interval(sums).low, chance_interval(sums).high) == (0.0, 1.0)
    one: Sums = (np.array([0.4]), np.array([2.0]))
    found = chance_interval(one, 3.0)
    assert (found.value, found.low, found.high) == (0.2, 0.0, 3.0)
