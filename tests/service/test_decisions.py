"""`POST /v1/decisions`: the answer is that of the library, and the record is there."""

import threading
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runcard.plan.answer import Answer
from runcard.plan.anywhere import _Here
from runcard.plan.file import load
from runcard.plan.plan import Plan
from runcard.plan.situation import Situation
from runcard.service.answers import SLOW_THREADS

ENGINES = ["E01", "E02", "E03", "E04"]
UNITS = [*ENGINES, "T01", "T02"]
NODES = [f"n{number}" for number in range(16)]


@pytest.fixture(scope="module")
def department(policy_folder: Any) -> Plan:
    """The department of the served file, as Python has it."""
    return load(policy_folder / "optimal.policy")


def is_decided(answer: dict[str, Any], expected: Answer) -> None:
    """Assert that units, chances and prices of an answer are those that the library found."""
    assert answer["team"] == list(expected.units)
    assert [one["p_late"] for one in answer["kinds"]] == [one.decision.p_late for one in expected.kinds]
    assert [one["price"] for one in answer["kinds"]] == [one.decision.price for one in expected.kinds]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    idle=st.sets(st.sampled_from(UNITS)),
    node=st.sampled_from(NODES),
    of_type=st.sampled_from(["fire", "medical"]),
    by_idle=st.booleans(),
)
def test_an_answer_is_that_of_the_library(
    client: Any, department: Plan, idle: set[str], node: str, of_type: str, by_idle: bool
) -> None:
    """Units, chances and prices are those of `Plan.decide`, whether idle or busy units are named."""
    listed = {"idle": sorted(idle)} if by_idle else {"busy": sorted(set(UNITS) - idle)}
    response = client.post("/v1/decisions", json={"area": node, "type": of_type, **listed})
    assert response.status_code == 200, response.text
    answer = response.json()
    expected = department.decide(Situation(at=node, type=of_type, idle=idle))
    is_decided(answer, expected)
    assert (answer["answered_by"], answer["fallback"]) == ("optimal", False)
    for one, kind in zip(answer["kinds"], expected.kinds, strict=True):
        assert one["units"] == list(kind.units)
        missed = kind.fleet.chances(kind.point, kind.decision)
        assert [standard["chance"] for standard in one["standards"]] == [1.0 - chance for chance in missed]
        others = [list(kind.fleet.unit_ids(other.team, idle)) for other in kind.decision.alternatives]
        assert [other["units"] for other in one["alternatives"]] == others


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    idle=st.sets(st.sampled_from(UNITS)),
    node=st.sampled_from(NODES),
    of_type=st.sampled_from(["fire", "medical"]),
    moved=st.dictionaries(st.sampled_from(UNITS), st.sampled_from(NODES), max_size=3),
)
def test_units_on_the_road_are_those_of_the_library(
    client: Any, department: Plan, idle: set[str], node: str, of_type: str, moved: dict[str, str]
) -> None:
    """With units free anywhere, on the board or in the request, the answer is that of `Plan.decide`."""
    moved = {unit: where for unit, where in moved.items() if unit in idle}
    for unit in UNITS:
        assert client.put(f"/v1/units/{unit}", json={"status": "idle"}).status_code == 200
    asked = {"node": node, "type": of_type, "idle": sorted(idle), "moved": {one: {"node": moved[one]} for one in moved}}
    answers = [client.post("/v1/decisions", json=asked).json()]
    for unit in UNITS:
        state = {"status": "idle" if unit in idle else "busy"} | ({"node": moved[unit]} if unit in moved else {})
        assert client.put(f"/v1/units/{unit}", json=state).status_code == 200
    answers.append(client.post("/v1/decisions", json={"node": node, "type": of_type}).json())
    expected = department.decide(Situation(at=node, type=of_type, idle=idle, moved=moved))
    for answer in answers:
        is_decided(answer, expected)
        assert answer["fallback"] is False


