"""`runcard bound`."""

import json
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.departments import grid_department
from tests.weeks import with_days

from runcard.assess.auto import Effort
from runcard.assess.policy_choice import policy_choices
from runcard.assess.steps import city_problem
from runcard.city import City, Objective, generate_grid, read_city, write_city
from runcard.mdp.bound import BoundProgress, LowerBound
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.solve import solve_optimal
from runcard.outputs.bound import Bounded, bound_city
from runcard.outputs.bound_words import percent_down, share_words, tenths
from runcard.policy.solve_options import SolveOptions

PART = 0.9
KEYS = ["city", "lower", "proven", "neighbourhood", "num_neighbourhoods", "steps", "seconds"]
KEYS += ["incidents", "seed", "kinds", "policies"]


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The bound is nine tenths of the optimum, so that all that follows from it is known; holds what was asked for."""
    asked: list[dict[str, Any]] = []

    def bound(problem, *, neighbourhood, steps, threads, progress) -> LowerBound:  # type: ignore[no-untyped-def]
        asked.append({"trucks": int(problem.trucks.sum()), "neighbourhood": neighbourhood, "steps": steps})
        progress(BoundProgress(steps, steps, 0.1))
        lower = PART * solve_optimal(problem, threads=threads).lower
        return LowerBound(lower=lower, neighbourhood=2, num_neighbourhoods=3, steps=steps, seconds=0.25)

    monkeypatch.setattr("runcard.outputs.bound.lower_bound", bound)
    return asked


@pytest.fixture(scope="module")
def department(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Engines and ladders; medical calls need no ladder."""
    city = grid_department(side=3, engines=4, ladders=2, load=0.2)
    return write_city(city, tmp_path_factory.mktemp("bound") / "department")


def exact(run, folder: Path, *options: str) -> list[dict[str, Any]]:  # type: ignore[no-untyped-def]
    """What `compare` finds for closest-first and the optimum."""
    found: list[dict[str, Any]] = json.loads(run("compare", folder, "--policies", "CF,OPT", "--json", *options).out)[
        "policies"
    ]
    return found


def test_json_has_the_bound_and_what_follows_from_it(run, grid_folder: Path, known: list[dict[str, Any]]) -> None:
    """The gap and the share of the gain are those of the exact values, within the simulation's error."""
    arguments = ["--policies", "CF,OPT", "--incidents", "100000", "--neighbourhood", "3", "--steps", "7"]
    ran = run("bound", grid_folder, *arguments, "--json")
    assert (ran.code, ran.err) == (0, "")
    assert known == [{"trucks": 4, "neighbourhood": 3, "steps": 7}]
    found = json.loads(ran.out, parse_constant=pytest.fail)
    assert list(found) == KEYS
    closest, optimal = exact(run, grid_folder)
    assert found["lower"] == pytest.approx(PART * optimal["late_fraction"], rel=1e-6)
    assert (found["neighbourhood"], found["num_neighbourhoods"], found["steps"], found["seconds"]) == (2, 3, 7, 0.25)
    assert (found["incidents"], found["seed"]) == (100000, 1)
    for policy, value in zip(found["policies"], (closest, optimal), strict=True):
        assert policy["low"] < policy["late_fraction"] < policy["high"]
        half = policy["high"] - policy["late_fraction"]
        assert abs(policy["late_fraction"] - value["late_fraction"]) < 2.0 * half
        assert half < 0.02 * policy["late_fraction"]
        assert policy["mean_response_minutes"] == pytest.approx(value["mean_response_minutes"], rel=0.02)
        assert policy["gap"] == pytest.approx(1.0 - found["lower"] / policy["late_fraction"])
        assert policy["gap_high"] == pytest.approx(1.0 - found["lower"] / policy["high"])
    first, second = found["policies"]
    assert (first["share_of_gain"], first["share_of_gain_low"]) == (None, None)
    share = (first["late_fraction"] - second["late_fraction"]) / (first["late_fraction"] - found["lower"])
    assert second["share_of_gain"] == pytest.approx(share)
    assert 0.0 < second["share_of_gain_low"] < share
    (kind,) = found["kinds"]
    assert (kind["kind"], kind["lower"], kind["policies"]) == ("truck", found["lower"], found["policies"])


