"""Incident logs: a good one is replayed as it is, and of a bad one the row is named."""

from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from runcard.city import City
from runcard.errors import InputError
from runcard.simulate.incident_log import read_incident_log

from .cases import (
    department_of,
    department_policies,
    department_records,
    policies_of,
    records_of,
    scenario_of,
    simulated,
    small_city,
)

HEADER = "time,node_id"
LONG = f"'{'x' * 27}...{'x' * 28}'"


def with_classes() -> City:
    """A city with two classes of incidents at n0."""
    city = small_city()
    first = city.demand[0]
    return replace(city, demand=(first, replace(first, trucks=1), *city.demand[1:]))


def logged(folder: Path, text: str, city: City | None = None) -> np.ndarray:
    """What a log of that text says."""
    path = folder / "log.csv"
    path.write_text(text, encoding="utf-8")
    return read_incident_log(path, city or small_city())


def fault_of(folder: Path, text: str, city: City | None = None) -> str:
    """What is said about a log of that text."""
    with pytest.raises(InputError) as caught:
        logged(folder, text, city)
    return str(caught.value).removeprefix(f"{folder}/")


GOOD = """\
\ufefftime, node_id ,note
2024-01-03T14:05:00, n12 ,"a note, with a comma"
2024-01-03 14:05:00,n3,

2024-01-03T14:05:30.5,n12,the same node again
2024-02-01T00:00,n0,"two
lines, one with 3, or 24 in it"
"""


def test_a_good_log_is_read(tmp_path: Path) -> None:
    """Byte order mark, spaces, other columns, empty lines, several forms of times and the same time twice are fine."""
    found = logged(tmp_path, GOOD)
    at = 2.0 * 1440.0 + 14.0 * 60.0 + 5.0
    assert found["minutes"].tolist() == [at, at, at + 30.5 / 60.0, 31.0 * 1440.0]
    assert found["point"].tolist() == [12, 3, 12, 0]


def test_classes_are_told_apart(tmp_path: Path) -> None:
    """The class of an incident is the row of its node in demand.csv, and may be left out where there is one."""
    rows = (
        "node_id,class,time",
        "n0,2,2024-01-01T00",
        "n0,1,2024-01-01T00",
        "n1,,2024-01-02T00",
        "n1,1.0,2024-01-03T00",
    )
    assert logged(tmp_path, "\n".join(rows), with_classes())["point"].tolist() == [1, 0, 2, 2]


def test_times_with_zones_are_compared_across_them(tmp_path: Path) -> None:
    """Times of different zones are in order by the moment that they mean; the week begins by the first one's clock."""
    text = f"{HEADER}\n2024-01-01T02:00+01:00,n1\n2024-01-01T01:30Z,n1\n"
    assert logged(tmp_path, text)["minutes"].tolist() == [120.0, 150.0]


def test_the_week_begins_on_monday(tmp_path: Path) -> None:
    """Minutes count from Monday 0:00 before the first incident, also on a Sunday night and across the year's end."""
    found = logged(tmp_path, f"{HEADER}\n2023-12-31T23:59,n1\n2024-01-01T00:00,n1\n")
    assert found["minutes"].tolist() == [7 * 1440.0 - 1.0, 7 * 1440.0]


NO_TIME = "expected time to be a date and a time, such as 2015-01-03T14:05:00, got"
FAULTS = {
    "2024-01-02T00:00,n1\n2024-01-01T00:00,n1": (
        "row 3: expected rows in the order of time, got 2024-01-01T00:00:00 after 2024-01-02T00:00:00"
    ),
    "2024-01-01T00:00,n1\n2024-01-01T00:00,n2\n2024-01-01T00:00:00,n1": (
        "row 4: expected each incident once, got the same time and node as in row 2"
    ),
    "2024-01-01T00:00,n1\n2024-01-03T00:00,n1\n2024-01-02T00:00,n1": (
        "row 4: expected rows in the order of time, got 2024-01-02T00:00:00 after 2024-01-03T00:00:00"
    ),
    "2024-01-01T00:00,n1\n2024-01-01T00:01,Elm": "row 3: expected a node of demand.csv, got 'Elm'",
    "2024-01-01T00:00,n 12": "row 2: expected a node of demand.csv, got 'n 12' (did you mean n12?)",
    "2024-01-01T00:00,": "row 2: expected a node of demand.csv, got ''",
    "2024-01-01T00:00,n1\n\nyesterday,n1": f"row 4: {NO_TIME} 'yesterday'",
    "2023-02-29T00:00,n1": f"row 2: {NO_TIME} '2023-02-29T00:00'",
    ",n1": f"row 2: {NO_TIME} ''",
    "1815-06-18T12:00,n1": "row 2: expected time to be in a year from 1900 to 2200, got '1815-06-18T12:00'",
    "2024-01-01T00:00,n1\n2924-01-01T00:00,n1": (
        "row 3: expected time to be in a year from 1900 to 2200, got '2924-01-01T00:00'"
    ),
    "2024-01-01T00:00,n1\n2024-01-02,n1": f"row 3: {NO_TIME} '2024-01-02'",
    "20240102,n1": f"row 2: {NO_TIME} '20240102'",
    "14:05:00,n1": f"row 2: {NO_TIME} '14:05:00'",
    "2024-01-01T00:00,n1,n2": "row 2: expected 2 cells, got 3",
    "2024-01-01T00:00," + "x" * 500: f"row 2: expected a node of demand.csv, got {LONG}",
    "2024-01-01T00:00,n1\n2024-01-01T01:00Z,n1": "row 3: expected every time with a time zone or none, got both",
    "2024-01-01T00:00,n1\n2024-02-02T00:00,n1": (
        "row 3: expected an incident within 31 days of the last, got a gap of 32.0 days: is a part of the log missing?"
    ),
    "2024-01-01T00:00,n1\n2024-01-01T00:01": "row 3: expected 2 cells, got 1",
}


