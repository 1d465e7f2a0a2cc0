"""Decisions for any node and any coordinates, and with units that are not at home."""

from contextlib import nullcontext
from dataclasses import replace
from itertools import combinations, product
from typing import Any

import networkx as nx
import numpy as np
import pytest
from tests.departments import random_department
from tests.seeds import each_seed

from runcard.city import (
    City,
    DemandPoint,
    Driving,
    Link,
    Node,
    Outside,
    Standard,
    Station,
    Turnout,
    Unit,
    generate_grid,
)
from runcard.city.aprons import with_aprons
from runcard.errors import InputError
from runcard.mdp.from_city import dispatch_problem
from runcard.plan import anywhere
from runcard.plan.plan import Fleet, Plan, plan_of, solve
from runcard.plan.situation import Situation
from runcard.policy.by_function import FunctionPolicy
from runcard.policy.options import team_number
from runcard.policy.solve import RECIPES

LAWS: dict[str, Any] = {"driving": Driving("gamma", cv=0.8), "turnout": Turnout(0.7, "gamma", 0.5)}


def department(seed: int, **settings: Any) -> City:
    """A department on 9 nodes, of which 4 are demand points, with laws of its own and streets of unequal length."""
    city = random_department(seed, shared_delay=settings.pop("shared_delay", 1.0))
    rng = np.random.default_rng(seed)
    links = tuple(replace(link, mean_minutes=float(rng.uniform(0.5, 1.5))) for link in city.links)
    return replace(city, links=links, outside=Outside(9, 1.0), **(LAWS | settings))


def costs_by_units(
    city: City, kind: str, node_id: str, incident_type: str, moved: dict[str, str]
) -> tuple[dict[frozenset[str], float], float]:
    """The cost now of each set of units of a kind, by a city that has such a demand point and such stations; its error.

    A unit that is elsewhere has a station of its own. Its turnout is a truck's as any other: use cities without.
    """
    stations = [*city.stations, *(Station(f"{unit} moved", node, 0) for unit, node in moved.items())]
    units = [replace(one, station_id=f"{one.unit_id} moved") if one.unit_id in moved else one for one in city.units]
    demand = [*city.demand, DemandPoint(node_id, 1e-6, type=incident_type)]
    homes = {unit.station_id for unit in units}
    housed = tuple(one for one in stations if one.station_id in homes)
    larger = replace(city, stations=housed, units=tuple(units), demand=tuple(demand))
    seen, problem = larger.of_kind(kind), dispatch_problem(larger, kind=kind)
    point = len(seen.demand) - 1
    home = {unit.unit_id: unit.station_id for unit in seen.units}
    found = {}
    for size in range(int(problem.trucks_needed[point]) + 1):
        for team in combinations(home, size):
            number = team_number(problem, [home[unit] for unit in team])
            found[frozenset(team)] = float(problem.cost[number, point])
    return found, problem.cost_error


def prices_by_units(fleet: Fleet, idle: frozenset[str], teams: list[frozenset[str]]) -> dict[frozenset[str], float]:
    """The price of sets of units: that of their stations."""
    home = {unit.unit_id: unit.station_id for unit in fleet.units}
    numbers = np.array([team_number(fleet.problem, [home[unit] for unit in team]) for team in teams])
    return dict(zip(teams, fleet.policy.prices(fleet.idle_trucks(idle), numbers).tolist(), strict=True))


