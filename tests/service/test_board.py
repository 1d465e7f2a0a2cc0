"""The status board: what units do, versions, listeners, and what a restart keeps."""

import asyncio
import json
import os
import re
import shutil
import stat
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from tests.service.conftest import end

from runcard.city import Unit
from runcard.city.address import Spot
from runcard.errors import InputError
from runcard.service.board import QUEUE_LENGTH, Board
from runcard.service.parts import Parts
from runcard.service.routes.board import _events

UNITS = ("E01", "E02", "E03", "E04", "T01", "T02")
"""Those of the small department."""
FIRE = {"area": "n5", "type": "fire"}
ROSTER = [Unit("E01", "s0", "engine"), Unit("E02", "s1", "engine"), Unit("T01", "s0", "ladder")]


def change(board: Board, unit_id: str, status: str, spot: Spot | None = None) -> None:
    """Say what a unit does."""
    board.set(board.changed(unit_id, status, spot))


def test_a_board_begins_with_every_unit_idle_at_home_and_its_version_grows() -> None:
    """Each change is one version more; only idle units can be elsewhere."""
    board = Board(ROSTER)
    assert (board.idle, dict(board.moved), board.version) == ({"E01", "E02", "T01"}, {}, 0)
    change(board, "E01", "busy")
    change(board, "T01", "out_of_service")
    change(board, "E02", "idle", Spot(node_id="n4"))
    assert (board.idle, dict(board.moved), board.version) == ({"E02"}, {"E02": "n4"}, 3)
    change(board, "E02", "idle")
    assert dict(board.moved) == {}


def test_a_decision_by_the_board_is_one_with_its_units(client: Any) -> None:
    """Without units in the request those of the board count: the answer is the same as with them named."""
    for unit in ("E02", "E03", "T01"):
        client.put(f"/v1/units/{unit}", json={"status": "idle"})
    client.put("/v1/units/E01", json={"status": "busy"})
    client.put("/v1/units/T02", json={"status": "out_of_service"})
    changed = client.put("/v1/units/E04", json={"status": "idle", "node": "n5"}).json()
    assert (changed["board_version"], changed["unit"]["node"]) == (6, "n5")
    asked = {"area": "n5", "type": "fire"}
    by_board = client.post("/v1/decisions", json=asked | {"board_version": 6}).json()
    named = {"busy": ["E01", "T02"], "moved": {"E04": {"node": "n5"}}}
    by_name = client.post("/v1/decisions", json=asked | named).json()
    assert by_board["board_version"] == 6
    assert "E04" in by_board["team"]
    for key in ("team", "kinds", "reason", "notes"):
        assert by_board[key] == by_name[key]
    board = client.get("/v1/board").json()
    assert {one["unit"]: one["status"] for one in board["units"]} == {
        "E01": "busy", "E02": "idle", "E03": "idle", "E04": "idle", "T01": "idle", "T02": "out_of_service",
    }  # fmt: skip
    assert client.get("/v1/units/E01").json()["status"] == "busy"


def test_an_answer_by_a_board_that_nobody_told_says_so(serve: Any, tmp_path: Path) -> None:
    """Until every unit was told, a note says which are only taken as free; a restart forgets nothing of it.

    There is none where the request says who is free or busy: the board is not asked then.
    """
    path, asked = tmp_path / "board.json", FIRE
    client = serve(board=path)

    def notes(**who: Any) -> list[str]:
        answer = client.post("/v1/decisions", json=asked | who).json()
        assert client.get(f"/v1/decisions/{answer['decision_id']}").json()["notes"] == answer["notes"]
        return list(answer["notes"])

    nothing = "Nobody has told the status board yet which units are free: all of them are taken as free."
    assert notes() == [nothing]
    assert notes(busy=[]) == notes(busy=["E01"]) == notes(idle=["E01", "T01"]) == []
    client.put("/v1/units/E01", json={"status": "busy"})
    client.put("/v1/units/T01", json={"status": "idle"})
    some = "Nobody has told the status board yet what these units do, so they are taken as free: E02, E03, E04, T02."
    assert notes() == [some]
    assert [one["unit"] for one in client.get("/v1/board").json()["units"] if one["told"]] == ["E01", "T01"]
    end(client)
    client = serve(board=path)
    assert notes() == [some]
    client.put("/v1/board", json={"units": {unit: {"status": "idle"} for unit in UNITS}})
    assert notes() == []
    end(client)
    client = serve(board=path)
    assert notes() == []
    end(client)
    document = json.loads(path.read_text())
    document["units"] = [{key: one[key] for key in one if key != "told"} for one in document["units"]]
    path.write_text(json.dumps(document))  # as a service wrote it that did not count who was told
    client = serve(board=path)
    assert notes() == [nothing]
    for unit in UNITS:  # one by one it is the same in the end
        assert notes() != []
        client.put(f"/v1/units/{unit}", json={"status": "idle"})
    assert notes() == []


