"""Where incidents are on the roads."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.calibrate.cities import made_up, plain_city, road_city, true_city

from runcard.calibrate.log import Log, read_log
from runcard.calibrate.mapping import LogMapping
from runcard.calibrate.placing import of_placed, place_incidents
from runcard.city.areas import area_of_nodes, demand_nodes
from runcard.city.places import distance_metres
from runcard.errors import InputError


@pytest.fixture
def log(tmp_path: Path) -> Log:
    """A made-up log of the known city."""
    return made_up(tmp_path, true_city(road_city()), incidents=200)[0]


def moved(log: Log, east: float, north: float, number: int | None = None) -> Log:
    """The log with its incidents, or the first so many, moved by some degrees."""
    incidents = log.incidents.copy()
    incidents["x"][:number] += east
    incidents["y"][:number] += north
    return replace(log, incidents=incidents)


def test_an_incident_is_at_the_nearest_node(log: Log) -> None:
    """The node is the one that a look at all of them finds, its area is the node's, and metres are true."""
    city, near = road_city(), moved(log, 0.0011, -0.0013)
    placed = place_incidents(city, near)
    metres = np.array([
        distance_metres(
            near.incidents["x"], near.incidents["y"], node.x_coord, node.y_coord, lonlat=True
        ) for node in city.nodes
    ])  # fmt: skip
    assert placed.node.tolist() == metres.argmin(axis=0).tolist()
    assert placed.metres == pytest.approx(metres.min(axis=0), rel=1e-6)
    assert placed.centres == demand_nodes(city)
    assert placed.area.tolist() == area_of_nodes(city)[placed.node].tolist()


def test_far_incidents_are_rejected_and_counted_once(log: Log) -> None:
    """The rows of some in the sea are rejected with their line, unit and distance; the same log again does not count
    them twice."""
    far = moved(log, 0.5, 0.0, 12)
    rows = far.responses[far.responses["incident"] < 12]
    assert len(rows) > 12  # a fire has several
    for _ in range(2):
        placed = place_incidents(road_city(), far)
        assert (placed.node < 0).sum() == (placed.area < 0).sum() == 12
        assert far.rejected.counts == {"the incident is far from any road, or at an unknown node": len(rows)}
    line, _, incident, unit, found = far.rejected.rows[0]
    first = rows[0]
    assert (line, incident) == (int(first["line"]), far.incident_ids[first["incident"]])
    assert unit == far.units[first["unit"]]
    assert 40_000 < float(found.removesuffix(" m")) < 45_000


def test_each_row_is_used_or_rejected_once(log: Log) -> None:
    """After the far incidents are left out, what is used and what is rejected are all rows, and no line is both."""
    far = moved(log, 0.5, 0.0, 12)
    used = of_placed(far, place_incidents(road_city(), far))
    lines = [*used.responses["line"].tolist(), *(row[0] for row in used.rejected.rows)]
    assert len(lines) == len(set(lines)) == used.num_rows


def test_swapped_coordinates_are_noticed(log: Log) -> None:
    """Longitudes in the place of latitudes are an error that says so."""
    incidents = log.incidents.copy()
    incidents["x"], incidents["y"] = log.incidents["y"], log.incidents["x"]
    with pytest.raises(InputError, match="only if x and y, longitude and latitude, change places"):
        place_incidents(road_city(), replace(log, incidents=incidents))


def test_the_log_of_another_city_is_an_error(log: Log) -> None:
    """Degrees far away, and degrees on a map of metres, are not taken for incidents at the edge."""
    num = len(log.incidents)
    for city, other in ((road_city(), moved(log, 3.0, 3.0)), (plain_city(metres=True), log)):
        with pytest.raises(InputError, match=f"near the roads of Known, got {num} of {num} farther than"):
            place_incidents(city, other)


def test_incidents_may_name_their_node(tmp_path: Path) -> None:
    """A column of nodes places incidents without coordinates; an unknown node is a counted rejection."""
    path = tmp_path / "calls.csv"
    path.write_text(
        "i,u,k,d,n\n" + "".join(f"{n},E{n},e,2024-05-01T10:00,{at}\n" for n, at in enumerate(("n00", "n34", "x")))
    )
    mapping = LogMapping("m", {"incident": "i", "unit": "u", "kind": "k", "dispatched": "d", "node": "n"})
    log = read_log(path, mapping)
    placed = place_incidents(road_city(), log)
    assert placed.node.tolist() == [0, 19, -1]
    assert [one[0] for one in log.rejected.rows] == [4]
