"""Where one more unit should stand: against every place solved from scratch, and against find_effect."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.departments import random_department
from tests.town import plain_town
from tests.weeks import with_days

import runcard
from runcard.assess.first_guess import FirstGuess
from runcard.assess.steps import Steps
from runcard.city import City, Objective, demo_city, generate_grid
from runcard.city.model import DAYS_PER_YEAR
from runcard.errors import InputError
from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.solve import Solution, solve_optimal
from runcard.outputs.whatif import one_more
from runcard.outputs.whatif.candidates import OneMoreCity
from runcard.outputs.whatif.changes import Add
from runcard.outputs.whatif.effect import find_effect
from runcard.outputs.whatif.one_more import rank_one_more
from runcard.outputs.whatif.places import OneMore

ROUNDING = 1e-8


def true_costs(city: City, kind: str, *, anywhere: bool) -> dict[str, tuple[float, float]]:
    """By place: the proven bounds of a fresh solve of the city with one more unit there."""
    ground = OneMoreCity(city, kind)
    found = {}
    for one in ground.candidates(anywhere=anywhere):
        solution = solve_optimal(dispatch_problem(ground.with_unit_at(one)), tolerance=1e-10)
        assert solution.converged
        found[one.place] = (solution.lower, solution.upper)
    return found


def check_against_brute_force(found: OneMore, true: dict[str, tuple[float, float]]) -> None:
    """Every bound holds, the best are the best in the right order, and no place is missing."""
    assert found.sure
    assert not found.simulated
    assert {place.place for place in found.places} == set(true)
    for place in found.places:
        low, high = true[place.place]
        assert place.lower is not None
        assert place.upper is not None
        assert place.lower <= high
        assert place.upper >= low
        if place.pruned_by is None:
            assert place.cost == pytest.approx((low + high) / 2.0, rel=1e-7)
        else:
            assert place.lower > place.pruned_by
    costs = [sum(true[place.place]) / 2.0 for place in found.best]
    best = sorted(sum(ends) / 2.0 for ends in true.values())[: found.top]
    assert costs == pytest.approx(best, rel=1e-7)
    assert len(found.best) == found.top


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("top", [1, 5])
def test_a_plain_city_is_ranked_as_by_brute_force(seed: int, top: int) -> None:
    """Of a grid with loads, shared delays and trucks per incident at random, all nodes: order and every bound."""
    rng = np.random.default_rng(seed)
    city = generate_grid(
        side=5, num_stations=4, load=float(rng.choice([0.02, 0.1, 0.3])), seed=seed, gamma=0.35,
        shared_delay=float(rng.integers(2)), trucks_per_station=int(rng.integers(1, 3)),
    )  # fmt: skip
    city = replace(city, trucks_per_incident=int(rng.integers(1, 3)))
    found = rank_one_more(city, anywhere=True, top=top)
    check_against_brute_force(found, true_costs(city, "truck", anywhere=True))
    assert found.counts["ruled_out"] > 0


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["engine", "ladder"])
def test_a_department_is_ranked_as_by_brute_force(seed: int, kind: str) -> None:
    """Kinds, several standards with weights, and stations with several units or none of the kind."""
    city = random_department(seed)
    found = rank_one_more(city, kind, anywhere=True, top=2)
    check_against_brute_force(found, true_costs(city, kind, anywhere=True))


def test_a_place_that_was_not_solved_leaves_the_ranking_unsure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the solver gave up on one of the places before its tolerance, and no bound rules that out, this is said."""
    city, places = generate_grid(side=3, num_stations=2, load=0.1, seed=2), list[DispatchProblem]()

    def tired(problem: DispatchProblem, **options: Any) -> Solution:
        places.append(problem)
        return replace(solve_optimal(problem, **options), converged=len(places) != 2)

    assert rank_one_more(city, top=2).sure
    monkeypatch.setattr("runcard.outputs.whatif.one_more_exact.solve_optimal", tired)
    assert not rank_one_more(city, top=2, threads=1).sure