def test_the_file_of_a_board_is_for_its_owner(serve: Any, tmp_path: Path) -> None:
    """Whatever the umask, a new file has mode 0600, and so have its lock and its draft; an old one keeps its mode."""
    path, modes, before = tmp_path / "board.json", set[int](), os.umask(0)
    replace = Path.replace

    def seen(draft: Path, target: Path) -> Path:
        modes.add(stat.S_IMODE(draft.stat().st_mode))
        return replace(draft, target)

    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Path, "replace", seen)
            client = serve(board=path)
            client.put("/v1/units/E01", json={"status": "busy"})
        assert modes == {stat.S_IMODE(one.stat().st_mode) for one in tmp_path.iterdir()} == {0o600}
        assert {one.name for one in tmp_path.iterdir()} == {"board.json", "board.json.lock"}
        path.chmod(0o640)
        client.put("/v1/units/E01", json={"status": "idle"})
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
    finally:
        os.umask(before)


def test_units_out_of_service_are_not_sent_though_they_are_not_busy(client: Any) -> None:
    """Who names busy units does not bring back those that the board has out of service; who names idle ones does.

    A note says so in each case; there is none where request and board agree.
    """
    client.put("/v1/units/T01", json={"status": "out_of_service"})
    client.put("/v1/units/E01", json={"status": "busy"})

    def answer(**who: list[str]) -> dict[str, Any]:
        found: dict[str, Any] = client.post("/v1/decisions", json=FIRE | who).json()
        return found

    by_busy, by_idle = answer(busy=["E01"]), answer(idle=["T01", "E02"])
    assert by_busy["units"]["ladder"] == ["T02"]
    assert by_busy["notes"] == ["Out of service on the board, so not free: T01."]
    assert by_idle["units"]["ladder"] == ["T01"]
    assert by_idle["notes"] == ["Out of service on the board, but free as the request says: T01."]
    assert answer(busy=["T01"])["notes"] == ["Busy on the board, but free as the request says: E01."]
    assert answer(busy=["T01", "E01"])["notes"] == []


def test_a_free_unit_is_where_the_board_has_it_unless_the_request_says_otherwise(serve: Any) -> None:
    """Also where the request names the busy units: the place on the board counts, and a note says it."""
    client = serve(limit_ms=10_000.0)
    client.put("/v1/units/E04", json={"status": "idle", "node": "n5"})
    asked = {"area": "n5", "type": "medical"}
    by_board = client.post("/v1/decisions", json=asked).json()
    by_busy = client.post("/v1/decisions", json=asked | {"busy": ["E01"]}).json()
    assert by_busy["team"] == by_board["team"] == ["E04"]
    assert by_busy["moved"] == {"E04": {"node": "n5"}}
    assert "E04 is free at n5, not at home." in by_busy["notes"]
    own = client.post("/v1/decisions", json=asked | {"busy": [], "moved": {"E04": {"node": "n15"}}}).json()
    assert own["moved"] == {"E04": {"node": "n15"}}
    busy = client.post("/v1/decisions", json=asked | {"busy": ["E04"]}).json()
    assert (busy["moved"], busy["idle"]) == ({}, ["E01", "E02", "E03", "T01", "T02"])


def test_a_change_that_cannot_be_kept_is_no_change(serve: Any, tmp_path: Path) -> None:
    """Where the file of the board cannot be written the answer is 503, and the board is as it was."""
    folder = tmp_path / "gone"
    folder.mkdir()
    client = serve(board=folder / "board.json")
    shutil.rmtree(folder)
    response = client.put("/v1/units/E01", json={"status": "busy"})
    assert (response.status_code, "the board could not be kept" in response.text) == (503, True)
    board = client.get("/v1/board").json()
    assert (board["board_version"], {one["status"] for one in board["units"]}) == (0, {"idle"})


def parts_with(board: Board) -> Parts:
    """Parts that only have a board."""
    parts = object.__new__(Parts)
    object.__setattr__(parts, "board", board)
    return parts


def test_listeners_see_the_board_and_then_every_change() -> None:
    """The stream begins with the whole board, then sends each change with its version, and ends with the board.

    Where all of it changed, it is one event and not one for each unit.
    """
    board = Board(ROSTER)

    async def listen() -> list[bytes]:
        events = _events(parts_with(board))
        found = [await anext(events)]
        change(board, "E01", "busy")
        change(board, "E01", "idle")
        board.set(board.changed("E01", "busy"), board.changed("E02", "busy"))
        found += [await anext(events) for _ in range(3)]
        assert len(board.listeners) == 1
        board.close()
        with pytest.raises(StopAsyncIteration):
            await anext(events)
        return found

    first, second, third, fourth = asyncio.run(listen())
    assert first.startswith(b"event: board\nid: 0\ndata: {")
    assert json.loads(first.partition(b"data: ")[2])["board_version"] == 0
    assert second.startswith(b"event: unit\nid: 1\n")
    assert json.loads(third.partition(b"data: ")[2])["unit"]["status"] == "idle"
    assert fourth.startswith(b"event: board\nid: 3\n")
    statuses = [one["status"] for one in json.loads(fourth.partition(b"data: ")[2])["units"]]
    assert statuses == ["busy", "busy", "idle"]
    assert len(board.listeners) == 0