NO_CLASS = "expected a class from 1 to 2, which node n0 has, got"
CLASS_FAULTS = {
    "n0,": f"{NO_CLASS} none",
    "n0,3": f"{NO_CLASS} 3",
    "n0,0": f"{NO_CLASS} 0",
    "n0,one": "expected class to be a whole number, got 'one'",
    "n0,-1": f"{NO_CLASS} -1",
    f"n0,{'9' * 5000}": f"expected class to be a whole number, got {LONG.replace('x', '9')}",
    "n1,2": "expected a class from 1 to 1, which node n1 has, got 2",
}
TYPE_FAULTS = {
    "n0,": "expected a type, since node n0 has several (fire, alarm, medical), got none",
    "n0,fier": "expected a type of incident_type.csv (fire, alarm, medical), got 'fier' (did you mean fire?)",
    "n1,medical": "expected a type that node n1 has in demand.csv (fire), got 'medical'",
    "n99,fire": "expected a node of demand.csv, got 'n99' (did you mean n9?)",
}
FILE_FAULTS = {
    "": "expected a header row, got an empty file",
    "time,node\n": "missing column node_id (did you mean node?)",
    "2024-01-01T00:00,n1\n": "missing column time",
    f"{HEADER}\n": "expected at least one incident, got none",
    f"{HEADER}\n\n , \n": "expected at least one incident, got none",
    "time,node_id,time\n": "expected column time once, got it 2 times",
    "time,node_id,clas\n": "unknown column clas (did you mean class?)",
    "time;node_id\n": "expected commas between the columns, got ';'",
}


def test_the_first_fault_is_named(tmp_path: Path) -> None:
    """A row that is not sound, a class or type that its node has not, and columns that are not there: in one line."""
    first = "2024-01-01T00:00"
    cases = [(small_city(), f"{HEADER}\n{rows}\n", f" {words}") for rows, words in FAULTS.items()]
    for city, column, faults in ((with_classes(), "class", CLASS_FAULTS), (department_of(), "type", TYPE_FAULTS)):
        cases += [(city, f"{HEADER},{column}\n{first},{row}\n", f" row 2: {words}") for row, words in faults.items()]
    cases += [(small_city(), text, f": {words}") for text, words in FILE_FAULTS.items()]
    for city, text, words in cases:
        assert fault_of(tmp_path, text, city) == f"log.csv{words}"


def test_types_are_told_apart(tmp_path: Path) -> None:
    """In a city with incident types the type picks the row of the node, and may be left out where there is one."""
    rows = (
        "time,node_id,type",
        "2024-01-01T00,n0,alarm",
        "2024-01-01T00,n0,fire",
        "2024-01-02T00,n1,",
        "2024-01-03T00,n1,fire",
        "2024-01-03T00,n0,medical",
    )
    assert logged(tmp_path, "\n".join(rows), department_of())["point"].tolist() == [1, 0, 3, 3, 2]
    by_class = "time,node_id,class\n2024-01-01T00,n0,3\n2024-01-01T00,n1,\n"
    assert logged(tmp_path, by_class, department_of())["point"].tolist() == [2, 3]


def test_rows_of_one_type_are_told_apart_by_class(tmp_path: Path) -> None:
    """Where a node has several rows of a type, the class counts those."""
    city = department_of()
    city = replace(city, demand=(*city.demand, replace(city.demand[0], name="high-rise")))
    rows = "time,node_id,type,class\n2024-01-01T00,n0,fire,2\n2024-01-01T01,n0,fire,1\n2024-01-01T02,n0,alarm,\n"
    assert logged(tmp_path, rows, city)["point"].tolist() == [len(city.demand) - 1, 0, 1]
    words = "expected a class from 1 to 2, which node n0 with the type fire has, got none"
    assert fault_of(tmp_path, "time,node_id,type\n2024-01-01T00,n0,fire\n", city) == f"log.csv row 2: {words}"


