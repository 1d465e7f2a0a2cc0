"""Assessments whose tasks run on a Dask cluster: the same to the byte, whatever happens to its workers."""

import json
import logging
import socket
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from tests.clusters import cluster
from tests.departments import random_department
from tests.weeks import with_days

import runcard
from runcard.assess.assessment import Assessment
from runcard.assess.workers import Workers, connected
from runcard.city import write_city
from runcard.cli import main
from runcard.cli.progress import ShownSteps
from runcard.errors import InputError

CITY = with_days(random_department(4), 2.0, 0.5)


def numbers_of(found: Assessment) -> str:
    """What an assessment says, but for the seconds that it took."""

    def untimed(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: untimed(part) for name, part in value.items() if name != "seconds"}
        return [untimed(part) for part in value] if isinstance(value, list) else value

    return json.dumps(untimed(found.document()))


def doubled(number: int) -> int:
    """A task."""
    if number == 7:
        raise InputError("expected another number than 7")
    return 2 * number


def divided(number: int) -> float:
    """A task that cannot be done with 0."""
    return 1.0 / number


@pytest.mark.slow
def test_a_cluster_finds_the_same(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An exact assessment, a stress test and a report of two workers are those of this process, also once one is killed
    midway; errors of tasks are those that they raise here, and others say that the workers stopped."""
    folder = tmp_path / "city"
    write_city(CITY, folder)

    def stressed(*options: str) -> str:
        scenarios = ["--scenarios", "paper,traffic,breakdowns,redirect", "--incidents", "600"]
        assert main(["stress", str(folder), *scenarios, "--json", *options]) == 0
        return capsys.readouterr().out

    def reported(name: str, *options: str) -> str:
        page = tmp_path / name
        assert main(["report", str(folder), "--incidents", "200", "-o", str(page), *options]) == 0
        capsys.readouterr()
        return page.read_text().replace(name, "")

    page = reported("here.html")
    exact, alone = runcard.assess(CITY, ["closest-first", "optimal"], "exact"), stressed()
    with cluster(tmp_path) as (address, processes):
        workers = Workers(backend="dask", address=address)
        done: list[int] = []

        def kill_one(number: int) -> None:
            done.append(number)
            if len(done) == 2:
                processes[0].kill()

        there, steps = ("--backend", "dask", "--address", address), list[str]()
        with monkeypatch.context() as patched:
            patched.setattr(ShownSteps, "begin", lambda _, words: steps.append(words))
            assert stressed(*there) == alone
        assert steps[-6] == "simulating on the workers"  # then the four that are done, and the records
        assert reported("there.html", *there) == page
        log = logging.getLogger("distributed.client")
        with connected(address):
            assert not log.filter(logging.makeLogRecord({}))  # its tracebacks of a lost scheduler
        assert log.filter(logging.makeLogRecord({}))
        assert workers.each(doubled, range(5), kill_one) == [0, 2, 4, 6, 8]
        assert sorted(done) == [0, 1, 2, 3, 4]
        assert processes[0].wait() != 0
        found = runcard.assess(CITY, ["closest-first", "optimal"], "exact", workers=workers)
        assert numbers_of(found) == numbers_of(exact)
        with pytest.raises(InputError, match="another number than 7"):
            workers.each(doubled, [1, 7])
        with pytest.raises(
            runcard.RuncardError, match="the workers stopped: ZeroDivisionError: float division by zero"
        ):
            workers.each(divided, [0])
        monkeypatch.setattr("runcard.assess.workers.WORKER_SECONDS", 1)
        with pytest.raises(
            runcard.RuncardError, match=r"has lost its workers.*: expected one at least; 1 task not done"
        ):
            workers.each(time.sleep, [0.1, 30.0], lambda _: processes[1].kill())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"backend": "slurm"}, "expected a backend, one of threads, dask; got 'slurm'"),
        ({"backend": "dask"}, "expected the --address of a Dask scheduler"),
        ({"address": "tcp://10.0.0.1:8786"}, "expected an address only with --backend dask"),
    ],
)
def test_workers_that_cannot_be_are_refused(options: dict[str, str], words: str) -> None:
    """A backend that there is not, or one without its address, or the other way round."""
    with pytest.raises(InputError, match=words):
        Workers(**options)


def test_a_server_that_is_no_scheduler_is_said() -> None:
    """What a web server answers is read as a message of 3 EB, which is no lack of memory here."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            try:
                while True:
                    other, _ = server.accept()
                    with other:
                        other.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 4)
                        other.recv(1000)
            except OSError:  # it is closed
                return

        thread = Thread(target=answer, daemon=True)
        thread.start()
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(runcard.RuncardError, match=f"no Dask scheduler answers at {address}"):
            Workers(backend="dask", address=address).each(doubled, [1])
        server.shutdown(socket.SHUT_RDWR)
    thread.join(10.0)
    assert not thread.is_alive()


def test_tasks_here_are_begun_in_turn() -> None:
    """Without a cluster each task is named before it begins, and results have the order of the items."""
    begun: list[int] = []

    def work(seen: Sequence[int], item: int) -> tuple[int, int]:
        return item, len(seen)

    assert Workers().each(partial(work, begun), [5, 3, 4], begun.append) == [(5, 1), (3, 2), (4, 3)]
