"""The one way to ask what plans achieve: exact or simulated, and saying which."""

from typing import Any, cast

import pytest
from tests.departments import grid_department
from tests.weeks import with_days

import runcard
from runcard.assess.assessment import Assessment
from runcard.city import City, generate_grid
from runcard.errors import InputError

NAMES = ["closest-first", "optimal"]
GRID = generate_grid(side=3, num_stations=3, load=0.3, seed=2)


@pytest.mark.slow
@pytest.mark.parametrize("city", [GRID, grid_department(side=3, engines=3, ladders=2, load=0.3)], ids=["one", "kinds"])
def test_ways_agree_within_their_intervals(city: City) -> None:
    """Where states are few, "auto" is exact to the digit; simulated misses, standards and gains hold what is exact."""
    exact, simulated = runcard.assess(city, NAMES, "exact"), runcard.assess(city, NAMES, "simulate", incidents=40_000)
    assert runcard.assess(city, NAMES).last.missed == exact.last.missed
    assert (exact.exact, simulated.exact, simulated.num_incidents) == (True, False, 40_000)
    for found, expected in zip(simulated, exact, strict=True):
        assert abs(found.missed.value - expected.missed.value) < 1.5 * found.missed.half
        assert found.first_minutes == pytest.approx(expected.first_minutes, rel=0.02)
        for of, known in zip(found.standards, expected.standards, strict=True):
            assert of.missed is not None
            assert known.missed is not None
            assert abs(of.missed.value - known.missed.value) < 1.5 * of.missed.half
    gain = simulated.gain(simulated.last)
    assert gain.low - gain.half < exact.improvement(exact.last) < gain.high + gain.half


def test_plans_are_simulated_as_policies_of_these_names_are() -> None:
    """Plans by name and the names of their policies meet the same incidents and have the same numbers."""
    plans = {name: runcard.solve(GRID, name) for name in NAMES}
    by_plan, by_name = (runcard.assess(GRID, asked, incidents=2_000, seed=3) for asked in (plans, NAMES))
    assert [of.missed.value for of in by_plan] == [of.missed.value for of in by_name]
    assert by_plan.num_incidents == by_name.num_incidents == 2_000


def test_what_takes_long_is_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    """A city that counts as large is simulated by itself, with as many incidents as take some seconds."""
    monkeypatch.setattr("runcard.assess.policy_choice.SOME_SECONDS", 0.0)
    monkeypatch.setattr("runcard.assess.auto.MOST_INCIDENTS", 4_000)
    found = runcard.assess(GRID, ["closest-first"])
    assert (found.exact, found.num_incidents) == (False, 4_000)


def test_a_week_is_simulated_as_time_passes() -> None:
    """Policies that know the hour meet the rates of each hour, and what is found is the mean of the week."""
    found: Assessment = runcard.assess(with_days(GRID, 2.0, 0.5), NAMES, "simulate", incidents=2_000)
    assert list(found.first.periods) == ["always"]
    assert 0.0 < found.last.missed.value < 1.0


def test_ways_that_cannot_be_are_refused() -> None:
    """Another word, and a number of incidents where every state is evaluated."""
    with pytest.raises(InputError, match="expected a way to assess"):
        runcard.assess(GRID, NAMES, "guess")
    with pytest.raises(InputError, match="expected no number of incidents"):
        runcard.assess(GRID, NAMES, "exact", incidents=100)
    with pytest.raises(InputError, match="expected plans by name, or a list of policies, got 'optimal'"):
        runcard.assess(GRID, "optimal")


@pytest.mark.parametrize(
    ("plans", "words"),
    [
        ({}, "expected at least one policy, got none"),
        ([3], "expected a list of policies by name, paper label or file, got 3 in it"),
        ({"mine": "optimal"}, "mine: expected a plan, as runcard.solve gives it, got 'optimal'"),
        (runcard.solve(GRID), "expected plans by name, or a list of policies, got <Plan optimal for "),
    ],
)
def test_plans_of_another_kind_are_refused(plans: Any, words: str) -> None:
    """In a sentence that says what was expected, and what was found."""
    with pytest.raises(InputError, match=words):
        runcard.assess(GRID, plans)


def test_arguments_of_another_kind_are_refused() -> None:
    """Each in a sentence that says what was expected, and what was found."""
    given: Any = "grid"
    with pytest.raises(InputError, match=r"expected a city, as runcard.read_city gives it, got 'grid'"):
        runcard.assess(given)
    with pytest.raises(InputError, match=r"incidents: expected a whole number, got 1.5"):
        runcard.assess(GRID, NAMES, incidents=cast("Any", 1.5))
    with pytest.raises(InputError, match=r"seed: expected a whole number, got 'a'"):
        runcard.assess(GRID, NAMES, seed=cast("Any", "a"))
    with pytest.raises(InputError, match=r"expected a way to assess .*, got None"):
        runcard.assess(GRID, NAMES, cast("Any", None))
    with pytest.raises(InputError, match=r"before: expected an outcome, .*, got 'grid'"):
        runcard.difference(given, given)
    with pytest.raises(InputError, match=r"expected a list of plans, .*, got 'grid' in it"):
        runcard.simulate_plans(GRID, [given])
    with pytest.raises(InputError, match=r"expected a situation, .*, got 'grid'"):
        runcard.solve(GRID).decide(given)
    found = runcard.assess(GRID, NAMES)
    with pytest.raises(InputError, match=r"expected a plan that was assessed \(.*\), got 'nope'"):
        found["nope"]
    with pytest.raises(InputError, match=r"expected a kind that incidents need"):
        found.first.of_kind("boat")
    with pytest.raises(InputError, match=r"expected a dimension .*, got "):
        found.first.by(cast("Any", ["kind", "type"]))


