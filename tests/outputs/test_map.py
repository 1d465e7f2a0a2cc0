"""The drawing of a map, looked at through its artists."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import shapely
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import Collection, PathCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from numpy.typing import NDArray
from tests.town import plain_town

from runcard.city import City, DemandPoint, Objective, generate_grid
from runcard.errors import InputError, MissingExtraError
from runcard.mdp.from_city import dispatch_problem
from runcard.outputs.map import draw_map, free_spot, map_figure
from runcard.outputs.panels import area_colours, drawing_of, panels_of
from runcard.policy.base import Policy
from runcard.policy.by_order import OrderPolicy
from runcard.policy.solve import evaluate, solve_problem


@pytest.fixture(scope="module")
def city() -> City:
    """The built-in city."""
    return plain_town()


@pytest.fixture(scope="module")
def policies(city: City) -> list[Policy]:
    """Its closest-first and its optimal policy."""
    problem = dispatch_problem(city)
    return [solve_problem(problem, "closest-first"), solve_problem(problem, "optimal")]


@pytest.fixture(scope="module")
def figure(city: City, policies: list[Policy]) -> Figure:
    """The map of both."""
    return map_figure(city, policies, [evaluate(policy) for policy in policies])


def collection(axes: Axes, name: str) -> Collection:
    """The shapes of that name on a map."""
    return next(one for one in axes.collections if one.get_gid() == name)


def maps_of(figure: Figure) -> list[Axes]:
    """The maps of a figure, without the bars."""
    return [axes for axes in figure.axes if not axes.patches]


def words_of(figure: Figure) -> str:
    """Everything that stands beside the maps."""
    return " ".join(text.get_text().replace("\n", " ") for text in figure.texts)


def boxes(figure: Figure, axes: Axes) -> list[tuple[str, np.ndarray]]:
    """The labels of a map and the boxes that they really take, in dots."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    return [(text.get_text(), text.get_window_extent(renderer).get_points()) for text in axes.texts]


def test_each_cell_is_drawn_once_in_the_colour_of_its_station(
    city: City, policies: list[Policy], figure: Figure
) -> None:
    """Four maps, for two trucks under two policies; cells that depart from closest-first are hatched."""
    ground = drawing_of(city)
    panels = panels_of(ground, policies)
    colours = area_colours(ground, panels)
    maps = maps_of(figure)
    assert len(maps) == len(panels) == 4
    for axes, panel in zip(maps, panels, strict=True):
        areas = collection(axes, "areas")
        drawn = [to_hex(colour).upper() for colour in areas.get_facecolor()]
        assert drawn == [colours[owner] for owner in panel.owners]
        for path, shape in zip(areas.get_paths(), ground.areas.shapes, strict=True):
            assert path.vertices == pytest.approx(shapely.get_coordinates(shape))
        assert len(collection(axes, "departing").get_paths()) == len(panel.departing)
        assert collection(axes, "departing").get_hatch()


def test_every_station_is_named_on_the_first_maps_and_has_a_bar(city: City, figure: Figure) -> None:
    """Nine names on each map of the first truck, and nine bars with their names."""
    names = {station.name for station in city.stations}
    for axes in maps_of(figure)[:2]:
        assert names <= {text.get_text() for text in axes.texts}
    for axes in maps_of(figure):
        triangles = [one for one in axes.collections if isinstance(one, PathCollection)][-1]
        assert len(triangles.get_offsets()) == len(names)
    (bars,) = (axes for axes in figure.axes if axes.patches)
    assert len(bars.patches) == len(names)
    assert names <= {text.get_text() for text in figure.texts}


def test_every_territory_has_its_label(city: City, policies: list[Policy], figure: Figure) -> None:
    """Colour is not the only sign: on the map of the second truck each station that sends one is named."""
    panels = panels_of(drawing_of(city), policies)
    for axes, panel in list(zip(maps_of(figure), panels, strict=True))[2:]:
        names = {city.stations[owner].name for owner in panel.owners}
        assert names <= {text.get_text() for text in axes.texts}


def test_labels_do_not_overlap(figure: Figure) -> None:
    """As they are drawn, no two labels of a map share a dot, but for two dots of slack."""
    for axes in maps_of(figure):
        labels = boxes(figure, axes)
        for number, (one, box) in enumerate(labels):
            for other, second in labels[:number]:
                shared = np.minimum(box[1], second[1]) - np.maximum(box[0], second[0])
                assert shared.min() < 2.0, (one, other)