def test_minutes_that_take_too_long_are_left_out(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The decision of the policy stands when only its minutes are late: the fallback is not asked."""
    wait, arrivals_of = threading.Event(), _Here._arrivals_of

    def late(here: _Here, *asked: Any) -> Any:
        wait.wait(20.0)
        return arrivals_of(here, *asked)

    asked = {"area": "n6", "type": "fire", "busy": [], "moved": {"E02": {"node": "n7"}}}
    client = serve(limit_ms=1_000.0)
    before = client.post("/v1/decisions", json=asked).json()
    monkeypatch.setattr(_Here, "_arrivals_of", late)
    answer = client.post("/v1/decisions", json=asked).json()
    wait.set()
    assert (answer["team"], answer["fallback"]) == (before["team"], False)
    assert before["kinds"][1]["first_minutes"] is not None
    assert [one["price"] for one in answer["kinds"]] == [one["price"] for one in before["kinds"]]


def test_minutes_are_left_out_while_others_wait(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who goes to an address comes before when they are there: with more waiting than threads none are computed."""
    computed, arrivals_of = list[str](), _Here._arrivals_of

    def noted(here: _Here, *asked: Any) -> Any:
        computed.append(here.fleet.name)
        return arrivals_of(here, *asked)

    monkeypatch.setattr(_Here, "_arrivals_of", noted)
    asked = {"area": "n6", "type": "fire", "busy": [], "moved": {"E02": {"node": "n7"}}}
    before = client.post("/v1/decisions", json=asked).json()
    answerer, num_computed = client.app.state.parts.answerer, len(computed)
    answerer.waiting += SLOW_THREADS
    answer = client.post("/v1/decisions", json=asked).json()
    answerer.waiting -= SLOW_THREADS
    assert (answer["team"], answer["fallback"]) == (before["team"], False)
    assert num_computed == len(computed) == 1


def test_the_record_is_the_answer_with_its_request(client: Any) -> None:
    """What was answered can be read again by its id, or by the own number of the incident, the latest first."""
    asked = {"area": "n5", "type": "fire", "busy": ["E01"], "reference": "7"}
    answers = [client.post("/v1/decisions", json=asked | {"reference": number}).json() for number in ("7", "8", "7")]
    records = [client.get(f"/v1/decisions/{answer['decision_id']}").json() for answer in answers]
    assert records[0]["request"] == asked
    assert {key: records[0][key] for key in answers[0]} == answers[0]
    assert client.get("/v1/decisions", params={"reference": "7"}).json()["decisions"] == [records[2], records[0]]
    assert client.get("/v1/decisions", params={"reference": "9"}).json() == {"decisions": []}
    assert client.get("/v1/decisions").status_code == 422


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    states=st.lists(st.sampled_from(["idle", "busy", "out_of_service", "n3", "n9"]), min_size=6, max_size=6),
    who=st.sampled_from([{}, {"busy": ["E01"]}, {"idle": ["E02", "E03", "T01"]}]),
    where=st.sampled_from([{"area": "n5"}, {"x": 1.1, "y": 2.2}]),
)
def test_an_answer_can_be_found_again_from_its_record_alone(
    client: Any, department: Plan, states: list[str], who: dict[str, Any], where: dict[str, Any]
) -> None:
    """Whether board or request said who was free and where, the record has it: the library decides the same from it."""
    for unit, state in zip(UNITS, states, strict=True):
        given = {"status": "idle", "node": state} if state.startswith("n") else {"status": state}
        assert client.put(f"/v1/units/{unit}", json=given).status_code == 200
    answer = client.post("/v1/decisions", json={"type": "fire", **where, **who}).json()
    for unit in UNITS:  # what the board has by then does not matter
        client.put(f"/v1/units/{unit}", json={"status": "busy"})
    record = client.get(f"/v1/decisions/{answer['decision_id']}").json()
    asked = record["request"]
    place = asked.get("area") or (asked["x"], asked["y"])
    moved = {unit: at["node"] for unit, at in record["moved"].items()}
    found = department.decide(Situation(at=place, type=record["type"], idle=set(record["idle"]), moved=moved))
    is_decided(record, found)
