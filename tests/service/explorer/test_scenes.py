"""What the explorer asks for, over HTTP, against the library."""

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import networkx
import pytest
from tests.service.conftest import Serve

from runcard.city import City
from runcard.plan.file import load
from runcard.plan.plan import Plan, solve
from runcard.plan.situation import Situation
from runcard.service.explorer.drawn import area_names

BUSY = ["E02"]


def held(policy_folder: Path, name: str) -> Plan:
    """The department of a file."""
    return load(policy_folder / name)


def test_the_city_has_its_areas_units_and_choices(unchanged: Any, department_city: City) -> None:
    """Everything that the page draws and offers, and no more than once."""
    document = unchanged.get("/v1/city").json()
    assert document["city"] == department_city.name
    assert {area["id"] for area in document["ground"]["areas"]} == {one.node_id for one in department_city.demand}
    units = [unit["id"] for station in document["ground"]["stations"] for unit in station["units"]]
    assert sorted(units) == sorted(unit.unit_id for unit in department_city.units)
    assert document["types"] == ["fire", "medical"]
    assert [one["name"] for one in document["policies"]] == ["optimal", "closest-first", "cards"]
    assert document["serving"] == "optimal"
    assert document["periods"] == []


@pytest.mark.parametrize("incident_type", ["fire", "medical"])
def test_a_scene_sends_to_every_area_what_the_library_sends(
    unchanged: Any, policy_folder: Path, incident_type: str
) -> None:
    """The lines of each area begin with the units of `decide`, and areas differ where the two policies do."""
    asking = {"policy": "optimal", "other": "cards", "type": incident_type, "busy": BUSY}
    scene = unchanged.post("/v1/scene", json=asking).json()
    optimal, cards = held(policy_folder, "optimal.policy"), held(policy_folder, "cards.policy")
    idle = set(optimal.unit_ids) - set(BUSY)
    assert [one["kind"] for one in scene["kinds"]] == (["engine", "ladder"] if incident_type == "fire" else ["engine"])
    for kind in scene["kinds"]:
        assert len(kind["areas"]) == kind["num_areas"] == 16
        differs = set()
        for area, lines in zip(kind["areas"], kind["lines"], strict=True):
            own, other = (_units(one, idle, area, incident_type, kind["kind"]) for one in (optimal, cards))
            assert sorted(lines[1].split(" and ")) == own
            differs |= {area} if own != other else set()
        assert kind["differs"] == len(differs)
        assert all(set(layer["outlined"]) == differs for layer in kind["layers"])
        for layer in kind["layers"]:
            assert len(layer["classes"]) == len(layer["marks"]) == 16
            assert max(layer["classes"]) < len(layer["legend"])
    assert set(scene["prices"]) == {one for one in idle if incident_type == "fire" or one.startswith("E")}


def _units(department: Plan, idle: set[str], area: str, incident_type: str, kind: str) -> list[str]:
    decided = department.decide(Situation(at=area, type=incident_type, idle=idle)).kinds
    return sorted(next(one.units for one in decided if one.fleet.kind == kind))


def test_the_means_are_those_over_all_incidents(unchanged: Any, policy_folder: Path) -> None:
    """The chance of a miss and the minutes of closest-first, from the tables of the problem."""
    scene = unchanged.post("/v1/scene", json={"policy": "closest-first", "type": "medical"}).json()
    fleet = held(policy_folder, "optimal.policy").fleet("engine")
    problem, missed, minutes, total = fleet.problem, 0.0, 0.0, 0.0
    for point in range(problem.num_points):
        if fleet.types[point] == "medical":
            team = problem.teams.number([int(problem.order[point, 0])])
            rate = float(problem.incidents_per_day[point])
            missed += rate * float(problem.missed(0)[team, point])
            minutes += rate * float(problem.measures["minutes"][team, point])
            total += rate
    (kind,) = scene["kinds"]
    assert kind["policies"][0]["missed"] == pytest.approx(missed / total)
    assert kind["policies"][0]["minutes"] == pytest.approx(minutes / total)
    assert kind["policies"][0] == kind["policies"][1]
    assert kind["differs"] == 0
    assert scene["prices"] == {}  # closest-first does not look at them