def test_a_plain_city_does_not_look_at_types(tmp_path: Path) -> None:
    """Without incident types the column is one that runcard does not use."""
    assert logged(tmp_path, "time,node_id,type\n2024-01-01T00:00,n3,whatever\n")["point"].tolist() == [3]


def test_a_log_is_replayed_for_every_kind(tmp_path: Path) -> None:
    """Each kind meets the incidents of the log that need it, at their times."""
    city = department_of()
    points = [(0, "fire"), (2, "alarm"), (0, "medical"), (1, "fire"), (3, "medical"), (0, "alarm")]
    rows = [f"2024-03-13T0{hour}:00,n{node},{one}" for hour, (node, one) in enumerate(points)]
    (tmp_path / "log.csv").write_text("\n".join(["time,node_id,type", *rows, ""]))
    scenario = scenario_of(tmp_path, 'replay.log = "log.csv"')
    (policy,) = department_policies(city)
    replays = department_records(city, policy, scenario, incidents=24)
    assert len(replays) == 4
    for kept in replays:
        assert kept["engine"]["incident"].tolist() == [0, 1, 2, 3, 4, 5]
        assert kept["ladder"]["incident"].tolist() == [0, 1, 3, 5]
        assert kept["ladder"]["minutes"].tolist() == [0.0, 60.0, 180.0, 300.0]


def test_a_log_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """With what is wrong with the file."""
    with pytest.raises(InputError, match=r"none\.csv: the file is missing"):
        read_incident_log(tmp_path / "none.csv", small_city())


def test_a_quote_that_swallows_rows_is_refused(tmp_path: Path) -> None:
    """A quote that the quote of another row closes is an error with its row."""
    rows = '2024-01-01T01:00,n1,"the door\n2024-01-01T02:00,n1,of the house"\n2024-01-01T03:00,n1,\n'
    words = (
        "row 2: expected no other row inside column note, got '2024-01-01T02:00,n1,of the house': is a quote missing?"
    )
    assert fault_of(tmp_path, f"{HEADER},note\n{rows}") == f"log.csv {words}"


def random_log(folder: Path, num_incidents: int) -> None:
    """Write a log of incidents at random seconds."""
    rng = np.random.default_rng(1)
    seconds = np.cumsum(rng.integers(1, 4_000, num_incidents))
    start = np.datetime64("2024-03-13T07:00:00")
    rows = [f"{start + int(second)},n{rng.integers(25)}" for second in seconds]
    (folder / "log.csv").write_text("\n".join([HEADER, *rows, ""]))


def test_a_log_is_replayed_as_it_is(tmp_path: Path) -> None:
    """Every replay has the incidents of the log, at their times and nodes, with delays of its own."""
    city = small_city()
    random_log(tmp_path, 500)
    log = read_incident_log(tmp_path / "log.csv", city)
    scenario = scenario_of(tmp_path, 'replay.log = "log.csv"')
    policies = policies_of(city, ["closest-first", "optimal"])
    for records in records_of(city, policies, scenario, incidents=1_000).values():
        replays = records.reshape(-1, 500)
        assert len(replays) > 1
        for replay in replays:
            assert np.array_equal(replay["minutes"], log["minutes"] - log["minutes"][0])
            assert np.array_equal(replay["point"], log["point"])
        assert not np.array_equal(replays[0]["first"], replays[1]["first"])
    found = simulated(city, policies, scenario)
    for result in found.policies:
        assert {batch.incidents for batch in result.batches} == {500}
        assert {batch.minutes for batch in result.batches} == {log["minutes"][-1] - log["minutes"][0]}


def test_a_log_of_one_incident_is_replayed(tmp_path: Path) -> None:
    """A single incident, which takes no time, has late fractions and arrivals like any other log."""
    city = small_city()
    (tmp_path / "log.csv").write_text(f"{HEADER}\n2024-03-13T07:00,n7\n")
    found = simulated(city, policies_of(city), scenario_of(tmp_path, 'replay.log = "log.csv"'), threads=1).policies[0]
    assert {batch.incidents for batch in found.batches} == {1}
    assert found.minutes("first_mean").value > 0.0
    for values in (found.busy_fractions, found.dispatches_per_day, found.idle_chances):
        assert np.isfinite(values).all()


def places(city: City, rows: list[tuple[str, str]], *, off: float = 0.0) -> str:
    """A log with the coordinates of nodes, some way off, in place of their names."""
    at = {node.node_id: node for node in city.nodes}
    lines = [f"{time},{at[node].x_coord + off!r},{at[node].y_coord - off!r}" for time, node in rows]
    return "\n".join(["time,x_coord,y_coord", *lines, ""])