def test_what_python_shows_fits_on_a_line() -> None:
    """Plans, answers, assessments, outcomes and differences do not list all their states."""
    found, plan = runcard.assess(GRID, NAMES), runcard.solve(GRID)
    point = GRID.demand[0]
    answer = plan.decide(runcard.Situation(at=point.node_id, type=point.type))
    for one in (found, found.last, runcard.difference(found.first, found.last), plan, answer):
        assert len(repr(one)) < 200
    assert f"{found.last.missed.value:.6g}" in repr(found.last)
    assert all(unit in repr(answer) for unit in answer.units)


def test_rows_add_up_to_what_is_missed() -> None:
    """By any of period, kind and type: what rows miss, by how many incidents they have, is what the plan misses."""
    for city in (GRID, with_days(grid_department(side=3, engines=3, ladders=2, load=0.3), 2.0, 0.5)):
        outcome = runcard.assess(city, ["closest-first"], "exact").first
        total = outcome.missed.value * city.incidents_per_day
        for dimensions in ((), ("period",), ("kind",), ("type",), ("kind", "type"), ("period", "kind", "type")):
            rows = outcome.by(*dimensions)
            assert sum(row["incidents_per_day"] * row["missed"].value for row in rows) == pytest.approx(total, rel=1e-9)
            assert all(row["missed"].low <= row["missed"].value <= row["missed"].high for row in rows)
        (everything,) = outcome.by()
        assert everything["incidents_per_day"] == pytest.approx(city.incidents_per_day)
        for row in outcome.by("kind"):
            assert row["missed"].value == pytest.approx(outcome.of_kind(row["kind"]).missed.value)
    with pytest.raises(InputError, match="expected a dimension"):
        outcome.by("hour")


def test_a_difference_is_proven_where_exact_and_paired_where_simulated() -> None:
    """Its ends hold the difference of the numbers, and are closer over the same incidents than both intervals allow."""
    for found in (runcard.assess(GRID, NAMES), runcard.assess(GRID, NAMES, incidents=5_000)):
        change = runcard.difference(found.first, found.last).missed
        assert change.difference.value == pytest.approx(found.last.missed.value - found.first.missed.value, abs=1e-12)
        assert change.difference.low <= change.difference.value <= change.difference.high
        assert change.difference.proven == found.exact
        apart = found.first.missed.half + found.last.missed.half
        assert change.difference.half < (1.001 * apart if found.exact else 0.8 * apart)
    week = runcard.assess(with_days(GRID, 2.0, 0.5), NAMES)
    with pytest.raises(InputError, match="expected outcomes of one period"):
        runcard.difference(week.first, week.last)
    assert runcard.difference(week.first.in_period("day"), week.last.in_period("day")).missed.difference.high <= 0.0


def test_the_optimum_of_one_kind_is_not_that_of_the_city() -> None:
    """Where another kind is sent by another policy, nobody knows how far a plan is from the best one."""
    city = grid_department(side=3, engines=3, ladders=2)
    for policy, known in (("closest-first", False), ("optimal", True)):
        plan = runcard.solve(city, {"engine": "optimal", "ladder": policy})
        found = runcard.assess(city, {"plan": plan}, how="exact")
        assert (found.gap_to_optimum(found.first) is not None) is known


def test_parts_add_up_where_several_kinds_are_simulated() -> None:
    """To what is missed by all kinds together, though each kind has met as many incidents as chance had it."""
    found = runcard.assess(grid_department(side=3, engines=3, ladders=2, load=0.3), NAMES, incidents=1_000)
    for outcome in found:
        assert outcome.why_missed is not None
        assert sum(outcome.why_missed.document().values()) == pytest.approx(outcome.missed.value, rel=1e-9)


def test_intervals_of_a_simulation_are_not_called_estimated_or_exact() -> None:
    """They are at 95 %, in the table and in a notebook."""
    found = runcard.assess(GRID, NAMES, incidents=500)
    assert "95 %" in str(found)
    assert "estimated" not in str(found)
    assert "exact number" not in found._repr_html_()
    assert "exact number" in runcard.assess(GRID, NAMES)._repr_html_()


def test_a_simulated_week_shows_itself_in_a_notebook() -> None:
    """Without a table of its periods, which it does not tell apart."""
    found = runcard.assess(with_days(GRID, 2.0, 0.5), NAMES, incidents=500)
    assert all(name in found._repr_html_() for name in NAMES)


def test_an_assessment_prints_its_table() -> None:
    """The city, each plan with its numbers, and how it was assessed, without colours."""
    text = str(runcard.assess(GRID, NAMES))
    assert text.splitlines()[0].startswith(GRID.name)
    assert all(name in text for name in NAMES)
    assert text.endswith("Every state was evaluated.")
    assert "\x1b" not in text
