"""Cities and decisions as GeoJSON, read back by geopandas and checked by shapely and networkx."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import geopandas
import networkx
import numpy as np
import pytest
import shapely
from tests.departments import random_department

from runcard.city import City, Driving, Turnout, generate_grid
from runcard.city.aprons import with_aprons
from runcard.errors import InputError
from runcard.mdp.problem import MINUTES
from runcard.outputs.geojson import Layers, write_geojson
from runcard.policy.department import Department, solve_department

TURNOUT = {"engine": Turnout(0.7), "ladder": Turnout(1.1)}


def on_earth(city: City) -> City:
    """A city on a grid, moved to longitude and latitude."""
    nodes = (replace(one, x_coord=7.0 + one.x_coord / 700.0, y_coord=51.0 + one.y_coord / 1100.0) for one in city.nodes)
    return replace(city, nodes=tuple(nodes))


@dataclass(frozen=True)
class Written:
    """A department and the tables that were read back from its files."""

    city: City
    department: Department
    tables: dict[str, geopandas.GeoDataFrame]


def read(folder: Path) -> dict[str, geopandas.GeoDataFrame]:
    """The files of a folder as tables, by name."""
    return {path.stem: geopandas.read_file(path) for path in sorted(folder.iterdir())}


@pytest.fixture(scope="module", params=[3, 8])
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Written:
    """A random department whose engines and ladders take a while to leave, solved and written."""
    city = replace(on_earth(random_department(request.param, side=4)), turnout_by_kind=TURNOUT)
    department = solve_department(city)
    folder = tmp_path_factory.mktemp("gis") / "out"
    assert [path.name for path in write_geojson(city, folder, department)] == [
        f"{name}.geojson" for name in ("areas", "stations", "roads", "routes", "decisions")
    ]
    return Written(city, department, read(folder))


def drives(city: City) -> networkx.MultiDiGraph:
    """The roads of a city as networkx has them."""
    graph = networkx.MultiDiGraph()
    for link in city.links:
        graph.add_edge(link.from_node_id, link.to_node_id, minutes=link.mean_minutes)
        if not link.directed:
            graph.add_edge(link.to_node_id, link.from_node_id, minutes=link.mean_minutes)
    return graph


def every(department: Department) -> list[str]:
    """All units."""
    return [unit.unit_id for fleet in department.fleets for unit in fleet.units]


def test_shapes_are_valid_and_on_earth(written: Written) -> None:
    """Shapely finds every shape valid, in the coordinates that the standard wants, where the city is."""
    left, bottom, right, top = 6.99, 50.99, 7.02, 51.02
    for name, table in written.tables.items():
        assert table.crs.to_epsg() == 4326
        shapes = table.geometry.dropna()
        assert shapes.is_valid.all(), name
        assert shapes.within(shapely.box(left, bottom, right, top)).all(), name
    assert len(written.tables["roads"]) == len(written.city.links)
    assert len(written.tables["areas"]) == 4
    assert len(written.tables["stations"]) == len(written.city.stations)


def test_properties_are_flat_and_the_same_for_all(written: Written) -> None:
    """Every feature of a file has the same properties, none of which is a list or a mapping."""
    for document in Layers(written.city, written.department).documents().values():
        rows = [feature["properties"] for feature in document["features"]]
        assert len({tuple(row) for row in rows}) == 1
        assert all(isinstance(one, str | int | float | bool | None) for row in rows for one in row.values())
        json.dumps(document, allow_nan=False)


def test_decisions_are_those_of_the_department(written: Written) -> None:
    """For each area, type and kind: the units, the chances, the minutes, and whether closest-first sends others."""
    closest = solve_department(written.city, "closest-first")
    idle, count = every(written.department), 0
    table = written.tables["decisions"]
    for (node_id, name), rows in table.groupby(["node_id", "type"]):
        decided = written.department.decide(idle, node_id, name)
        nearest = closest.decide(idle, node_id, name)
        found = {row.kind: row for row in rows.itertuples()}
        assert set(found) == {one.fleet.kind for one in decided.kinds}
        for one, other in zip(decided.kinds, nearest.kinds, strict=True):
            row = found[one.fleet.kind]
            assert row.units == ", ".join(one.units)
            assert row.closest_first == ", ".join(other.units)
            assert row.departs == (sorted(one.units) != sorted(other.units))
            chances = [getattr(row, f"miss_{n + 1}") for n in range(len(one.fleet.standards_at(one.point)))]
            assert chances == pytest.approx(one.fleet.chances(one.point, one.decision))
            assert row.missed == pytest.approx(one.decision.p_late)
            assert row.standard_1 == one.fleet.standards_at(one.point)[0].rule
            count += 1
    assert count == len(table) == sum(fleet.problem.num_points for fleet in written.department.fleets)


def test_routes_lead_from_the_station_to_the_area_in_the_shortest_time(written: Written) -> None:
    """Each unit that a decision names has one route, as long as networkx finds the shortest to be."""
    graph = drives(written.city)
    places = {one.node_id: shapely.Point(one.x_coord, one.y_coord) for one in written.city.nodes}
    homes = {one.station_id: one.node_id for one in written.city.stations}
    routes = written.tables["routes"]
    for row in routes.itertuples():
        home = homes[row.station_id]
        shortest = networkx.shortest_path_length(graph, home, row.node_id, weight="minutes")
        assert row.drive_minutes == pytest.approx(shortest, abs=1e-12)
        assert row.mean_minutes == pytest.approx(shortest + TURNOUT[row.kind].mean_minutes)
        if home == row.node_id:
            assert row.geometry is None
        else:
            start, *_, end = (shapely.Point(place) for place in row.geometry.coords)
            assert start.distance(places[home]) < 1e-6
            assert end.distance(places[row.node_id]) < 1e-6
            assert len(row.geometry.coords) == row.links + 1
    sent = {
        (row.node_id, unit)
        for row in written.tables["decisions"].itertuples()
        for unit in row.units.split(", ")
        if unit != "outside"
    }
    assert {(row.node_id, row.unit) for row in routes.itertuples()} == sent
    assert len(routes) == len(sent)


def test_a_unit_that_goes_alone_takes_the_minutes_of_the_problem(written: Written) -> None:
    """Where one unit of a kind goes, the mean minutes of its route are those that the policy counts with."""
    routes = {(row.node_id, row.unit): row.mean_minutes for row in written.tables["routes"].itertuples()}
    alone = [row for row in written.tables["decisions"].itertuples() if (row.node_id, row.units) in routes]
    assert {row.kind for row in alone} == {"engine", "ladder"}
    for row in alone:
        assert routes[row.node_id, row.units] == pytest.approx(row.first_minutes, rel=1e-9)


def test_areas_have_the_mean_over_their_incidents(written: Written) -> None:
    """Missed standards and minutes of a kind, weighted by the rates of the types that need it."""
    decisions = written.tables["decisions"]
    for area in json.loads(written.tables["areas"].to_json())["features"]:
        own = area["properties"]
        rates = [one.incidents_per_day for one in written.city.demand if one.node_id == own["node_id"]]
        assert own["incidents_per_day"] == pytest.approx(sum(rates))
        for kind in written.city.kinds:
            rows = decisions[(decisions.node_id == own["node_id"]) & (decisions.kind == kind)]
            for name, column in ((f"missed {kind}", rows.missed), (f"first_minutes {kind}", rows.first_minutes)):
                assert own[name] == pytest.approx(np.average(column, weights=rows.incidents_per_day))


def test_stations_have_their_units_and_prices(written: Written) -> None:
    """The price of a unit is the value of losing it: h without it less h with every unit idle."""
    for row in json.loads(written.tables["stations"].to_json())["features"]:
        own: dict[str, Any] = row["properties"]
        units = [unit for unit in written.city.units if unit.station_id == own["station_id"]]
        assert own["units"] == ", ".join(unit.unit_id for unit in units)
        assert own["num_units"] == len(units)
        for fleet in written.department.fleets:
            problem, price = fleet.problem, own[f"price {fleet.kind}"]
            if own["station_id"] not in problem.station_ids:
                assert price is None
                continue
            without = problem.trucks.copy()
            without[problem.station_ids.index(own["station_id"])] -= 1
            value, stride = fleet.policy.value, problem.layout.states.stride  # type: ignore[attr-defined]
            assert price == pytest.approx(value[int(without @ stride)] - value[int(problem.trucks @ stride)])


def test_a_city_without_a_policy_has_no_decisions(tmp_path: Path) -> None:
    """Areas, stations and roads; a plain city says nothing of kinds."""
    city = on_earth(generate_grid(side=4, num_stations=3, load=0.1, seed=1))
    write_geojson(city, tmp_path)
    assert sorted(read(tmp_path)) == ["areas", "roads", "stations"]
    department = solve_department(city)
    write_geojson(city, tmp_path, department)
    tables = read(tmp_path)
    assert {"missed", "first_minutes"} <= set(tables["areas"])
    assert "price" in tables["stations"]
    missed = department.fleets[0].problem.measures[MINUTES]
    assert tables["areas"].first_minutes.between(missed.min(), missed.max()).all()


def test_second_units_that_take_another_road_have_their_own_route(tmp_path: Path) -> None:
    """With second_route = "disjoint" two units of one station are drawn on different roads."""
    plain = on_earth(generate_grid(side=4, num_stations=2, load=0.1, seed=1, sparseness=1.0))
    city = replace(
        plain,
        stations=tuple(replace(station, trucks=2) for station in plain.stations),
        driving=replace(plain.driving, second_route="disjoint"),
    )
    assert city.driving != Driving()
    write_geojson(city, tmp_path, solve_department(city, "closest-first"))
    routes = read(tmp_path)["routes"].dropna(subset="geometry")
    pairs = [rows for _, rows in routes.groupby(["node_id", "station_id"]) if len(rows) == 2]
    assert pairs
    assert all(rows.geometry.iloc[0].intersection(rows.geometry.iloc[1]).length == 0.0 for rows in pairs)


def test_coordinates_that_are_none_of_the_earth_are_refused(tmp_path: Path) -> None:
    """GeoJSON has no others, and nothing is made."""
    city = generate_grid(side=3, num_stations=2, load=0.1, seed=1)
    with pytest.raises(InputError, match="not longitude and latitude"):
        write_geojson(city, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_nothing_is_written_if_something_cannot_be(tmp_path: Path) -> None:
    """One file that cannot be written is found out before the first is; a folder that is a file is refused."""
    city = on_earth(generate_grid(side=3, num_stations=2, load=0.1, seed=1))
    (tmp_path / "roads.geojson").mkdir()
    with pytest.raises(InputError, match="got a folder"):
        write_geojson(city, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["roads.geojson"]
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="expected a folder"):
        write_geojson(city, tmp_path / "file")
    with pytest.raises(InputError, match="expected an existing folder to make it in"):
        write_geojson(city, tmp_path / "missing" / "out")


def test_the_start_of_a_drive_is_no_road(tmp_path: Path) -> None:
    """Aprons have no length, so that no map can draw them: every road of the file has a line."""
    city = with_aprons(on_earth(generate_grid(side=4, num_stations=3, load=0.1, seed=1)), 1.5)
    write_geojson(city, tmp_path)
    roads = read(tmp_path)["roads"]
    assert len(roads) == len(city.links) - 3
    assert not roads.geometry.isna().any()