@pytest.mark.parametrize("top", [2, 5])
def test_none_of_the_best_is_ruled_out_by_better_ones(top: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of places one at a time, the worst and then from the best on, as many are solved in full as are asked for."""
    city = generate_grid(side=4, num_stations=3, load=0.1, seed=2, gamma=0.35)
    true = true_costs(city, "truck", anywhere=True)
    at_node = {place.node_id: true[place.place] for place in OneMoreCity(city, "truck").candidates(anywhere=True)}
    worst = max(at_node, key=at_node.__getitem__)

    def guess(_: FirstGuess, nodes: Sequence[str], told: object) -> NDArray[np.float64]:
        return np.array([-1.0 if node == worst else at_node[node][0] for node in nodes])

    monkeypatch.setattr("runcard.outputs.whatif.one_more_exact.ROUND", 1)
    monkeypatch.setattr(FirstGuess, "costs", guess)
    found = rank_one_more(city, anywhere=True, top=top)
    check_against_brute_force(found, true)
    assert found.counts["ruled_out"] > 0


@pytest.mark.parametrize("objective", [Objective("minutes"), Objective("late+minutes", 0.05)])
def test_what_the_city_makes_smallest_is_what_ranks(objective: Objective) -> None:
    """With another objective, places are ranked by its cost, and misses and minutes stand beside it."""
    city = replace(generate_grid(side=4, num_stations=3, load=0.1, seed=3, gamma=0.35), objective=objective)
    found = rank_one_more(city, anywhere=True, top=3)
    check_against_brute_force(found, true_costs(city, "truck", anywhere=True))
    for place in (found.base, *found.best):
        assert place.misses is not None
        assert place.mean_response_minutes is not None
        weight = objective.weight
        cost = place.mean_response_minutes if weight is None else place.misses + weight * place.mean_response_minutes
        assert place.cost == pytest.approx(cost, rel=1e-6)


def test_the_answer_does_not_depend_on_threads() -> None:
    """Which places are solved, and every bound, are the same on one thread and on three."""
    city = generate_grid(side=6, num_stations=5, load=0.1, seed=5, gamma=0.35)
    one, three = (rank_one_more(city, anywhere=True, top=3, threads=threads) for threads in (1, 3))
    assert one.places == three.places


def test_the_best_place_is_what_whatif_says_of_it() -> None:
    """`whatif --add` at the best place of the demo city finds the same misses, change and minutes."""
    city = demo_city()
    found = rank_one_more(city, "engine", top=1)
    best = found.best[0]
    effect = find_effect(city, [Add("engine", best.place)]).kinds["engine"]
    assert best.misses == pytest.approx(effect.missed.after.value, rel=1e-7)
    assert best.change == pytest.approx(effect.missed.difference.value, rel=1e-6)
    assert best.mean_response_minutes == pytest.approx(effect.first_minutes.after.value, rel=1e-6)
    assert found.per_year(1.0) == pytest.approx(DAYS_PER_YEAR * found.incidents_per_day)
    assert best.change_lower is not None
    assert best.change_upper is not None
    assert best.change_lower <= effect.missed.difference.value <= best.change_upper


def test_a_period_counts_its_own_rates_and_hours() -> None:
    """What `whatif --add` says of a period is what the ranking says of it, in a year, too."""
    week = with_days(plain_town())
    found = rank_one_more(week, top=1, period="day")
    effect = find_effect(week, [Add("truck", found.best[0].place)], period="day")
    assert found.best[0].change is not None
    assert found.per_year(found.best[0].change) == pytest.approx(effect.per_year(0).difference.value, rel=1e-5)
    assert found.document()["days_per_year"] == pytest.approx(DAYS_PER_YEAR * 105 / 168)


def test_one_more_unit_never_does_harm() -> None:
    """The best policy can leave the new unit at home, so no place is proven worse than the city as it is."""
    found = rank_one_more(generate_grid(side=5, num_stations=3, load=0.3, seed=8), anywhere=True, top=25)
    assert all(place.change_lower is not None and place.change_lower <= ROUNDING for place in found.places)


def symmetric_city() -> City:
    """A line a - b - c - d - e with a station in the middle: both sides are alike."""
    city = generate_grid(side=2, num_stations=1, load=0.1, seed=1)
    nodes = tuple(replace(city.nodes[0], node_id=name, x_coord=float(x)) for x, name in enumerate("abcde"))
    links = tuple(
        replace(city.links[0], link_id=f"{u}{v}", from_node_id=u, to_node_id=v)
        for u, v in zip("abcd", "bcde", strict=True)
    )
    return replace(
        city,
        nodes=nodes,
        links=links,
        stations=(replace(city.stations[0], node_id="c"),),
        demand=tuple(replace(city.demand[0], node_id=name, incidents_per_day=1.0) for name in "abcde"),
        target_minutes=1.0,
        shared_delay=0.0,
        trucks_per_incident=1,
    )


def test_ties_are_named() -> None:
    """In a city that is its own mirror image, the best place and its image are not told apart, and only they."""
    found = rank_one_more(symmetric_city(), anywhere=True, top=1)
    pairs = {frozenset("bd"), frozenset("ae")}
    assert len(found.ties) == 1
    assert frozenset({found.places[0].place, found.ties[0].place}) in pairs
    assert found.sure


def test_stations_alone_are_ranked_if_nothing_else_is_asked_for() -> None:
    """Without `anywhere` every station is a place, and nothing else."""
    city = demo_city()
    found = rank_one_more(city, "ladder", top=100)
    assert {place.station_id for place in found.places} == {one.station_id for one in city.stations}
    assert found.top == len(found.places) == len(found.best)


def test_nodes_from_which_no_road_leads_to_every_incident_are_no_places() -> None:
    """A node with roads in, but none out, is left out."""
    city = generate_grid(side=3, num_stations=2, load=0.1, seed=1)
    sink = replace(city.nodes[0], node_id="sink", x_coord=9.0)
    into = replace(city.links[0], link_id="into", to_node_id="sink", directed=True)
    city = replace(city, nodes=(*city.nodes, sink), links=(*city.links, into))
    places = OneMoreCity(city, "truck").candidates(anywhere=True)
    assert "sink" not in {one.node_id for one in places}
    assert len(places) == 9


def test_a_city_with_periods_is_ranked_at_mean_rates_or_those_of_a_period() -> None:
    """The rates of the week, or of one period, are those of the answer."""
    city = with_days(generate_grid(side=3, num_stations=2, load=0.2, seed=1))
    name = city.periods[0].name
    for period, same in ((None, city.of_week), (name, city.in_period(name))):
        found = rank_one_more(city, period=period, top=2)
        plain = rank_one_more(same, top=2)
        assert [one.cost for one in found.best] == [one.cost for one in plain.best]


def test_too_much_work_is_thinned_then_guessed_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """With less time only nodes with incidents are looked at, and if need be only the best guesses are solved."""
    city = generate_grid(side=5, num_stations=3, load=0.1, seed=4, gamma=0.35)
    city = replace(city, demand=city.demand[:10])
    monkeypatch.setattr(one_more, "places_that_can_be_solved", lambda base: 8)
    found = rank_one_more(city, anywhere=True, top=3)
    assert found.thinned
    assert not found.sure
    assert not found.simulated
    assert found.counts["guessed"] == len(found.places) - 8 > 0
    allowed = {point.node_id for point in city.demand} | {station.node_id for station in city.stations}
    assert {place.node_id for place in found.places} <= allowed
    assert all(one.cost is None and one.lower is None for one in found.places[8:])


@pytest.mark.parametrize("seed", [1, 2])
def test_simulated_intervals_hold_the_exact_changes(seed: int) -> None:
    """Simulated under closest-first, the exact change of each place lies in its interval, made narrow by pairing."""
    city = generate_grid(side=5, num_stations=4, load=0.2, seed=2, gamma=0.35)
    found = rank_one_more(city, anywhere=True, top=4, incidents=40_000, seed=seed)
    assert found.simulated
    assert not found.sure
    ground = OneMoreCity(city, "truck")
    now = runcard.evaluate(runcard.solve_problem(dispatch_problem(ground.base), "closest-first")).cost
    for place in found.best:
        changed = ground.with_unit_at(place)
        then = runcard.evaluate(runcard.solve_problem(dispatch_problem(changed), "closest-first")).cost
        assert place.lower is not None
        assert place.upper is not None
        assert place.change_lower is not None
        assert place.change_upper is not None
        assert place.change_lower <= then - now <= place.change_upper
        assert place.change_upper - place.change_lower < place.upper - place.lower
    assert found.counts["guessed"] == len(found.places) - 4


def test_bad_questions_are_refused_in_a_sentence() -> None:
    """An unknown kind, no kind where there are several, no place to show."""
    with pytest.raises(InputError, match="expected a kind that incidents need"):
        rank_one_more(demo_city(), "truck")
    with pytest.raises(InputError, match="expected one of its kinds"):
        rank_one_more(demo_city())
    with pytest.raises(InputError, match="expected at least one place"):
        rank_one_more(demo_city(), "engine", top=0)


def test_progress_is_told() -> None:
    """Every step has a name, and the parts of the long one rise to 1."""
    told: list[str] = []
    parts: list[float] = []

    class Listener(Steps):
        def begin(self, words: str) -> None:
            told.append(words)
            parts.clear()

        def part(self, part: float) -> None:
            parts.append(part)
            if "ruled out" in told[-1]:
                seen.append(part)

    seen: list[float] = []
    rank_one_more(generate_grid(side=5, num_stations=3, load=0.1, seed=1), anywhere=True, steps=Listener())
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
    assert len(told) == 4


def test_a_solve_that_gives_up_has_a_bound_above_the_limit() -> None:
    """Above the optimum nothing is given up; below it, the lower bound ends above the limit, in fewer steps.

    What was given up has not converged.
    """
    problem = dispatch_problem(generate_grid(side=5, num_stations=5, load=0.1, seed=1, gamma=0.35))
    solve = partial(solve_optimal, problem, tolerance=1e-9)
    exact = solve()
    assert solve(give_up_above=1.01 * exact.upper).converged
    early = solve(give_up_above=0.7 * exact.lower)
    assert not early.converged
    assert early.lower > 0.7 * exact.lower
    assert early.lower <= exact.upper
    assert early.upper >= exact.lower
    assert early.improvements < exact.improvements