def test_colours_and_classes_stay_when_units_become_busy(unchanged: Any) -> None:
    """A station has its colour whoever is busy, and a colour of the chances its limits."""
    scenes = [
        unchanged.post("/v1/scene", json={"busy": busy}).json()["kinds"][0]["layers"] for busy in ([], ["E01", "E03"])
    ]
    colours = [
        {one["label"]: one["colour"] for one in layers[0]["legend"] if "," not in one["label"]} for layers in scenes
    ]
    both = colours[0].keys() & colours[1].keys()
    assert both
    assert all(colours[0][unit] == colours[1][unit] for unit in both)
    assert scenes[0][1]["legend"] == scenes[1][1]["legend"]


def test_routes_are_the_shortest_and_shared_links_those_of_two(unchanged: Any, department_city: City) -> None:
    """Each line leads from station to area in the time that networkx finds, and shared links are on two lines."""
    roads, places = networkx.Graph(), {one.node_id: (one.x_coord, one.y_coord) for one in department_city.nodes}
    for link in department_city.links:
        roads.add_edge(link.from_node_id, link.to_node_id, minutes=link.mean_minutes)
    homes = {station.station_id: station.node_id for station in department_city.stations}
    some_shared = False
    for area in sorted({point.node_id for point in department_city.demand})[:8]:
        document = unchanged.post("/v1/route", json={"area": area, "type": "fire", "busy": BUSY}).json()
        assert [one["policy"] for one in document["policies"]] == ["optimal", "closest-first", "cards"]
        for one in document["policies"]:
            used: dict[Any, int] = {}
            for drive in one["drives"]:
                line = list(zip(drive["line"][::2], drive["line"][1::2], strict=True))
                assert line[0] == places[homes[drive["station"]]]
                assert line[-1] == places[area]
                least = networkx.shortest_path_length(roads, homes[drive["station"]], area, weight="minutes")
                assert drive["minutes"] == pytest.approx(least + department_city.turnout.mean_minutes)
                for pair in {tuple(sorted(ends)) for ends in pairwise(line)}:
                    used[pair] = used.get(pair, 0) + 1
            shared = {tuple(sorted([(x1, y1), (x2, y2)])) for x1, y1, x2, y2 in one["shared"]}
            assert shared == {pair for pair, times in used.items() if times > 1}
            some_shared = some_shared or bool(shared)
    assert some_shared


def test_departures_from_the_closest_are_explained(unchanged: Any, department_city: City) -> None:
    """Where the best policy does not send the closest, the reason names who goes, who is kept, and what that gains."""
    reasons = []
    for area in sorted({point.node_id for point in department_city.demand}):
        document = unchanged.post("/v1/route", json={"area": area, "type": "fire"}).json()
        optimal, closest = (document["policies"][number]["kinds"][0] for number in (0, 1))
        if sorted(optimal["units"]) != sorted(closest["units"]):
            instead = next(unit for unit in closest["units"] if unit not in optimal["units"])
            assert re.search(f"in place of the (closer|equally close) {instead}", optimal["reason"])
            assert "per 1,000 such calls now" in optimal["reason"]
            assert optimal["reason"].endswith(" fewer in all.")
            reasons.append(optimal["reason"])
        else:
            assert re.search("are (the closest|as close as any other) free engines, and", optimal["reason"])
    assert reasons


def test_api_and_explorer_say_the_same(unchanged: Any) -> None:
    """Of one decision the API and the explorer have one document: the same chances, minutes, prices and reason."""
    busy = {"busy": BUSY, "type": "fire", "area": "n6"}
    answer, shown = unchanged.post("/v1/decisions", json=busy).json(), unchanged.post("/v1/route", json=busy).json()
    for own, other in zip(answer["kinds"], shown["policies"][0]["kinds"], strict=True):
        assert sorted(own.pop("units")) == sorted(other.pop("units"))
        assert own == other
    assert answer["reason"] == " ".join(one["reason"] for one in answer["kinds"])


