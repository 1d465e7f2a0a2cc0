"""A real server under load: policies are swapped, clients are slow, it is killed, and no answer is lost or wrong."""

import asyncio
import json
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from benchmarks.service_load import Load, flood, offer, request_bytes
from benchmarks.service_server import Server, served
from tests.service.conftest import PATIENT_MS

from runcard.city import City
from runcard.plan.file import load
from runcard.plan.situation import Situation
from runcard.service.audit import open_audit

PER_SECOND = 150.0
PATIENT = ("--limit-ms", f"{PATIENT_MS:g}")


@pytest.fixture(scope="module")
def running(policy_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with its log; it serves optimal.policy."""
    folder = tmp_path_factory.mktemp("served")
    with served(folder, policy_folder / "optimal.policy", "--audit", folder / "audit.sqlite", *PATIENT) as server:
        yield server


def questions(city: City) -> list[dict[str, Any]]:
    """Incidents everywhere, with units busy or not."""
    engines = [unit.unit_id for unit in city.units]
    points = sorted({(point.node_id, point.type) for point in city.demand})
    return [
        {"area": node_id, "type": of_type, "busy": engines[number % 3 : number % 3 + number % 4]}
        for number, (node_id, of_type) in enumerate(points)
    ]


def as_requests(asked: list[dict[str, Any]]) -> list[bytes]:
    """Questions as they go over the wire."""
    return [request_bytes("/v1/decisions", json.dumps(one).encode()) for one in asked]


def units_by(path: Path, asked: list[dict[str, Any]]) -> list[list[str]]:
    """The units that the policy of a file sends to each."""
    department = load(path)
    free = frozenset(department.unit_ids)
    return [
        list(department.decide(Situation(at=one["area"], type=one["type"], idle=free - set(one["busy"]))).units)
        for one in asked
    ]


def test_a_policy_swap_under_load_drops_and_mixes_up_nothing(
    running: Server, policy_folder: Path, department_city: City
) -> None:
    """While the policy changes again and again, every request is answered, as the policy that it names would."""
    asked = questions(department_city)
    wanted = {name: units_by(policy_folder / f"{name}.policy", asked) for name in ("optimal", "cards")}
    assert wanted["optimal"] != wanted["cards"]
    answers: list[tuple[int, dict[str, Any]]] = []

    def keep(number: int, _: int, body: bytes) -> None:
        answers.append((number, json.loads(body)))

    async def ask() -> int:
        load = await flood(running.port, as_requests(asked), num=len(asked), connections=8, on_answer=keep)
        return load.failures

    async def swap(name: str) -> None:
        swapped = asyncio.create_task(
            asyncio.to_thread(running.ask, "POST", "/v1/policies", {"file": f"{name}.policy"})
        )
        while not swapped.done():
            assert await ask() == 0
        assert swapped.result()[0] == 201
        before = len(answers)
        assert await ask() == 0
        assert {answer["policy"]["name"] for _, answer in answers[before:]} == {name}

    for name in ("cards", "optimal") * 3:
        asyncio.run(swap(name))
    assert len(answers) >= 12 * len(asked)
    for number, answer in answers:
        assert answer["team"] == wanted[answer["policy"]["name"]][number]


def test_slow_clients_hold_up_nobody(running: Server, department_city: City) -> None:
    """Clients that send half a request, or listen and never read, do not keep others from being answered."""
    halves = [
        b"POST /v1/decisions HTTP/1.1\r\nHost: loc",
        request_bytes("/v1/decisions", b"{" * 90)[:-89],
        b"GET /v1/board/stream HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ]
    slow = [socket.create_connection(("127.0.0.1", running.port)) for _ in range(60)]
    try:
        for number, one in enumerate(slow):
            one.sendall(halves[number % len(halves)])
        requests = as_requests(questions(department_city))
        load = asyncio.run(offer(running.port, requests, per_second=PER_SECOND, seconds=1.0, connections=16))
        for status in ("busy", "idle") * 20:  # every listener is told
            assert running.ask("PUT", "/v1/units/E01", {"status": status})[0] == 200
    finally:
        for one in slow:
            one.close()
    assert running.ask("GET", "/health")[0] == 200
    assert load.failures == 0, load.errors


@pytest.mark.slow
def test_a_killed_server_has_every_decision_that_it_answered(
    policy_folder: Path, department_city: City, tmp_path: Path
) -> None:
    """After kill -9 in the middle of a load, each answer that a client got is in the audit log, as it was sent."""
    audit = str(tmp_path / "audit.sqlite")
    answers: dict[str, dict[str, Any]] = {}

    def keep(_: int, status: int, body: bytes) -> None:
        if status == 200:
            answer = json.loads(body)
            answers[answer["decision_id"]] = answer

    async def run(server: Server) -> Load:
        requests = as_requests(questions(department_city))
        work = asyncio.create_task(offer(server.port, requests, per_second=400.0, seconds=20.0, on_answer=keep))
        while len(answers) < 200 and not work.done():
            await asyncio.sleep(0.001)
        server.process.kill()
        return await work

    with served(tmp_path, policy_folder / "optimal.policy", "--audit", audit) as server:
        load = asyncio.run(run(server))
    assert load.failures > 0  # it was killed in the middle
    assert len(answers) == load.answers >= 200
    with closing(open_audit(audit, create=False)) as log:
        known = {one["decision_id"]: one for one in log.decisions()}
    for decision_id, answer in answers.items():
        assert answer == {name: known[decision_id][name] for name in answer}


def test_more_requests_than_connections_are_all_answered(running: Server, department_city: City) -> None:
    """A burst of a thousand requests on a hundred connections is answered whole."""
    load = asyncio.run(flood(running.port, as_requests(questions(department_city)), num=1000, connections=100))
    assert load.failures == 0, load.errors