def test_headings_stay_in_their_columns(figure: Figure) -> None:
    """No words run out of the picture, or over one another."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    found = [text.get_window_extent(renderer).get_points() for text in figure.texts]
    for number, box in enumerate(found):
        assert box.min() >= 0.0
        assert (box[1] <= figure.bbox.get_points()[1]).all()
        for other in found[:number]:
            assert (np.minimum(box[1], other[1]) - np.maximum(box[0], other[0])).min() < 2.0


def test_words_say_what_is_shown(city: City, policies: list[Policy], figure: Figure) -> None:
    """The title, the late fractions, which policy the prices are of, and how the map is read."""
    words = words_of(figure)
    for part in (
        "Two Bridges: who is sent when every truck is idle",
        f"Closest-first: {100.0 * evaluate(policies[0]).late_fraction:.2f} % late",
        f"Optimal: {100.0 * evaluate(policies[1]).late_fraction:.2f} % late",
        "First truck",
        "Second truck: not as closest-first in",
        "Price of a truck",
        "optimal: late incidents later",
        "Hatched: closest-first sends another truck.",
    ):
        assert part in words
    assert "outside" not in words


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
    policy = solve_problem(dispatch_problem(replace(city, objective=objective)), "optimal")
    figure = map_figure(city, [policy])
    assert words in words_of(figure)
    highest = policy.prices(policy.problem.trucks, np.arange(1, 1 + policy.problem.num_stations)).max()
    times = 1.0 if objective.minimise == "minutes" else 100.0
    assert max(bar.get_width() for bar in figure.axes[-1].patches) == pytest.approx(times * highest)


class NoPrices:
    """Prices of a policy that nobody has solved."""

    def prices(self, idle: NDArray[np.int64], teams: NDArray[np.int64]) -> NDArray[np.float64]:
        """All 0."""
        return np.zeros(len(teams))


@pytest.mark.slow
@pytest.mark.parametrize(("num_stations", "side"), [(47, 45), (200, 20)])
def test_many_stations_and_points_are_drawn(num_stations: int, side: int) -> None:
    """47 stations with 2,025 points, and 200: all are labelled and have a bar."""
    grid = generate_grid(side=side, num_stations=num_stations, load=0.1, seed=1, sparseness=1.0)
    city = replace(grid, trucks_per_incident=1)
    problem = dispatch_problem(city, minutes=False)
    policy = OrderPolicy(name="closest-first", problem=problem, order=problem.order, known=NoPrices(), certificate=None)
    figure = map_figure(city, [policy])
    labels = [text.get_text() for text in maps_of(figure)[0].texts]
    assert {station.station_id for station in city.stations} <= set(labels)
    assert sum(len(axes.patches) for axes in figure.axes) == num_stations
    assert len(collection(maps_of(figure)[0], "areas").get_paths()) == side * side
    assert max(figure.get_size_inches()) < 40.0


@pytest.mark.parametrize("trucks", [1, 2, 4])
@pytest.mark.parametrize("shape", ["a line", "a spot", "huge", "tiny", "a far point"])
def test_odd_cities_can_be_drawn(shape: str, trucks: int, tmp_path: Path) -> None:
    """One station, incidents in one place only and coordinates of any kind are no reason to fail."""
    grid = generate_grid(side=2, num_stations=1, load=0.1, seed=1)
    places = {
        "a line": [(0.0, 0.0), (0.0, 1.0), (0.0, 2.0), (0.0, 3.0)],
        "a spot": [(5.0, 5.0)] * 4,
        "huge": [(1e12, -1e12), (-1e12, 1e12), (0.0, 0.0), (1.0, 1.0)],
        "tiny": [(0.0, 0.0), (1e-320, 0.0), (0.0, 1e-310), (1e-300, 1e-300)],
        "a far point": [(-73.9, 40.7), (-73.8, 40.7), (-73.9, 40.8), (0.0, 0.0)],
    }
    nodes = tuple(replace(node, x_coord=x, y_coord=y) for node, (x, y) in zip(grid.nodes, places[shape], strict=True))
    demand = (DemandPoint("n1", 2.0, trucks=trucks), DemandPoint("n2", 0.0), DemandPoint("n3", 0.5, trucks=1))
    city = replace(grid, nodes=nodes, demand=demand)
    draw_map(city, [solve_problem(dispatch_problem(city), "optimal")], tmp_path / "map.png")
    assert (tmp_path / "map.png").stat().st_size > 1000


@pytest.mark.slow
def test_the_same_map_is_the_same_file(city: City, policies: list[Policy], tmp_path: Path) -> None:
    """Files have no date in them, so that drawing again changes nothing."""
    paths = [tmp_path / f"{name}.{ending}" for ending in ("png", "svg") for name in ("one", "two")]
    draw_map(city, policies, *paths[::2])
    draw_map(city, policies, *paths[1::2])
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert paths[2].read_bytes() == paths[3].read_bytes()
    assert paths[2].read_bytes().startswith(b"<?xml")


def test_names_are_words_even_with_signs_in_them(city: City, policies: list[Policy], tmp_path: Path) -> None:
    """A dollar sign in a name starts no formula."""
    first, *others = city.stations
    odd = replace(city, name="$x^{$ & _y_", stations=(replace(first, name=r"$\\frac{$"), *others))
    draw_map(odd, policies, tmp_path / "map.svg")
    assert (tmp_path / "map.svg").exists()


def test_another_ending_is_refused_before_drawing(city: City, policies: list[Policy], tmp_path: Path) -> None:
    """The message names the endings, and nothing is written, not even the good one."""
    with pytest.raises(InputError, match=r"to end in \.png, \.svg, \.pdf, got '\.docx'"):
        draw_map(city, policies, tmp_path / "map.png", tmp_path / "map.docx")
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib_the_error_names_the_extra(
    city: City, policies: list[Policy], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person without the extra reads how to install it."""
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"runcard\[report\]"):
        draw_map(city, policies, tmp_path / "map.png")


def test_a_label_takes_the_first_spot_that_is_free() -> None:
    """Not on another label and not out of the frame; if there is none, that is said."""
    frame, taken = (0.0, 0.0, 10.0, 10.0), [(4.0, 4.0, 6.0, 6.0)]
    assert free_spot([5 + 5j, 9.5 + 5j, 5 + 7j], 2.0, 1.0, taken, frame) == 5 + 7j
    assert free_spot([5 + 6.5j], 2.0, 1.0, taken, frame) == 5 + 6.5j  # boxes may touch
    assert free_spot([5 + 5j, 9.5 + 5j], 2.0, 1.0, taken, frame) is None