def test_coordinates_of_demand_points_are_their_nodes(tmp_path: Path) -> None:
    """A log by coordinates, a third of a street off, is the same as one by nodes."""
    city = small_city()
    rows = [(f"2024-01-03T14:{minute:02}:00", point.node_id) for minute, point in enumerate(city.demand)]
    named = logged(tmp_path, "\n".join([HEADER, *map(",".join, rows), ""]), city)
    found = logged(tmp_path, places(city, rows, off=0.3), city)
    assert found.tolist() == named.tolist()


def test_other_places_are_those_of_the_closest_demand_point(tmp_path: Path) -> None:
    """By another library's routes from every demand point; of equally close ones any will do."""
    city = small_city()
    lengths = np.random.default_rng(2).uniform(0.5, 2.0, len(city.links))
    links = tuple(replace(link, mean_minutes=float(one)) for link, one in zip(city.links, lengths, strict=True))
    city = replace(city, links=links, demand=city.demand[::4])
    roads = nx.Graph()
    for link in city.links:
        roads.add_edge(link.from_node_id, link.to_node_id, weight=link.mean_minutes)
    rows = [(f"2024-01-03T14:{minute:02}:00", node.node_id) for minute, node in enumerate(city.nodes)]
    found = logged(tmp_path, places(city, rows), city)["point"].tolist()
    for point, (_, node_id) in zip(found, rows, strict=True):
        away = nx.single_source_dijkstra_path_length(roads, node_id)
        assert away[city.demand[point].node_id] == pytest.approx(min(away[one.node_id] for one in city.demand))


def test_a_place_is_that_of_a_demand_point_with_its_type(tmp_path: Path) -> None:
    """In a city with types a row belongs to the closest demand point that has its type."""
    city = department_of()
    types = [point.type for point in city.demand]
    one = types.index(types[0])
    only = replace(city, demand=(city.demand[one], *(point for point in city.demand if point.type != types[0])))
    at = {node.node_id: node for node in city.nodes}
    lines = [
        f"2024-01-03T14:{minute:02}:00,{at[point.node_id].x_coord!r},{at[point.node_id].y_coord!r},{types[0]}"
        for minute, point in enumerate(city.demand)
        if point.type == types[0]
    ]
    found = logged(tmp_path, "\n".join(["time,x_coord,y_coord,type", *lines, ""]), only)
    assert {only.demand[point].node_id for point in found["point"].tolist()} == {city.demand[one].node_id}


def test_places_that_cannot_be_are_refused_with_their_row(tmp_path: Path) -> None:
    """Far ones, swapped ones, words, and the same incident twice; two of one area in one minute are two incidents."""
    city = small_city()
    nodes = (
        replace(one, x_coord=-122.42 + 0.001 * one.x_coord, y_coord=37.77 + 0.001 * one.y_coord) for one in city.nodes
    )
    city, at = replace(city, nodes=tuple(nodes)), "2024-01-03T14:05:00"
    for places, words in {
        "-122.4000,37.7500": ["row 2: expected a place within 1 km of the roads, longitude,latitude"],
        "37.7700,-122.4200": ["row 2: expected longitude,latitude such as", "the coordinates look swapped"],
        "1e400,37.77": ["row 2: expected x_coord to be from -1e+12 to 1e+12, got '1e400'"],
        "west,37.77": ["row 2: expected x_coord to be a number, got 'west'"],
        f"-122.42,37.77\n{at},-122.42,37.77": ["the same time and place as in row 2"],
    }.items():
        fault = fault_of(tmp_path, f"time,x_coord,y_coord\n{at},{places}\n", city)
        assert all(word in fault for word in words), fault
    two = f"{at},-122.42,37.77\n{at},-122.42001,37.77"
    assert len(logged(tmp_path, f"time,x_coord,y_coord\n{two}\n", city)) == 2


def test_nodes_stand_before_coordinates(tmp_path: Path) -> None:
    """A log with both columns is read by its nodes, as before."""
    found = logged(tmp_path, "time,node_id,x_coord,y_coord\n2024-01-03T14:05:00,n3,a,b\n")
    assert found["point"].tolist() == [3]


def test_an_incident_where_no_road_leads_is_refused(tmp_path: Path) -> None:
    """The row says which node no demand point has a road to."""
    city = small_city()
    apart = replace(city, nodes=(*city.nodes, replace(city.nodes[0], node_id="island", x_coord=50.0, y_coord=50.0)))
    with pytest.raises(InputError, match="row 2: expected a road from some demand point to node island, got none"):
        logged(tmp_path, "time,x_coord,y_coord\n2024-01-03T14:05:00,50,50\n", apart)
