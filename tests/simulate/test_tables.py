"""Simulations as tables in a notebook."""

from dataclasses import replace

import pytest
from tests.markup import HOSTILE, shown

from runcard import demo_city, generate_grid, simulate_plans, solve
from runcard.simulate.result import Simulation
from runcard.simulate.tables import late_words, with_error

NAMES = ["closest-first", HOSTILE]


@pytest.fixture(scope="module")
def plain() -> Simulation:
    """Two policies in a plain city."""
    city = generate_grid(side=3, num_stations=3, load=0.2, seed=1)
    plans = [solve(city, name) for name in ("closest-first", "optimal")]
    return simulate_plans(city, plans, incidents=4_000, names=NAMES)


def test_late_and_arrivals_stand_side_by_side(plain: Simulation) -> None:
    """Of each policy: its late fraction, its gain and its minutes, each with what it may be off by."""
    (table,) = shown(plain).tables
    assert [heading.split()[0] for heading in table[0][:4]] == ["policy", "late,", "fewer", "first,"]
    for number, (row, result) in enumerate(zip(table[1:], plain.first.policies, strict=True)):
        gain = with_error(plain.improvement(number), 1, 100.0) if number else ""
        minutes = with_error(result.minutes("first_mean"), 2)
        assert row[:4] == [result.name, late_words(result.missed), gain, minutes]


def test_a_department_shows_every_kind_and_standard() -> None:
    """The missed standards of all kinds, every standard by itself, and the minutes of each kind."""
    closest = solve(demo_city(), "closest-first")
    town = simulate_plans(demo_city(), [closest, closest], incidents=4_000, names=NAMES)
    page = shown(town)
    policies, standards, *kinds = page.tables
    assert policies[1][:2] == ["closest-first", late_words(town.missed(0))]
    for row, (_, missed) in zip(standards[1:], town.standards(0), strict=True):
        assert row[1] == late_words(missed)
    for table, kind in zip(kinds, town.kinds.values(), strict=True):
        assert table[1][1] == late_words(kind.policies[0].missed)
    assert f"{town.num_incidents:,} incidents" in page.words


def test_what_is_not_known_is_not_made_up(plain: Simulation) -> None:
    """One batch says nothing about its error, and the table shows that; an imprecise result says so."""
    policy = plain.first.policies[0]
    short = replace(plain.first, policies=(replace(policy, batches=policy.batches[:1]),))
    page = shown(replace(plain, kinds={"truck": short}, precise=False))
    assert "± ?" in page.words
    assert "Not as precise" in page.words