def test_missed_means_one_thing(unchanged: Any) -> None:
    """The table of the page is the mean over all calls of what the answers of areas say, in the same words."""
    document = unchanged.get("/v1/city").json()
    assert document["missed_words"] == "missed standards (weighted) per 1,000 calls"
    scene = unchanged.post("/v1/scene", json={"type": "fire", "busy": ["T01", "T02"]}).json()
    ladders = scene["kinds"][1]
    assert ladders["layers"][1]["title"] == "Missed standards per 1,000 calls (ladder)"
    route = unchanged.post("/v1/route", json={"type": "fire", "busy": ["T01", "T02"], "area": "n6"}).json()
    missed = route["policies"][0]["kinds"][1]["p_late"]  # from outside: the same everywhere
    assert ladders["policies"][0]["missed"] == pytest.approx(missed)


def test_areas_with_a_number_are_named_by_the_closest_station(department_city: City) -> None:
    """A number says nothing to a person: the closest station does; other names stay."""
    nodes = {node.node_id: str(70 + place) for place, node in enumerate(department_city.nodes[:3])}
    named = replace(
        department_city,
        nodes=tuple(replace(node, name=nodes.get(node.node_id, node.name)) for node in department_city.nodes),
    )
    names = area_names(named, solve(named, "closest-first"))
    for node_id, name in names.items():
        assert name.startswith("near ") == (node_id in nodes)
        assert nodes.get(node_id, node_id) in name


def test_a_week_has_a_scene_for_every_period(serve: Serve) -> None:
    """Both periods are offered and answered, and a city without a roster has units named by their stations."""
    client = serve("week.policy", time_zone="America/Los_Angeles")
    document = client.get("/v1/city").json()
    assert [one["name"] for one in document["periods"]] == ["day", "night"]
    prices = [client.post("/v1/scene", json={"period": name}).json()["prices"] for name in ("day", "night")]
    assert prices[0].keys() == prices[1].keys() == {"s0", "s1", "s2"}
    assert prices[0] != prices[1]
    day = client.get("/v1/playback", params={"day": 2}).json()
    assert {unit["unit"] for one in day["events"] for unit in one["units"]} <= {"s0", "s1", "s2"}


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("scene", {"busy": ["E99"]}, "busy: expected units of the roster, got 'E99'"),
        ("scene", {"busy": ["E01", "E01"]}, "busy: expected every unit once"),
        ("scene", {"policy": "best"}, "policy: expected one that is loaded"),
        ("scene", {"other": "best"}, "policy: expected one that is loaded"),
        ("scene", {"type": "flood"}, "type: expected a type of incident"),
        ("scene", {"period": "night"}, "period: expected one of none"),
        ("scene", {"busy": "E01"}, "busy"),
        ("scene", {"bussy": []}, "bussy"),
        ("route", {"area": "nowhere"}, "area: expected an area"),
        ("route", {}, "area"),
    ],
)
def test_what_is_not_there_is_refused(unchanged: Any, path: str, body: dict[str, Any], words: str) -> None:
    """Unknown units, policies, types, periods, areas and keys get one sentence."""
    response = unchanged.post(f"/v1/{path}", json=body)
    assert response.status_code == 422
    assert words in response.json()["detail"]


def test_days_that_are_not_there_are_refused(unchanged: Any) -> None:
    """A day of the week, a seed, a policy and a date are checked."""
    days = ("yesterday", "0001-01-01", "9999-12-31")
    for query in ("day=7", "seed=-1", "policy=best", *(f"log_date={day}" for day in days)):
        assert unchanged.get(f"/v1/playback?{query}").status_code == 422, query


def test_the_page_asks_nothing_of_other_machines(unchanged: Any) -> None:
    """Its files come from here, with headers that forbid anything else."""
    page = unchanged.get("/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "http:" not in page.text
    assert "https:" not in page.text
    for name in ("map.js", "map.css", "explorer.js", "explorer.css"):
        assert f"explorer/{name}" in page.text
        assert unchanged.get(f"/explorer/{name}").status_code == 200
    assert unchanged.get("/explorer/../settings.py").status_code == 404