def test_the_whole_board_is_set_in_one_step(serve: Any, tmp_path: Path) -> None:
    """One version more, kept over a restart; with a unit that is missing, unknown or nowhere, nothing changes."""
    client = serve(board=tmp_path / "board.json")
    every = {unit: {"status": "idle"} for unit in UNITS}
    given = every | {"E02": {"status": "busy"}, "T01": {"status": "idle", "node": "n9"}}
    answer = client.put("/v1/board", json={"units": given})
    assert (answer.status_code, answer.json()) == (200, client.get("/v1/board").json())
    assert answer.json()["board_version"] == 1
    assert [one["unit"] for one in answer.json()["units"] if one["status"] == "busy"] == ["E02"]
    assert client.get("/v1/units/T01").json()["node"] == "n9"
    for wrong, words in (
        ({"E01": {"status": "busy"}}, "expected every unit of the roster, got none of E02, E03"),
        (given | {"E99": {"status": "busy"}}, "expected units of the roster, got 'E99'"),
        (given | {"E01": {"status": "idle", "node": "n77"}}, "unit E01: expected a node of grid"),
        (given | {"E01": {"status": "away"}}, "units.E01.status: expected"),
    ):
        refused = client.put("/v1/board", json={"units": wrong})
        assert (refused.status_code, words in refused.json()["detail"]) == (422, True), refused.text
    assert client.get("/v1/board").json() == answer.json()
    end(client)
    assert serve(board=tmp_path / "board.json").get("/v1/board").json() == answer.json()


def test_a_slow_listener_is_dropped_and_others_are_not() -> None:
    """Who does not read loses its place when its queue is full; the board and other listeners go on."""
    board = Board(ROSTER)

    async def listen() -> None:
        slow, quick = board.listen(), board.listen()
        for _ in range(QUEUE_LENGTH + 10):
            change(board, "E01", "busy")
            assert await quick.changes.get() is not None
        assert (slow.dropped, quick.dropped) == (True, False)
        assert len(board.listeners) == 2  # until it is gone

    asyncio.run(listen())


def test_only_so_many_listen(serve: Any) -> None:
    """Beyond the limit a listener is told to come again."""
    client = serve(streams=1)
    client.app.state.parts.board.listen()
    refused = client.get("/v1/board/stream")
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")


def test_a_restart_keeps_the_board(serve: Any, tmp_path: Path) -> None:
    """What units do, where they are and the version are there again; a file that is none is refused.

    So is a second service while the first one runs: it would write over its changes.
    """
    path = tmp_path / "board.json"
    first = serve(board=path)
    first.put("/v1/units/E01", json={"status": "busy"})
    first.put("/v1/units/E02", json={"status": "idle", "node": "n9"})
    first.put("/v1/units/E03", json={"status": "idle", "x": 2.1, "y": 1.0})
    before = first.get("/v1/board").json()
    with pytest.raises(InputError, match="another service keeps its status board there"):
        serve(board=path)
    end(first)
    again = serve(board=path)
    assert again.get("/v1/board").json() == before
    end(again)
    row = '{"unit": "E01", "status": "idle", "node": "gone", "x": null, "y": null, "since": "2026-11-16T00:00:00Z"}'
    for content, words in (
        ("damaged", "expected the status board that a service kept; remove it"),
        ('{"board_version": 1e999, "units": []}', "expected the status board that a service kept; remove it"),
        ('{"board_version": -5, "units": []}', "expected the status board that a service kept; remove it"),
        (f'{{"board_version": 1, "units": [{row}]}}', "kept .unit E01: expected a node of grid.*got 'gone'"),
    ):
        path.write_text(content)
        with pytest.raises(InputError, match=f"^{re.escape(str(path))}: .*{words}"):
            serve(board=path)


def test_a_change_waits_for_nobody_who_reads_the_log(serve: Any, tmp_path: Path) -> None:
    """With every thread of the loop busy a unit can still be set."""
    client, go_on = serve(board=tmp_path / "board.json"), threading.Event()

    async def fill() -> None:
        loop = asyncio.get_running_loop()
        for _ in range(100):
            loop.run_in_executor(None, go_on.wait, 20.0)

    client.portal.call(fill)
    began = time.monotonic()
    assert client.put("/v1/units/E01", json={"status": "busy"}).status_code == 200
    assert time.monotonic() - began < 15.0
    go_on.set()