def test_the_table_and_the_sentence_say_it(run, grid_folder: Path, known: list[dict[str, Any]]) -> None:
    """Policies stand beside the bound, mean response included, and a chief can read the sentence below."""
    ran = run("bound", grid_folder, "--incidents", "20000", "--steps", "1")
    assert (ran.code, ran.err, len(known)) == (0, "", 1)
    lower = percent_down(PART * exact(run, grid_folder)[1]["lower"])
    words = " ".join(ran.out.split())
    assert f"No way of sending these trucks can be late at fewer than {lower} % of incidents." in words
    assert "one-step-mean-field is late at" in words
    assert "% of these can be avoided by any other way, and it has at least" in words
    for word in ("no policy is below", "closest-first", "mean min", "±", "3 neighbourhoods of 2 trucks, 1 step, 0.2 s"):
        assert word in words
    assert "That is for ways that send as many trucks as an incident asks for, or all that are idle" in words
    assert "closest-first is late" not in words
    words = " ".join(run("bound", grid_folder, "--incidents", "2000", "--policies", "CF").out.split())
    assert "closest-first is late at" in words
    assert "gain" not in words


@pytest.mark.usefixtures("known")
def test_what_a_reader_would_stumble_over_is_said(run, grid_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A simulated value below the bound is there by chance; and a bound is not needed where the optimum is computed."""
    asked = ("bound", grid_folder, "--policies", "CF", "--incidents", "300")
    words = " ".join(run(*asked).out.split())
    assert "The best possible itself can be computed for these trucks: runcard compare" in words
    assert "by chance" not in words
    monkeypatch.setattr(f"{__name__}.PART", 2.0)
    monkeypatch.setattr("runcard.assess.policy_choice.SOME_SECONDS", 0.0)
    words = " ".join(run(*asked).out.split())
    assert "can be computed" not in words
    assert "A simulated value below the bound is below it by chance" in words


@pytest.mark.usefixtures("known")
def test_a_policy_for_units_that_are_mostly_idle_is_noted_in_a_busy_department(
    run, grid_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only where somebody asks for it and the city is not small; by itself the bound takes the other one."""
    note = "one-step-mean-field is for units that are mostly idle, and these are needed 40 % of the time"
    options = ("--incidents", "300", "--steps", "1")
    asked = ("bound", grid_folder, "--policies", "CF,one-step-mean-field", *options)
    assert note not in " ".join(run(*asked).out.split())
    monkeypatch.setattr("runcard.assess.policy_choice.SOME_SECONDS", 0.0)
    monkeypatch.setattr("runcard.assess.policy_choice.WHOLE_STATES", 0)
    assert note in " ".join(run(*asked).out.split())
    assert "mostly idle" not in run("bound", grid_folder, *options).out


def test_kinds_are_bounded_by_themselves_and_together(run, department: Path, known: list[dict[str, Any]]) -> None:
    """The sum over kinds is by the incidents that need each, as in compare; --kind has one of them alone."""
    options = ["--policies", "CF,OPT", "--incidents", "40000", "--json"]
    found = json.loads(run("bound", department, *options).out)
    assert [one["trucks"] for one in known] == [4, 2]
    closest, optimal = exact(run, department)
    assert found["lower"] == pytest.approx(PART * optimal["late_fraction"], rel=1e-6)
    assert found["lower"] <= PART * optimal["upper"]
    assert (found["num_neighbourhoods"], found["seconds"]) == (6, 0.5)
    for policy, value in zip(found["policies"], (closest, optimal), strict=True):
        half = policy["high"] - policy["late_fraction"]
        assert abs(policy["late_fraction"] - value["late_fraction"]) < 2.0 * half
        assert policy["mean_response_minutes"] == pytest.approx(value["mean_response_minutes"], rel=0.02)
    for kind, value in zip(found["kinds"], optimal["kinds"], strict=True):
        assert kind["kind"] == value["kind"]
        assert kind["lower"] == pytest.approx(PART * value["late_fraction"], rel=1e-6)
        assert kind["policies"][1]["late_fraction"] == pytest.approx(value["late_fraction"], rel=0.03)
    alone = json.loads(run("bound", department, *options, "--kind", "ladder").out)
    assert [one["kind"] for one in alone["kinds"]] == ["ladder"]
    assert alone["lower"] == pytest.approx(found["kinds"][1]["lower"])
    words = " ".join(run("bound", department, "--incidents", "2000").out.split())
    assert "No way of sending these units can miss fewer than" in words
    assert "4 engines," in words
    assert "ladder: 3 neighbourhoods of 2 ladders" in words
    words = " ".join(run("bound", department, "--incidents", "2000", "--kind", "ladder").out.split())
    assert "No way of sending these ladders can miss" in words


def test_a_kind_that_nobody_needs_is_left_out(run, tmp_path: Path, known: list[dict[str, Any]]) -> None:
    """Fires never happen, so that there is nothing to bound for ladders."""
    city = grid_department(side=3, engines=3, ladders=2)
    demand = [replace(one, incidents_per_day=0.0) if one.type == "fire" else one for one in city.demand]
    folder = write_city(replace(city, demand=tuple(demand)), tmp_path / "city")
    ran = run("bound", folder, "--incidents", "2000", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert [one["kind"] for one in json.loads(ran.out)["kinds"]] == ["engine"]
    assert len(known) == 1


def test_the_real_bound_is_below_the_optimum(run, grid_folder: Path) -> None:
    """After a few steps it may be loose, but it is positive and holds."""
    ran = run("bound", grid_folder, "--incidents", "2000", "--steps", "20", "--json")
    assert (ran.code, ran.err) == (0, "")
    found = json.loads(ran.out)
    assert 0.0 < found["lower"] <= exact(run, grid_folder)[1]["upper"]


def test_the_same_seed_gives_the_same_values(run, grid_folder: Path, known: list[dict[str, Any]]) -> None:
    """On any number of threads."""
    arguments = ("bound", grid_folder, "--incidents", "5000", "--json")
    first = run(*arguments, "--threads", "1").out
    assert run(*arguments, "--threads", "3").out == first
    assert run(*arguments, "--seed", "2").out != first


@pytest.mark.usefixtures("known")
def test_a_policy_file_stands_for_its_policy(run, grid_folder: Path, policy_file: Path) -> None:
    """It has the values of the policy, under its own name."""
    values = []
    for policy in ("OPT", policy_file):
        found = json.loads(run("bound", grid_folder, "--policies", policy, "--incidents", "3000", "--json").out)
        values.append({key: value for key, value in found["policies"][0].items() if key != "name"})
    assert values[0] == values[1]
    ran = run("bound", grid_folder, "--policies", policy_file, "--incidents", "300")
    assert f"{policy_file} holds optimal." in ran.out


@pytest.mark.usefixtures("known")
def test_the_rates_of_a_week_are_its_means(run, grid_folder: Path, tmp_path: Path) -> None:
    """Periods change nothing, and that is said; a policy by periods is refused."""
    folder = write_city(with_days(read_city(grid_folder)), tmp_path / "city")
    options = ("--policies", "CF", "--incidents", "3000")
    plain, week = (json.loads(run("bound", one, *options, "--json").out) for one in (grid_folder, folder))
    assert plain["policies"] == week["policies"]
    assert "Rates are the means of the week" in run("bound", folder, *options).out
    assert run("solve", folder, "--policy", "CF", "-o", tmp_path / "week.policy").code == 0
    ran = run("bound", folder, "--policies", tmp_path / "week.policy")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "expected a policy for the mean rates of the week, got one by periods" in ran.err


@pytest.mark.usefixtures("known")
def test_the_late_fraction_is_bounded_whatever_is_minimised(run, grid_folder: Path, tmp_path: Path) -> None:
    """A city that minimises minutes has the same bound, and that is said."""
    folder = write_city(replace(read_city(grid_folder), objective=Objective("minutes")), tmp_path / "city")
    plain, other = (
        json.loads(run("bound", one, "--policies", "CF", "--incidents", "300", "--json").out)["lower"]
        for one in (grid_folder, folder)
    )
    assert plain == pytest.approx(other, rel=1e-6)
    assert "the bound is on the late fraction all the same" in " ".join(
        run("bound", folder, "--policies", "CF", "--incidents", "300").out.split()
    )


def test_bad_arguments_are_sentences(refuse, grid_folder: Path) -> None:
    """Each has exit code 2 and one line that says what was expected."""
    table = """
bound CITY --neighbourhood 1 :: expected a whole number from 2 to 13, got '1'
bound CITY --neighbourhood 14 :: expected a whole number from 2 to 13, got '14'
bound CITY --steps 0 :: expected a whole number from 1 to 1,000,000, got '0'
bound CITY --incidents 1 :: '--incidents': expected a whole number from 100 to 100,000,000, got '1'
bound CITY --incidents 99 :: expected a whole number from 100 to 100,000,000, got '99'
bound CITY --policies CF,best :: expected a policy
bound CITY --policies , :: expected at least one policy, got none
bound CITY --policies optimal/week :: expected a city with periods
bound CITY --kind engine :: expected a kind that incidents need (truck), got 'engine'
bound CITY --threads 0 :: expected a whole number from 1
"""
    refuse(table, CITY=grid_folder)


def test_a_policy_that_is_too_large_is_refused_before_any_work(
    run, tmp_path: Path, known: list[dict[str, Any]]
) -> None:
    """The optimum of a hundred trucks is refused, not their bound."""
    folder = write_city(generate_grid(side=10, num_stations=100, load=0.1, seed=1), tmp_path / "city")
    ran = run("bound", folder, "--policies", "CF,OPT")
    assert (ran.code, ran.out, ran.err.count("\n"), known) == (2, "", 1, [])


def test_an_interrupt_is_heard(run, grid_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in the long part ends the command with its own exit code, and nothing is printed as a result."""

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("runcard.outputs.bound.lower_bound", interrupted)
    ran = run("bound", grid_folder, "--incidents", "300")
    assert (ran.code, ran.out, ran.err) == (130, "", "runcard: interrupted\n")


def test_what_is_proven_is_rounded_to_the_safe_side() -> None:
    """The bound goes down, what can be avoided up, and what is gained down."""
    assert percent_down(0.031199) == "3.11"
    assert percent_down(0.99999) == "99.9"
    assert percent_down(0.0) == "0"
    assert percent_down(1.2399e-8) == "1.23e-6"
    assert tenths(0.0601, ROUND_CEILING) == "6.1"
    assert tenths(0.0699, ROUND_FLOOR) == "6.9"
    assert tenths(float("-inf"), ROUND_FLOOR) == "?"
    assert tenths(-0.0001, ROUND_CEILING) == "0.0"


def test_the_errors_of_chances_are_in_what_policies_reach(
    run, grid_folder: Path, known: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where chances may be off by a hundredth, so may what is simulated with them, to both sides."""

    def found() -> dict[str, float]:
        ran = run("bound", grid_folder, "--incidents", "2000", "--json")
        assert ran.code == 0, ran.err
        of_all: dict[str, Any] = json.loads(ran.out)
        policy: dict[str, float] = of_all["policies"][0]
        return policy

    before, make = found(), city_problem

    def rough(*of: Any, **options: Any) -> DispatchProblem:
        problem = make(*of, **options)
        assert problem.find_source is not None
        return replace(problem, cost_error=0.01).made_from(problem.find_source)

    monkeypatch.setattr("runcard.outputs.bound.city_problem", rough)
    after = found()
    assert after["late_fraction"] == before["late_fraction"]
    assert (after["low"], after["high"]) == pytest.approx((before["low"] - 0.01, before["high"] + 0.01))


def test_the_errors_of_chances_are_in_the_share_that_is_kept_at_least(
    known: list[dict[str, Any]], grid_folder: Path
) -> None:
    """Where chances may be off by a thousandth, a policy may gain two less, of one more that can be gained."""
    choices = policy_choices(["closest-first", "optimal"], SolveOptions())
    found = bound_city(read_city(grid_folder), choices, Effort(incidents=2_000), bounded=lambda _: None)
    (kind,), error = found.bounds, 0.001
    sure, rough = (replace(found, errors={kind: off}).share(found.beside.last) for off in (0.0, error))
    assert sure is not None
    assert rough is not None
    assert rough.value == sure.value
    closest, other = (outcome.missed.value for outcome in found.beside)
    part = (closest - other) / (closest - found.lower)
    least = (closest - other - 2.0 * error) / (closest - found.lower + error)
    assert rough.low == pytest.approx(sure.low - (part - least), abs=0.1 * (part - least))


def test_the_sum_of_kinds_is_rounded_to_the_safe_side() -> None:
    """What all kinds prove together is never above the sum of fractions, and hardly below it."""
    city, rng = grid_department(side=3, engines=4, ladders=2, load=0.2, shares=(0.3, 0.7)), np.random.default_rng(1)

    def rate(of: City) -> Fraction:
        return sum((Fraction(point.incidents_per_day) for point in of.demand), Fraction())

    for _ in range(200):
        bounds: dict[str, Any] = {kind: SimpleNamespace(lower=rng.random()) for kind in city.kinds}
        exact = sum(rate(city.of_kind(kind)) * Fraction(bound.lower) for kind, bound in bounds.items()) / rate(city)
        beside: Any = SimpleNamespace(city=city)
        found = Bounded(beside=beside, bounds=bounds, errors={}, proven=True, seed=1)
        assert exact * Fraction(1.0 - 1e-13) < found.lower <= exact


def test_a_share_of_the_gain_below_nothing_is_no_number(run, tmp_path: Path) -> None:
    """With few incidents the interval of the share goes far below 0: it may be none, and no number is shown."""
    folder = write_city(generate_grid(side=5, num_stations=8, load=0.4, seed=1, gamma=0.05), tmp_path / "city")
    options = ("--policies", "CF,fixed-card", "--incidents", "200", "--steps", "20")
    found = json.loads(run("bound", folder, *options, "--json").out)
    assert found["policies"][1]["share_of_gain_low"] < -1.0
    table = run("bound", folder, *options).out
    (row,) = (line for line in table.splitlines() if line.split()[:1] == ["fixed-card"] and "±" in line)
    assert row.split()[-3:] == ["may", "be", "none"]
    assert "all that can be gained" not in " ".join(table.split())
    assert [share_words(low) for low in (-1.085, float("-inf"), -1e-12, 0.0, 0.0699)] == [
        "may be none", "may be none", "0.0", "0.0", "6.9",
    ]  # fmt: skip


def test_a_bound_that_proves_nothing_says_so(run, grid_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No sentence about fewer than 0 %, nor one that everything could be avoided."""
    nothing = LowerBound(lower=0.0, neighbourhood=2, num_neighbourhoods=3, steps=1, seconds=0.25)
    monkeypatch.setattr("runcard.outputs.bound.lower_bound", lambda *_, **__: nothing)
    words = " ".join(run("bound", grid_folder, "--incidents", "2000", "--steps", "1").out.split())
    assert "Nothing is known yet of what these trucks could do at best: the bound is 0." in words
    assert "No way of sending" not in words
    assert "avoided by any other way" not in words
