"""Simulations in a notebook."""

from dataclasses import replace

import pytest
from tests.markup import HOSTILE, shown

from runcard import (
    demo_city,
    generate_grid,
    simulate_plans,
    solve,
)  # fmt: skip
from runcard.interval import Interval
from runcard.simulate.result import Simulation

NAMES = ["closest-first", HOSTILE]


@pytest.fixture(scope="module")
def plain() -> Simulation:
    """Two policies in a plain city."""
    city = generate_grid(side=3, num_stations=3, load=0.2, seed=1)
    return simulate_plans(
        city, [solve(city, name) for name in ("closest-first", "optimal")], incidents=4_000, names=NAMES
    )


@pytest.fixture(scope="module")
def town() -> Simulation:
    """The built-in town."""
    closest = solve(demo_city(), "closest-first")
    return simulate_plans(demo_city(), [closest, closest], incidents=4_000, names=NAMES)


def words(given: Interval, decimals: int, times: float = 1.0) -> list[str]:
    """An interval as two cells."""
    mean, low, high = (f"{times * one:.{decimals}f}" for one in (given.value, given.low, given.high))
    return [mean, f"{low} to {high}"]


def test_late_and_mean_response_stand_side_by_side(plain: Simulation) -> None:
    """Of each policy: its late fraction, its mean response and its gain, each with its interval."""
    (table,) = shown(plain).tables
    assert table[0][1:5] == ["late, %", "95 % interval", "mean response, min", "95 % interval"]
    for number, (row, result) in enumerate(zip(table[1:], plain.first.policies, strict=True)):
        gain = words(plain.improvement(number), 1, 100.0) if number else ["", ""]
        assert row == [result.name, *words(result.missed, 3, 100.0), *words(result.minutes("first_mean"), 2), *gain]


def test_a_department_shows_every_kind_and_standard(town: Simulation) -> None:
    """The missed standards of all kinds, the mean response of each kind, and every standard by itself."""
    page = shown(town)
    policies, standards = page.tables
    responses = [one.policies[0].minutes("first_mean") for one in town.kinds.values()]
    expected = [*words(town.missed(0), 3, 100.0), *(cell for one in responses for cell in words(one, 2))]
    assert policies[1][1:7] == expected
    for row, (standard, missed) in zip(standards[1:], town.standards(0), strict=True):
        assert row[0] == f"{standard.type}, {standard.kind}: {standard.rule}"
        assert row[1:3] == words(missed, 3, 100.0)
    assert f"{town.num_incidents:,} incidents" in page.words


def test_what_is_not_known_is_not_made_up(plain: Simulation) -> None:
    """One batch says nothing about its error, and the interval shows that; an imprecise result says so."""
    policy = plain.first.policies[0]
    short = replace(plain.first, policies=(replace(policy, batches=policy.batches[:1]),))
    page = shown(replace(plain, kinds={"truck": short}, precise=False))
    assert "? to ?" in page.words or "to ?" in page.words
    assert "Not as precise" in page.words
