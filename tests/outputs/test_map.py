"""The map of a policy."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.collections import PatchCollection

from runcard.city import City, DemandPoint, Objective, demo_city, generate_grid
from runcard.errors import InputError, MissingExtraError
from runcard.mdp.from_city import dispatch_problem
from runcard.outputs.map import PALETTE, canvas_of, colours_for, draw_policy_map, policy_map, sectors_of
from runcard.policy.base import Policy
from runcard.policy.solve import evaluate, solve


@pytest.fixture(scope="module")
def city() -> City:
    """The built-in city."""
    return demo_city()


@pytest.fixture(scope="module")
def policy(city: City) -> Policy:
    """Its optimal policy."""
    return solve(dispatch_problem(city), "optimal")


def test_titles_tell_the_late_fractions(city: City, policy: Policy) -> None:
    """Each map says which policy it shows and how late that is."""
    closest = evaluate(solve(policy.problem, "closest-first"))
    figure = policy_map(city, policy)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles[0] == f"Closest-first: {closest.late_fraction:.2%} late"
    assert titles[1] == f"Optimal: {evaluate(policy).late_fraction:.2%} late"


def test_every_station_is_named_on_both_maps_and_has_a_bar(city: City, policy: Policy) -> None:
    """Nine names on each map, and nine bars that are their legend."""
    left, middle, right = policy_map(city, policy).axes
    names = {station.name for station in city.stations}
    for axes in (left, middle):
        assert names <= {text.get_text() for text in axes.texts}
    assert names == {label.get_text() for label in right.get_yticklabels()}
    assert len(right.patches) == len(names)


@pytest.mark.parametrize(
    ("objective", "words"),
    [
        (Objective(), "late incidents later, per"),
        (Objective("minutes"), "extra response minutes later"),
        (Objective("late+minutes", 0.05), "response as 0.05"),
    ],
)
def test_prices_are_in_the_unit_of_the_objective(city: City, objective: Objective, words: str) -> None:
    """What stands above the bars says what a price counts, and the longest bar is the highest price in that unit."""
    policy = solve(dispatch_problem(replace(city, objective=objective)), "optimal")
    right = policy_map(city, policy).axes[2]
    assert any(words in text.get_text() for text in right.texts)
    highest = policy.prices(policy.problem.trucks, np.arange(1, 1 + policy.problem.num_stations)).max()
    times = 1.0 if objective.minimise == "minutes" else 100.0
    assert max(bar.get_width() for bar in right.patches) == pytest.approx(times * highest)


def test_rings_mark_the_points_where_the_policies_differ(city: City, policy: Policy) -> None:
    """The second map has one ring for each demand point that gets another team than from closest-first."""
    closest, idle = solve(policy.problem, "closest-first"), policy.problem.trucks
    differing = sum(
        policy.decide(idle, point).team != closest.decide(idle, point).team
        for point in range(policy.problem.num_points)
    )
    figure = policy_map(city, policy)
    collections = [one for one in figure.axes[1].collections if isinstance(one, PatchCollection)]
    assert len(collections[-1].get_paths()) == differing
    assert f"the {differing} of {len(city.demand)} demand points" in figure.get_supxlabel()


def test_a_disc_is_shared_by_the_stations_and_each_part_faces_its_own(city: City) -> None:
    """West of the node the western station's half, east the eastern one's; together they are the whole disc."""
    canvas = canvas_of(city)
    parts = {station_id: wedge for wedge, station_id in sectors_of(canvas, "old-c3", ("westend", "eastgate"))}
    middle = {station_id: (wedge.theta1 + wedge.theta2) / 2.0 % 360.0 for station_id, wedge in parts.items()}
    assert 90.0 < middle["westend"] < 270.0
    assert not 90.0 <= middle["eastgate"] <= 270.0
    assert [wedge.theta2 - wedge.theta1 for wedge in parts.values()] == pytest.approx([180.0, 180.0])
    thirds = sectors_of(canvas, "old-c3", ("central", "central", "outside"))
    assert [wedge.theta2 - wedge.theta1 for wedge, _ in thirds] == pytest.approx([120.0] * 3)


def test_colours_differ_while_there_are_enough_and_then_lie_apart() -> None:
    """Nine places have nine colours; a tenth takes that of the place farthest from it."""
    places = [complex(number, 0.0) for number in range(10)]
    colours = colours_for(places)
    assert set(colours[:9]) == set(PALETTE)
    assert colours[9] == colours[0]


def test_the_same_map_is_the_same_file(city: City, policy: Policy, tmp_path: Path) -> None:
    """Files have no date in them, so that drawing again changes nothing."""
    paths = [tmp_path / f"{name}.{ending}" for ending in ("png", "svg") for name in ("one", "two")]
    draw_policy_map(city, policy, *paths[::2])
    draw_policy_map(city, policy, *paths[1::2])
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert paths[2].read_bytes() == paths[3].read_bytes()
    assert paths[2].read_bytes().startswith(b"<?xml")


def test_a_node_with_several_incident_classes_is_one_disc(city: City) -> None:
    """The class with the most incidents is drawn."""
    demand = (*city.demand, DemandPoint("old-a1", 100.0, trucks=1), DemandPoint("old-a1", 0.0))
    canvas = canvas_of(replace(city, demand=demand))
    assert canvas.points["old-a1"] == len(city.demand)
    assert len(canvas.points) == len(city.demand)


@pytest.mark.parametrize("trucks", [1, 2])
def test_small_and_flat_cities_can_be_drawn(trucks: int, tmp_path: Path) -> None:
    """One station, equal coordinates and incidents in one place only are no reason to fail."""
    grid = generate_grid(side=2, num_stations=1, load=0.1, seed=1)
    nodes = tuple(replace(node, x_coord=0.0) for node in grid.nodes)
    flat = replace(grid, nodes=nodes, demand=(DemandPoint("n1", 2.0, trucks=trucks), DemandPoint("n2", 0.0)))
    draw_policy_map(flat, solve(dispatch_problem(flat), "optimal"), tmp_path / "map.png")
    assert (tmp_path / "map.png").stat().st_size > 1000


def test_names_are_words_even_with_signs_in_them(city: City, policy: Policy, tmp_path: Path) -> None:
    """A dollar sign in a name starts no formula."""
    first, *others = city.stations
    odd = replace(city, name="$x^{$ & _y_", stations=(replace(first, name=r"$\\frac{$"), *others))
    draw_policy_map(odd, policy, tmp_path / "map.svg")
    assert (tmp_path / "map.svg").exists()


def test_another_ending_is_refused_before_drawing(city: City, policy: Policy, tmp_path: Path) -> None:
    """The message names the endings, and nothing is written, not even the good one."""
    with pytest.raises(InputError, match=r"to end in \.png, \.svg, \.pdf, got '\.docx'"):
        draw_policy_map(city, policy, tmp_path / "map.png", tmp_path / "map.docx")
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib_the_error_names_the_extra(
    city: City, policy: Policy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person without the extra reads how to install it."""
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"runcard\[report\]"):
        draw_policy_map(city, policy, tmp_path / "map.png")
