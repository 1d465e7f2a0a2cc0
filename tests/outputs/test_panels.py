"""What a map shows: who sends which truck where, in which colour and under which label."""

from dataclasses import replace

import pytest
from tests.town import plain_town

from runcard.city import City, DemandPoint, generate_grid
from runcard.mdp.from_city import dispatch_problem
from runcard.outputs.areas import AREA_COLOURS, NOBODY
from runcard.outputs.panels import area_colours, drawing_of, panels_of
from runcard.policy.base import Policy
from runcard.policy.solve import evaluate, solve_problem


@pytest.fixture(scope="module")
def city() -> City:
    """The built-in city."""
    return plain_town()


@pytest.fixture(scope="module")
def policies(city: City) -> list[Policy]:
    """Its closest-first, its best card and its optimal policy."""
    problem = dispatch_problem(city)
    return [solve_problem(problem, name) for name in ("closest-first", "fixed-card", "optimal")]


def test_a_panel_has_the_stations_that_the_policy_sends_from_the_closest_first(
    city: City, policies: list[Policy]
) -> None:
    """The panels of all ranks together have the team of each decision, in the order of expected driving times."""
    ground = drawing_of(city)
    panels = panels_of(ground, policies)
    assert [panel.rank for panel in panels] == [0, 0, 0, 1, 1, 1]
    for number, policy in enumerate(policies):
        problem = policy.problem
        for area, point in enumerate(ground.points):
            sent = [problem.station_ids[panel.owners[area]] for panel in panels[number :: len(policies)]]
            assert sorted(sent) == sorted(policy.decide(problem.trucks, point).team)
            order = [problem.station_ids[i] for i in problem.order[point]]
            assert sent == sorted(sent, key=order.index)


def test_cells_where_closest_first_sends_another_truck_are_marked_and_counted(
    city: City, policies: list[Policy]
) -> None:
    """None under closest-first itself; elsewhere those whose station of that rank differs."""
    closest, _, optimal, closest_second, _, optimal_second = panels_of(drawing_of(city), policies)
    assert closest.departing == closest_second.departing == ()
    for one, other in ((optimal, closest), (optimal_second, closest_second)):
        differing = [i for i, owners in enumerate(zip(one.owners, other.owners, strict=True)) if owners[0] != owners[1]]
        assert list(one.departing) == differing
        assert differing
        assert f"not as closest-first in {len(differing)} of {len(city.demand)} areas" in one.words


def test_titles_tell_the_late_fraction_where_it_is_known(city: City, policies: list[Policy]) -> None:
    """From an evaluation, else from the proof of the solver, else not at all; only on the map of the first truck."""
    closest, card, optimal = policies
    known = evaluate(closest)
    titles = [panel.title for panel in panels_of(drawing_of(city), policies, [known])]
    assert titles[0] == f"Closest-first: {100.0 * known.late_fraction:.2f} % late"
    assert titles[2] == f"Optimal: {100.0 * evaluate(optimal).late_fraction:.2f} % late"
    assert titles[3:] == ["Closest-first", "Fixed-card", "Optimal"]
    unproven = solve_problem(card.problem, "one-step-mean-field")
    assert panels_of(drawing_of(city), [unproven])[0].title == "One-step-mean-field"
    words = panels_of(drawing_of(city), policies, [known])[0].words
    assert f"{known.late_per_day:.2f} late incidents a day" in words
    assert f"first truck after {known.mean_response_minutes:.2f} min" in words


def test_of_several_incident_classes_the_most_frequent_is_shown(city: City) -> None:
    """Classes of a node share an area; the first listed counts among equals."""
    extra = (DemandPoint("old-a1", 100.0, trucks=1), DemandPoint("old-a1", 0.0))
    ground = drawing_of(replace(city, demand=(*city.demand, *extra)))
    assert len(ground.points) == len(city.demand)
    (area,) = (n for n, node_id in enumerate(ground.areas.node_ids) if node_id == "old-a1")
    assert ground.points[area] == len(city.demand)
    assert ground.incidents_per_day[area] == pytest.approx(100.0 + city.demand[0].incidents_per_day)
    few = replace(city, demand=tuple(replace(point, incidents_per_day=1.0) for point in city.demand) + extra[1:])
    assert drawing_of(few).points[area] == 0


def test_missing_trucks_come_from_outside_and_fewer_are_needed_than_there_are_maps() -> None:
    """One truck in all: the second comes from outside. Where one truck is enough, nobody is second."""
    grid = generate_grid(side=3, num_stations=1, load=0.1, seed=1)
    demand = tuple(replace(point, trucks=1) if number < 4 else point for number, point in enumerate(grid.demand))
    city = replace(grid, demand=demand)
    ground = drawing_of(city)
    first, second = panels_of(ground, [solve_problem(dispatch_problem(city), "optimal")])
    assert set(first.owners) == {0}
    assert list(second.owners) == [NOBODY] * 4 + [1] * 5


@pytest.mark.slow
@pytest.mark.parametrize(("side", "num_stations"), [(6, 5), (14, 16), (16, 47)])
def test_areas_that_touch_have_the_colour_of_one_station_or_two_colours(side: int, num_stations: int) -> None:
    """On no map do two stations of one colour meet; up to twelve stations all have their own."""
    grid = generate_grid(side=side, num_stations=num_stations, load=0.1, seed=2)
    one_truck = replace(grid, trucks_per_incident=1) if num_stations > 16 else grid
    ground = drawing_of(one_truck)
    problem = dispatch_problem(one_truck, minutes=False)
    name = "optimal" if num_stations <= 5 else "closest-first"
    panels = panels_of(ground, [solve_problem(problem, name)])
    colours = area_colours(ground, panels)
    assert len(colours) == num_stations + 1
    if num_stations <= len(AREA_COLOURS):
        assert len(set(colours)) == num_stations + 1
    for panel in panels:
        for i, j in ground.areas.neighbours:
            a, b = panel.owners[i], panel.owners[j]
            assert a == b or colours[a] != colours[b]


def test_labels_are_names_if_they_are_short_else_ids_else_numbers(city: City) -> None:
    """And no two stations have the same."""

    def labels(**changes: str) -> tuple[str, ...]:
        stations = tuple(
            replace(station, **{key: value.format(number) for key, value in changes.items()})
            for number, station in enumerate(city.stations)
        )
        return drawing_of(replace(city, stations=stations)).labels

    assert labels() == tuple(station.name for station in city.stations)
    assert labels(name="") == tuple(station.station_id for station in city.stations)
    assert labels(name="Engine {} and Ladder 5", station_id="E{}")[:2] == ("E0", "E1")
    assert labels(name="Station", station_id="E{}")[:2] == ("E0", "E1")
    assert labels(name="Station", station_id="the-station-{}")[:2] == ("1", "2")
