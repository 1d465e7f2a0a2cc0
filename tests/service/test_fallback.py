"""When a policy is late: the fallback answers, says so, and late computations do not pile up."""

import gc
import hashlib
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.by_cards import by_cards
from tests.service.conftest import service

from runcard.city import City, Unit
from runcard.errors import InputError, NotConvergedError
from runcard.outputs.cards.book import make_book
from runcard.outputs.cards.csv_file import read_cards, write_cards_csv
from runcard.plan.file import load, save
from runcard.plan.plan import solve
from runcard.service.answers import Answerer
from runcard.service.documents import DecisionRequest

ASKED = {"area": "n5", "type": "fire", "busy": ["E01"], "moved": {"E02": {"node": "n6"}}}


@pytest.fixture
def stuck(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Until this is set, no slow decision is found."""
    go, decide = threading.Event(), Answerer._decide

    def late(self: Answerer, asked: Any) -> Any:
        if not asked.is_simple:
            go.wait(60.0)
        return decide(self, asked)

    monkeypatch.setattr(Answerer, "_decide", late)
    yield go
    go.set()


@pytest.fixture(params=[ZeroDivisionError, NotConvergedError])
def failing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """No policy finds a decision, by a mistake or because a solver does not converge: the name of its error."""

    def fail(self: Answerer, asked: Any) -> Any:
        raise request.param("no")

    monkeypatch.setattr(Answerer, "_decide", fail)
    return str(request.param.__name__)


def settle(answerer: Answerer) -> None:
    """Return once no slow answer is computed any more."""
    until = time.monotonic() + 60.0
    while answerer.waiting and time.monotonic() < until:
        time.sleep(0.005)
    assert answerer.waiting == 0


def test_the_fallback_answers_in_time_and_says_so(serve: Any, stuck: threading.Event, policy_folder: Path) -> None:
    """A policy that is late is answered for by closest-first, within the limit, with its reason and without prices."""
    client = serve(limit_ms=50.0)
    answer = client.post("/v1/decisions", json=ASKED).json()
    assert client.app.state.parts.answerer.waiting == 1  # nobody waited for the policy
    assert (answer["answered_by"], answer["fallback"]) == ("closest-first", True)
    assert answer["fallback_reason"] == "optimal did not answer within 50 ms"
    assert answer["price"] is None
    assert "The fallback counts every free unit as at home." in answer["notes"]
    assert "free engines by driving time" in answer["reason"]
    closest = client.post("/v1/decisions", json={**ASKED, "moved": {}, "policy": "closest-first", "busy": ["E01"]})
    stuck.set()
    assert answer["team"] == closest.json()["team"]
    held = load(policy_folder / "optimal.policy")
    for one in answer["kinds"]:
        fleet = held.fleet(one["kind"])
        point = fleet.point("n5", "fire")
        order = [fleet.problem.station_ids[i] for i in fleet.problem.order[point]]
        homes = {unit.station_id: unit.unit_id for unit in fleet.units if unit.unit_id != "E01"}
        assert one["units"] == [homes[station] for station in order if station in homes][: len(one["units"])]


def test_late_computations_do_not_pile_up(serve: Any, stuck: threading.Event) -> None:
    """With so many outstanding the fallback answers at once; when they are done, the policy is asked again."""
    client = serve(limit_ms=20.0, most_waiting=2)
    answerer = client.app.state.parts.answerer
    for _ in range(2):
        client.post("/v1/decisions", json=ASKED)
    assert answerer.waiting == 2
    refused = client.post("/v1/decisions", json=ASKED).json()
    assert refused["fallback_reason"] == "2 slow answers are being computed already"
    assert answerer.waiting == 2
    assert client.post("/v1/decisions", json={"area": "n5", "type": "fire"}).json()["fallback"] is False
    stuck.set()
    settle(answerer)


def test_an_error_that_comes_late_disturbs_nobody(
    serve: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A computation that fails after the fallback has answered is forgotten; one that fails in time is said."""
    go = threading.Event()

    def fail(self: Answerer, asked: Any) -> Any:
        go.wait(60.0)
        raise InputError("no road leads there")

    monkeypatch.setattr(Answerer, "_decide", fail)
    client = serve(limit_ms=50.0)
    assert client.post("/v1/decisions", json=ASKED).json()["fallback"] is True
    go.set()
    settle(client.app.state.parts.answerer)
    soon = serve().post("/v1/decisions", json=ASKED)
    assert (soon.status_code, soon.json()["detail"]) == (422, "no road leads there")
    gc.collect()
    assert not caplog.records


def test_a_policy_that_fails_is_answered_for(failing: str, serve: Any) -> None:
    """A fault of ours is logged, and a dispatcher gets the answer of the fallback, at once or from a thread."""
    client = serve()
    for asked in (ASKED, {"area": "n5", "type": "fire"}):
        answer = client.post("/v1/decisions", json=asked).json()
        assert (answer["answered_by"], answer["fallback"]) == ("closest-first", True)
        assert answer["fallback_reason"] == f"optimal failed ({failing})"


def test_a_quick_policy_that_once_takes_too_long_is_computed_in_a_thread(
    serve: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What was judged quick and held up the loop once is slow from then on; log and list of policies say so."""
    client = serve(limit_ms=50.0)
    store, decide, threads, go = client.app.state.parts.store, Answerer._decide, list[str](), threading.Event()
    store.add(replace(store.serving, slow=False), serve=True)

    def late(self: Answerer, asked: Any) -> Any:
        if threads:
            go.wait(10.0)
        threads.append(threading.current_thread().name)
        time.sleep(0.06)
        return decide(self, asked)

    monkeypatch.setattr(Answerer, "_decide", late)
    answers = [client.post("/v1/decisions", json={"area": "n5", "type": "fire"}).json() for _ in range(2)]
    assert [one["fallback"] for one in answers] == [False, True]
    assert len(threads) == 1
    go.set()
    assert "from now on it is computed in a thread" in caplog.text
    (policy,) = [one for one in client.get("/v1/policies").json()["policies"] if one["serving"]]
    assert (policy["name"], policy["slow"]) == ("optimal", True)


def test_a_policy_that_the_machine_held_up_is_quick_again(
    serve: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """After so many quick answers in a row one late one counts no more; a policy that always was slow stays so."""
    monkeypatch.setattr("runcard.service.answers.FORGIVEN_AFTER", 3)
    client = serve(limit_ms=5_000.0)
    store, slow = client.app.state.parts.store, list[bool]()
    for found_quick in (True, False):
        store.add(replace(store.serving, slow=True, found_quick=found_quick), serve=True)
        for _ in range(4):
            answer = client.post("/v1/decisions", json={"area": "n5", "type": "fire"}).json()
            assert not answer["fallback"]
            slow.append(store.serving.slow)
    assert slow == [True, True, False, False, *[True] * 4]
    assert caplog.text.count("its answers are computed at once again") == 1


def test_only_quick_answers_in_a_row_are_forgiven(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A late answer among quick ones begins the count again."""
    monkeypatch.setattr("runcard.service.answers.FORGIVEN_AFTER", 3)
    answerer, slow = client.app.state.parts.answerer, list[bool]()
    answerer.store.add(replace(answerer.store.serving, slow=True, found_quick=True), serve=True)
    asked = answerer.situation(DecisionRequest(area="n5", type="fire"))
    for seconds in (0.0, 0.0, 1.0, 0.0, 0.0, 0.0):
        answerer._forgive(asked, seconds)
        slow.append(answerer.store.serving.slow)
    assert slow == [True] * 5 + [False]


def test_a_place_off_the_demand_points_is_answered_for_too(serve: Any, stuck: threading.Event) -> None:
    """The fallback for coordinates uses the card of the closest area as the crow flies, and says so."""
    client = serve(limit_ms=20.0)
    answer = client.post("/v1/decisions", json={"x": 1.1, "y": 1.2, "type": "fire"}).json()
    stuck.set()
    assert (answer["fallback"], answer["node"], answer["area"]) == (True, "n5", "n5")


def test_the_closest_area_is_found_in_metres(
    department_city: City, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At 60 degrees north a degree of longitude is half of one of latitude: 0.03 east is closer than 0.02 north."""
    north = tuple(
        replace(node, x_coord=10.0 + 0.03 * node.x_coord, y_coord=60.0 + 0.02 * node.y_coord)
        for node in department_city.nodes
    )
    demand = tuple(point for point in department_city.demand if point.node_id != "n5")
    city = replace(department_city, nodes=north, demand=demand)
    solve(city, "closest-first").save(tmp_path / "north.policy")

    def fail(self: Answerer, asked: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(Answerer, "_decide", fail)
    with service(tmp_path, "north.policy") as client:
        answer = client.post("/v1/decisions", json={"node": "n5", "type": "fire"}).json()
    here, there = city.node("n5"), city.node(answer["area"])
    assert (answer["fallback"], abs(there.x_coord - here.x_coord)) == (True, pytest.approx(0.03))
    assert there.y_coord == here.y_coord


@pytest.mark.parametrize("kind", ["policy", "cards"])
def test_another_fallback_can_be_named(
    serve: Any, stuck: threading.Event, policy_folder: Path, tmp_path: Path, kind: str
) -> None:
    """A fixed-card policy, or the CSV of run cards, answers instead, as it would on its own, with its own version."""
    path = policy_folder / "cards.policy"
    if kind == "cards":
        path = write_cards_csv(make_book(load(policy_folder / "optimal.policy")), tmp_path / "cards.csv")
    client = serve(limit_ms=20.0, fallback=path)
    answer = client.post("/v1/decisions", json=ASKED).json()
    stuck.set()
    assert answer["fallback"] is True
    assert answer["answered_by"] == ("fixed-card" if kind == "policy" else "run-card")
    assert "on the card" in answer["reason"]
    assert all(0.0 <= one["chance"] <= 1.0 for part in answer["kinds"] for one in part["standards"])
    assert answer["fallback_version"] == hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    assert client.get(f"/v1/decisions/{answer['decision_id']}").json()["fallback_version"] == answer["fallback_version"]
    assert len(answer["team"]) == 3
    assert "E01" not in answer["team"]


def test_cards_answer_for_the_kinds_that_they_have(failing: str, department_city: City, tmp_path: Path) -> None:
    """A boat that no incident needs does not keep the cards from answering; cards without ladders never do at fires."""
    boat = Unit("B01", department_city.stations[0].station_id, "boat")
    path = tmp_path / "optimal.policy"
    save(solve(replace(department_city, units=(*department_city.units, boat))), path)
    book = make_book(load(path))
    every = write_cards_csv(book, tmp_path / "every.csv")
    engines = write_cards_csv(
        replace(book, cards=tuple(one for one in book.cards if one.kind == "engine")), tmp_path / "engines.csv"
    )
    asked = {"area": "n5", "type": "fire", "busy": ["T01", "T02"]}
    for cards, by in ((every, "run-card"), (engines, "closest-first")):
        with service(tmp_path, path.name, fallback=cards) as client:
            answer = client.post("/v1/decisions", json=asked).json()
        assert (answer["fallback"], answer["answered_by"], answer["units"]["ladder"]) == (True, by, ["outside"])


def test_cards_of_periods_answer_by_that_of_the_incident(
    failing: str, serve: Any, policy_folder: Path, tmp_path: Path
) -> None:
    """By day the card of the day, at night that of the night, which sends another team."""
    cards = write_cards_csv(make_book(load(policy_folder / "week.policy")), tmp_path / "cards.csv")
    client, teams = serve("week.policy", time_zone="UTC", fallback=cards), {}
    for period, hour in (("day", 12), ("night", 2)):
        answer = client.post("/v1/decisions", json={"area": "n5", "time": f"2026-11-16T{hour:02}:00Z"}).json()
        assert (answer["policy"]["period"], answer["answered_by"]) == (period, "run-card")
        teams[period] = tuple(answer["team"])
        assert teams[period] == by_cards(read_cards(cards), "n5", idle="s0,s1,s2", hour=hour).kinds[0].units
    assert teams["day"] != teams["night"]


def test_a_slow_fallback_or_one_of_another_city_is_refused(
    serve: Any, policy_folder: Path, department_city: City, tmp_path: Path
) -> None:
    """The fallback must take no time, for every kind, and be of the same city: other units would send nobody."""
    half = solve(department_city, {"engine": "fixed-card", "ladder": "optimal"}).save(tmp_path / "half.policy")
    cards = write_cards_csv(make_book(load(policy_folder / "plain.policy")), tmp_path / "cards.csv")
    for path, words in (
        (policy_folder / "optimal.policy", "expected a quick fallback"),
        (half, "expected a quick fallback"),
        (policy_folder / "plain.policy", "expected the city that is served"),
        (cards, r"expected the cards of .*, got the unit 's\d'"),
    ):
        with pytest.raises(InputError, match=words):
            serve(fallback=path)
