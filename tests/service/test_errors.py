"""Requests that do not make sense: each is a problem document with a sentence, and nothing is recorded."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.service.conftest import service

from runcard.city import City, Link, Node
from runcard.errors import AuditError, NotConvergedError, RuncardError
from runcard.plan.file import save
from runcard.plan.plan import solve
from runcard.service.audit.sqlite import MemoryLog

FIRE = {"area": "n5", "type": "fire"}

WRONG = [
    ({}, 422, "expected one of area, node, and x with y"),
    ({"area": "n5", "node": "n5"}, 422, "expected one of area, node, and x with y"),
    ({"x": 1.0}, 422, "expected one of area, node, and x with y"),
    ({"x": True, "y": 1.0, "type": "fire"}, 422, "x: expected a valid number, got True"),
    ({"x": 1.0, "y": "1.0", "type": "fire"}, 422, "y: expected a valid number, got '1.0'"),
    ({"area": "n99", "type": "fire"}, 422, "area: expected a demand point, got 'n99'"),
    ({"node": "n99", "type": "fire"}, 422, "the incident: expected a node of grid"),
    ({"area": "n5"}, 422, "type: expected one of several types of incidents (fire, medical), got none"),
    ({"area": "n5", "type": "flood"}, 422, "type: expected a type of incident (fire, medical), got 'flood'"),
    (FIRE | {"class": 1}, 422, "class: expected none"),
    (FIRE | {"idle": ["E99"]}, 422, "idle: expected units of the roster, got 'E99'"),
    (FIRE | {"busy": ["E01", "E01"]}, 422, "busy: expected every unit once, got E01 2 times"),
    (FIRE | {"idle": ["E01"], "busy": ["E01"]}, 422, "expected every unit in one of them, got E01 in both"),
    (FIRE | {"idle": ["E01"], "busy": ["E02"]}, 422, "expected every unit in one of them, got E03 in neither"),
    (FIRE | {"moved": {"E99": {"node": "n1"}}}, 422, "moved: expected units of the roster, got 'E99'"),
    (FIRE | {"busy": ["E01"], "moved": {"E01": {"node": "n1"}}}, 422, "moved: expected E01 to be free"),
    (FIRE | {"moved": {"E01": {"node": "n77"}}}, 422, "unit E01: expected a node of grid"),
    (FIRE | {"moved": {"E01": {"x": 1.0, "y": True}}}, 422, "moved.E01.y: expected a valid number, got True"),
    (FIRE | {"moved": {"E01": {}}}, 422, "moved.E01: expected a node, or x and y"),
    (FIRE | {"period": "day"}, 422, "period: policy optimal is for every hour, expected none, got 'day'"),
    (FIRE | {"policy": "best"}, 422, "policy: expected one that is loaded (optimal, closest-first), got 'best'"),
    (FIRE | {"policy_version": "000000000000"}, 409, "policy_version: expected"),
    (FIRE | {"board_version": 7}, 409, "board_version: expected 0, that of the board now, got 7"),
    (FIRE | {"board_version": 0, "busy": []}, 422, "expected board_version only where the board says"),
    (FIRE | {"busi": []}, 422, "busi: expected no such key"),
    (FIRE | {"busy": "E01"}, 422, "busy: expected a valid array"),
    (FIRE | {"type": ""}, 422, "type: string should have at least 1 character"),
    ([], 422, "the body: expected an object"),
    ({"x": 1e155, "y": 0, "type": "fire"}, 422, "the incident: expected a place in grid"),
    (FIRE | {"moved": {"E01": {"x": 1e308, "y": -1e308}}}, 422, "unit E01: expected a place in grid"),
]


@pytest.fixture(scope="module")
def recording(policy_folder: Path) -> Iterator[tuple[Any, MemoryLog]]:
    """A service, and where it records."""
    audit = MemoryLog()
    with service(policy_folder, audit_log=audit) as client:
        yield client, audit


@pytest.mark.parametrize(("asked", "status", "words"), WRONG)
def test_what_makes_no_sense_is_refused(recording: tuple[Any, MemoryLog], asked: Any, status: int, words: str) -> None:
    """Each mistake has its status and a sentence with what was expected, and leaves no record."""
    client, audit = recording
    response = client.post("/v1/decisions", json=asked)
    assert (response.status_code, response.headers["content-type"]) == (status, "application/problem+json")
    document = response.json()
    assert document["status"] == status
    assert words in document["detail"]
    assert not list(audit.decisions())


def test_a_node_that_is_no_demand_point_is_called_a_node(serve: Any, tmp_path: Path, department_city: City) -> None:
    """Given as an area it is refused with what to do; of an id that is a number nothing is guessed."""
    nodes = [*department_city.nodes, Node("4021550367", 0.0, 9.0), Node("4025717677", 0.0, 9.5)]
    roads = (("n0", "4021550367"), ("n1", "4025717677"))
    links = [Link(f"road to {end}", start, end, False, 1.0) for start, end in roads]
    city = replace(department_city, nodes=tuple(nodes), links=(*department_city.links, *links))
    path = save(solve(city, "closest-first"), tmp_path / "a.policy")
    client = serve(str(path), limit_ms=5000.0)

    def detail(**place: str) -> str:
        return str(client.post("/v1/decisions", json={"type": "fire", **place}).json()["detail"])

    assert detail(area="4021550367").endswith("got '4021550367', a node of the roads: send it as node")
    assert detail(area="4021550368").endswith("got '4021550368'")
    assert detail(node="4021550368").endswith("got '4021550368'")
    assert client.post("/v1/decisions", json={"type": "fire", "node": "4021550367"}).status_code == 200


def test_places_outside_the_city_are_refused(serve: Any, tmp_path: Any, department_city: Any) -> None:
    """Coordinates far from every road, or exchanged, are 422, of the incident and of units."""
    from tests.cli.test_decide_anywhere import in_degrees

    path = save(solve(in_degrees(department_city), "closest-first"), tmp_path / "a.policy")
    client = serve(str(path))
    near = {"x": -122.41887, "y": 37.7709}
    assert client.post("/v1/decisions", json={"type": "fire", **near}).status_code == 200
    for place in ({"x": 0.0, "y": 0.0}, {"x": 37.7709, "y": -122.41887}):
        assert client.post("/v1/decisions", json={"type": "fire", **place}).status_code == 422
        assert client.post("/v1/decisions", json=FIRE | {"moved": {"E01": place}}).status_code == 422
        assert client.put("/v1/units/E01", json={"status": "idle", **place}).status_code == 422


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/v1/decisions/nothing", None, 404),
        ("POST", "/v1/decisions/nothing/outcome", {"units": ["E01"]}, 404),
        ("GET", "/v1/units/E99", None, 404),
        ("PUT", "/v1/units/E99", {"status": "busy"}, 404),
        ("PUT", "/v1/units/E01", {"status": "asleep"}, 422),
        ("PUT", "/v1/units/E01", {"status": "busy", "node": "n3"}, 422),
        ("PUT", "/v1/units/E01", {"status": "idle", "node": "n77"}, 422),
        ("GET", "/v1/cards/n99", None, 404),
        ("GET", "/v1/cards/n5?type=flood", None, 404),
        ("POST", "/v1/policies", {"file": "../optimal.policy"}, 422),
        ("POST", "/v1/policies", {"file": "/etc/passwd"}, 422),
        ("POST", "/v1/policies", {"file": "none.policy"}, 422),
        ("POST", "/v1/policies", {"file": "\N{FIRE}" * 200}, 422),
        ("POST", "/v1/policies", {"file": "cards.policy", "name": "a/b\nX"}, 422),
        ("PUT", "/v1/units/E01", {"status": "idle", "x": 1e155, "y": 0}, 422),
        ("POST", "/v1/policies", {"file": "other.policy"}, 409),
        ("DELETE", "/v1/policies/optimal", None, 409),
        ("DELETE", "/v1/policies/closest-first", None, 409),
        ("DELETE", "/v1/policies/nothing", None, 404),
        ("GET", "/nowhere", None, 404),
        ("DELETE", "/v1/board", None, 405),
    ],
)
def test_what_is_not_there_is_said(unchanged: Any, method: str, path: str, body: Any, status: int) -> None:
    """Units, decisions, areas and files that are not there, or not to be had, are problem documents too."""
    response = unchanged.request(method, path, **({} if body is None else {"json": body}))
    assert (response.status_code, response.headers["content-type"]) == (status, "application/problem+json")
    assert response.json()["detail"]


@pytest.mark.parametrize(("error", "status"), [(NotConvergedError("no end"), 500), (AuditError("disk full"), 503)])
def test_what_is_no_fault_of_the_question_is_5xx(
    client: Any, monkeypatch: pytest.MonkeyPatch, error: RuncardError, status: int
) -> None:
    """An error of ours keeps its sentence, and says that the same question may be asked again."""

    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr(MemoryLog, "decision", fail)
    response = client.get("/v1/decisions/abc")
    assert (response.status_code, response.json()["detail"]) == (status, str(error))