@pytest.mark.parametrize("shared_delay", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("policy", [name for name in RECIPES if name not in ("closest-first", "fixed-card")])
def test_the_team_minimises_cost_there_and_price_at_home(policy: str, shared_delay: float) -> None:
    """For every value policy, kind and type, with units at home and elsewhere: by an exhaustive search over sets."""
    rng = np.random.default_rng(5)
    city = department(3, shared_delay=shared_delay, turnout=Turnout())
    solved = solve(city, policy)
    for node_id in ("n6", "n8"):
        for incident_type in solved.types:
            idle = frozenset(unit for unit in solved.unit_ids if rng.random() < 0.8)
            away = {unit: str(rng.choice(["n4", "n7"])) for unit in sorted(idle)[:2]}
            for moved in ({}, away):
                found = solved.decide(Situation(at=node_id, type=incident_type, idle=idle, moved=moved))
                assert (found.spot.node_id if found.spot else "", found.node_id) == (node_id, node_id)
                for one in found.kinds:
                    check_value(city, solved, one, incident_type, idle, moved)


def check_value(
    city: City, solved: Plan, one: Any, incident_type: str, idle: frozenset[str], moved: dict[str, str]
) -> None:
    """Check what one kind sends by an exhaustive search."""
    fleet, here = solved.fleet(one.fleet.kind), one.fleet.problem
    units = {unit.unit_id for unit in fleet.units}
    elsewhere = {unit: node for unit, node in moved.items() if unit in units}
    cost, error = costs_by_units(city, fleet.kind, here.point_ids[one.point], incident_type, elsewhere)
    needed = next(standard.trucks for standard in fleet.standards if standard.type == incident_type)
    teams = [team for team in cost if team <= units & idle and len(team) == min(needed, len(units & idle))]
    price = prices_by_units(fleet, idle, teams)
    sent, off = frozenset(one.units) - {"outside"}, 3.0 * error + 1e-12
    assert sent in teams
    assert one.decision.total == pytest.approx(cost[sent] + price[sent], abs=off)
    assert one.decision.price == pytest.approx(price[sent], abs=1e-12)
    asked = one.fleet.policy.prices(here.trucks, np.array([team_number(here, one.decision.team)]))
    assert asked == pytest.approx(price[sent], abs=1e-12)
    totals = [cost[team] + price[team] for team in teams]
    assert cost[sent] + price[sent] == pytest.approx(min(totals), abs=2 * off)
    # Teams of other units of the same posts are one alternative.
    assert all(any(abs(other.total - total) <= off for total in totals) for other in one.decision.alternatives)


@each_seed(3)
def test_closest_first_sends_the_closest_to_that_very_place(seed: int) -> None:
    """The units with the shortest routes from where they are, by another library's routes."""
    city = department(seed, turnout=Turnout())
    solved = solve(city, "closest-first")
    roads = nx.Graph()
    for link in city.links:
        roads.add_edge(link.from_node_id, link.to_node_id, weight=link.mean_minutes)
    node_of = {station.station_id: station.node_id for station in city.stations}
    moved = {solved.unit_ids[0]: "n5"}
    where = {unit.unit_id: node_of[unit.station_id] for unit in city.units} | moved
    for node_id in ("n6", "n7", "n8"):
        away = nx.single_source_dijkstra_path_length(roads, node_id)
        for incident_type in solved.types:
            found = solved.decide(Situation(at=node_id, type=incident_type, idle=solved.unit_ids, moved=moved))
            for one in found.kinds:
                units = [unit.unit_id for unit in solved.fleet(one.fleet.kind).units]
                expected = sorted(away[where[unit]] for unit in units)
                sent = [away[where[unit]] for unit in one.units if unit != "outside"]
                assert sorted(sent) == pytest.approx(expected[: len(sent)])


def test_a_fixed_card_is_that_of_the_closest_demand_point() -> None:
    """The first idle stations on the card of the demand point that is closest by road go, and the answer says so."""
    grid = generate_grid(side=4, num_stations=4, load=0.2, seed=2)
    city = replace(grid, demand=grid.demand[:6], outside=Outside(12, 1.0))
    solved = solve(city, "fixed-card")
    (fleet,) = solved.fleets
    roads = nx.Graph((link.from_node_id, link.to_node_id) for link in city.links)
    idle = ["s0", "s2", "s3"]
    for node in city.nodes[6:]:
        found = solved.decide(Situation(at=node.node_id, idle=idle))
        (one,) = found.kinds
        lengths = {point.node_id: nx.shortest_path_length(roads, point.node_id, node.node_id) for point in city.demand}
        assert lengths[found.area] == min(lengths.values())
        assert found.remarks == (f"The card is that of {found.area}, the closest demand point by road.",)
        card = fleet.policy.order[fleet.problem.point_ids.index(found.area)]  # type: ignore[attr-defined]
        expected = [station for station in (fleet.problem.station_ids[i] for i in card) if station in idle][:2]
        assert sorted(one.units) == sorted(expected)


@each_seed(6)
def test_the_small_cities_would_pass_every_check(seed: int) -> None:
    """Cities that are made for a place are not checked. With checks no fault is found, and the decision is equal."""
    city = with_aprons(department(seed), 0.6 * (seed % 2))
    solved, rng = solve(city, "closest-first"), np.random.default_rng(seed)
    free = frozenset(unit.unit_id for unit in city.units if rng.random() < 0.7) | {"E1"}
    nodes = [node for node in city.nodes if not node.node_id.startswith("apron")]
    asked = [(nodes[place].node_id, {"E1": nodes[-1 - place].node_id} if place % 2 else {}) for place in range(5)]
    unchecked = [solved.decide(Situation(at=node, type="fire", idle=free, moved=moved)).kinds for node, moved in asked]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(anywhere, "taken_as_sound", nullcontext)
        patched.setattr(anywhere, "alone", nullcontext)
        for (node, moved), kinds in zip(asked, unchecked, strict=True):
            checked = solved.decide(Situation(at=node, type="fire", idle=free, moved=moved)).kinds
            assert [(one.units, one.decision) for one in checked] == [(one.units, one.decision) for one in kinds]


def test_a_demand_point_by_its_coordinates_is_the_demand_point() -> None:
    """The very same numbers, whether the node is named or its coordinates are given; with the spot beside them."""
    city = department(1)
    solved = solve(city)
    node = next(node for node in city.nodes if node.node_id == city.demand[0].node_id)
    place = node.x_coord + 0.2, node.y_coord - 0.1
    named, found = (solved.decide(Situation(at=at, type="fire")) for at in (node.node_id, place))
    assert [one.decision for one in found.kinds] == [one.decision for one in named.kinds]
    assert named.spot is None
    assert found.spot is not None
    assert found.spot.coordinates == place


@pytest.mark.parametrize("shared_delay", [0.0, 0.5, 1.0])
def test_a_fresh_row_is_the_row_of_the_policy(shared_delay: float) -> None:
    """At a demand point with a unit "moved" to where it is anyway, every team is as late as in the problem."""
    city = department(2, shared_delay=shared_delay, turnout=Turnout())
    solved = solve(city)
    home = {station.station_id: station.node_id for station in city.stations}
    unit, place = solved.fleets[0].units[0], Situation(at=city.demand[0].node_id, type="fire", idle=solved.unit_ids)
    known = solved.decide(place)
    fresh = solved.decide(replace(place, moved={unit.unit_id: home[unit.station_id]}))
    off = 3.0 * solved.fleets[0].problem.cost_error + 1e-12
    assert fresh.kinds[0].decision.p_late == pytest.approx(known.kinds[0].decision.p_late, abs=off)
    assert fresh.kinds[0].decision.total == pytest.approx(known.kinds[0].decision.total, abs=off)
    assert [one.decision for one in fresh.kinds[1:]] == [one.decision for one in known.kinds[1:]]


def test_a_unit_at_another_station_is_as_late_as_those_there() -> None:
    """Without turnout, a unit that stands at another station is late as one that belongs there, alone and in a pair."""
    city = replace(generate_grid(side=4, num_stations=3, load=0.2, seed=4), outside=Outside(9, 1.0))
    units = tuple(Unit(f"E{n}", f"s{n}", "engine") for n in range(3))
    there = tuple(replace(unit, station_id="s1") if unit.unit_id == "E0" else unit for unit in units)
    stations = tuple(replace(station, trucks=0) for station in city.stations)
    solved = solve(replace(city, units=units, stations=stations))
    moved_house = solve(replace(city, units=there, stations=stations[1:]))
    node_of = {station.station_id: station.node_id for station in city.stations}
    for point in city.demand:
        for idle in (["E0"], ["E0", "E1"], ["E0", "E2"]):
            found = solved.decide(Situation(at=point.node_id, idle=idle, moved={"E0": node_of["s1"]}))
            expected = moved_house.decide(Situation(at=point.node_id, idle=idle))
            assert sorted(found.units) == sorted(expected.units)
            assert found.kinds[0].decision.p_late == pytest.approx(expected.kinds[0].decision.p_late, abs=1e-9)


def test_a_unit_on_the_road_has_no_turnout() -> None:
    """A single unit that is free at its own station's node is there as if the city had no turnout."""
    city = replace(department(0), objective=replace(department(0).objective, minimise="minutes"))
    plans = [solve(one, "closest-first") for one in (city, replace(city, turnout=Turnout()), city)]
    home = {station.station_id: station.node_id for station in city.stations}
    for node_id, fleet in product(("n0", "n8"), plans[0].fleets):
        unit, minutes = fleet.units[0], []
        asked = Situation(at=node_id, type=fleet.standards[0].type, idle=[unit.unit_id])
        for plan, moved in zip(plans, ({unit.unit_id: home[unit.station_id]}, None, None), strict=True):
            kinds = plan.decide(replace(asked, moved=moved)).kinds
            minutes.append(next(one.decision.minutes for one in kinds if one.fleet.kind == fleet.kind))
        if fleet.standards[0].trucks == 1:
            assert minutes[0] == pytest.approx(minutes[1], abs=1e-3)
        assert minutes[0] < minutes[2]


def test_a_truck_from_outside_comes_from_as_far_as_ever() -> None:
    """Where the city does not say how far that is, its longest route does, not the one to the address."""
    grid = generate_grid(side=4, num_stations=2, load=0.2, seed=3)
    city = replace(grid, demand=grid.demand[:3])
    (fleet,) = solve(city, "closest-first").fleets
    found = solve(city, "closest-first").decide(Situation(at="n14", idle=[]))
    assert found.units == ("outside", "outside")
    assert found.kinds[0].decision.p_late == pytest.approx(fleet.problem.cost[0, 0], abs=1e-9)
    assert found.kinds[0].decision.price == 0.0


def test_without_a_roster_a_truck_of_a_station_is_elsewhere() -> None:
    """Of two trucks of a station one is at home and one at the incident: both go, each by its own name."""
    grid = generate_grid(side=3, num_stations=2, load=0.2, seed=1, trucks_per_station=2)
    solved = solve(replace(grid, demand=grid.demand[:4]), "closest-first")
    found = solved.decide(Situation(at="n8", idle=["s0", "s0"], moved={"s0": "n8"}))
    assert sorted(found.units) == ["s0", "s0@n8"]
    with pytest.raises(InputError, match="station s1: expected it to be idle"):
        solved.decide(Situation(at="n8", idle=["s0", "s0"], moved={"s1": "n8"}))
    with pytest.raises(InputError, match="idle: expected s0 at most 2 times, got 3"):
        solved.decide(Situation(at="n8", idle=["s0", "s0", "s0"]))


def test_types_of_other_places_are_known_everywhere() -> None:
    """At a demand point without fires, a fire is answered as anywhere; a type that nobody has is refused."""
    city = department(1)
    demand = tuple(point for point in city.demand if (point.node_id, point.type) != ("n0", "fire"))
    solved = solve(replace(city, demand=demand))
    found = solved.decide(Situation(at="n0", type="fire", idle=solved.unit_ids))
    assert found.type == "fire"
    assert found.area != "n0"
    assert {one.fleet.kind for one in found.kinds} == {"engine", "ladder"}
    with pytest.raises(InputError, match=r"expected a type of incident \(fire"):
        solved.decide(Situation(at="n8", type="flood", idle=solved.unit_ids))


def test_standards_are_those_of_the_type() -> None:
    """Each kind says the chance to miss each of its standards, and their weighted sum is the cost."""
    city = department(4)
    solved = solve(city)
    for incident_type in solved.types:
        for one in solved.decide(Situation(at="n8", type=incident_type, idle=solved.unit_ids)).kinds:
            rules = one.fleet.standards_at(one.point)
            assert rules == solved.fleet(one.fleet.kind).standards_of(incident_type)
            chances = one.fleet.chances(one.point, one.decision)
            weighted = sum(rule.weight * chance for rule, chance in zip(rules, chances, strict=True))
            assert weighted == pytest.approx(one.decision.p_late, abs=1e-9)


def test_of_many_units_the_closest_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """With room for few teams only the closest count, the answer says so, and prices are those of all that are idle."""
    grid = generate_grid(side=4, num_stations=6, load=0.1, seed=6)
    solved = solve(replace(grid, demand=grid.demand[:8]))
    every = solved.decide(Situation(at="n15", idle=[f"s{n}" for n in range(6)]))
    monkeypatch.setattr(anywhere, "MOST_TEAMS", 15)
    found = solved.decide(Situation(at="n15", idle=[f"s{n}" for n in range(6)]))
    assert found.remarks == ("Only the 4 closest of 6 places with an idle truck count.",)
    assert found.units == every.units
    assert found.kinds[0].decision.total == pytest.approx(every.kinds[0].decision.total, abs=1e-12)


def one_way() -> City:
    """A road of three nodes with a lane that leads away from the middle: no way back from its end."""
    nodes = tuple(Node(name, float(x), 0.0) for x, name in enumerate(("a", "b", "c", "end")))
    links = (Link("ab", "a", "b", False, 1.0), Link("bc", "b", "c", False, 1.0), Link("be", "b", "end", True, 1.0))
    stations, units = (Station("s", "a"), Station("t", "c")), (Unit("E1", "s", "engine"), Unit("E2", "t", "engine"))
    demand = (DemandPoint("b", 2.0, type="fire"),)
    standards = (Standard("fire", "engine", 1, 1, 3.0),)
    return City("lane", 60.0, None, nodes, links, stations, demand, units=units, standards=standards)


def test_a_unit_without_a_road_is_not_sent() -> None:
    """A unit at the end of a one-way lane cannot go, which is said; if it is the only one, that is an error."""
    solved = solve(one_way(), "closest-first")
    found = solved.decide(Situation(at="b", type="fire", idle=["E1", "E2"], moved={"E1": "end"}))
    assert found.units == ("E2",)
    assert found.remarks == ("No road leads to b from E1@end.",)
    with pytest.raises(InputError, match="node b: expected a road from some idle engine to it, got none"):
        solved.decide(Situation(at="b", type="fire", idle=["E1"], moved={"E1": "end"}))
    assert solved.decide(Situation(at="end", type="fire", idle=["E1", "E2"], moved={"E1": "b"})).units == ("E1",)


def test_who_is_closest_counts_the_start_of_those_on_the_road(monkeypatch: pytest.MonkeyPatch) -> None:
    """With room for one post, a unit on the road does not win by the start that it has as those at home have it."""
    monkeypatch.setattr(anywhere, "MOST_TEAMS", 2)
    city = one_way()
    links = tuple(replace(link, mean_minutes=1.5 if link.link_id == "bc" else 1.0) for link in city.links)
    solved = solve(with_aprons(replace(city, links=links), 2.0), "closest-first")
    found = solved.decide(Situation(at="b", type="fire", idle=["E1", "E2"], moved={"E2": "c"}))
    assert (found.units, found.remarks) == (("E1",), ("Only the 1 closest of 2 places with an idle engine count.",))
    assert solved.decide(Situation(at="b", type="fire", idle=["E1", "E2"], moved={"E2": "b"})).units == ("E2",)


def test_what_cannot_be_is_refused_in_a_sentence() -> None:
    """Unknown units, busy units that are moved, unknown nodes, no city, or that of another department.

    A policy that is a function of the demand point's number has no answer elsewhere.
    """
    city, moved = one_way(), {"E1": "a"}
    solved = solve(city, "closest-first")
    bare = replace(solved, ground=None)
    more = solve(replace(city, units=(*city.units, Unit("E3", "s", "engine"))), "closest-first")
    other = replace(solved, ground=more.ground)
    choose = FunctionPolicy(problem=dispatch_problem(city), name="mine", choose=lambda idle, point, teams: teams[0])
    mine = plan_of(city, {"engine": choose})
    assert mine.decide(Situation(at="b", type="fire", idle=["E2"])).units == ("E2",)
    for words, plan, place, elsewhere in (
        ("expected a unit that is not at home, got 'E9', which is none", solved, "b", {"E9": "a"}),
        ("unit E2: expected it to be idle, since it is said to be free elsewhere, got busy", solved, "b", {"E2": "a"}),
        ("unit E1: expected a node of lane, got 'z'", solved, "b", {"E1": "z"}),
        ("the incident: expected a node of lane, got 'z'", solved, "z", None),
        ("expected moved units as a mapping", solved, "b", ["E1"]),
        ("expected a place and a type as text", solved, 7, None),
        ("expected a demand point (b), got 'a'", bare, "a", None),
        ("the policy holds no city", bare, "b", moved),
        ("the policy holds no city", bare, (0.0, 0.0), None),
        ("mine: a policy that is a function decides for demand points only", mine, "a", None),
        ("lane: expected the stations and demand points that engine has", other, "a", None),
    ):
        with pytest.raises(InputError) as caught:
            plan.decide(Situation(at=place, type="fire", idle=["E1"], moved=elsewhere))  # type: ignore[arg-type]
        assert words in str(caught.value)
