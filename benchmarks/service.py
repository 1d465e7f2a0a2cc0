"""The service under load, with the generator on the same machine: answers a second, waiting times, and starting.

Every answer is checked: its units are those of the library for the same incident and the same busy units, and after the
run every decision that was answered is in the audit log.
"""

import asyncio
import gc
import json
import random
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.cases import Row
from benchmarks.department import department_city
from benchmarks.raw_files import build_san_francisco, run_python
from benchmarks.service_load import Load, flood, offer, request_bytes
from benchmarks.service_peer import served_bare
from benchmarks.service_server import processor_seconds, served
from runcard.plan.file import load, save
from runcard.plan.plan import Plan, solve
from runcard.plan.situation import Situation

SECONDS = 30.0
BUSY_SHARE = 0.25
"""The share of the units that are busy when an incident comes."""
READY_SECONDS = 3.0
RECORDS_A_SECOND = 5_000


@dataclass(frozen=True)
class Question:
    """A request, and the units that the library sends."""

    request: bytes
    units: tuple[str, ...]


@dataclass(frozen=True)
class Asked:
    """The department that the library decides for, and its period."""

    department: Plan
    period: str | None = None


@dataclass
class Check:
    """Told every answer: its units must be those of the library, and its decision will be looked for in the log."""

    questions: list[Question]
    ids: set[str] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)
    fallbacks: int = 0

    def __call__(self, number: int, status: int, body: bytes) -> None:
        """Check an answer."""
        if status != 200:
            return
        self.ids.add(_text_after(body, b'"decision_id":'))
        if b'"fallback":true' in body:
            self.fallbacks += 1
            return
        at = body.index(b'"team":') + 7
        units = tuple(json.loads(body[at : body.index(b"]", at) + 1]))
        wanted = self.questions[number % len(self.questions)].units
        if units != wanted and len(self.wrong) < 5:
            self.wrong.append(f"expected {wanted}, got {units}")


def _text_after(body: bytes, key: bytes) -> str:
    """The text of a key of a document, without reading all of it."""
    start = body.index(b'"', body.index(key) + len(key)) + 1
    return body[start : body.index(b'"', start)].decode()


def service_cases(*, quick: bool = False, data: Path | None = None, seconds: float = SECONDS) -> Iterator[Row]:
    """Every figure of the service; San Francisco where its raw files are."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        policy = save(solve(department_city()), folder / "city.policy")
        with served(folder, policy, "--audit", folder / "first.sqlite"):
            pass  # compiled code is there
        yield start_row(folder, policy)
        yield log_row(folder)
        yield from department_rows(folder, policy, seconds=5.0 if quick else seconds)
    if data is not None and not quick:
        with TemporaryDirectory() as name:
            yield from san_francisco_rows(Path(name), data, seconds=seconds)


def start_row(folder: Path, policy: Path, tries: int = 5) -> Row:
    """Seconds from the start of the process until it is ready."""
    found = []
    for number in range(tries):
        with served(folder, policy, "--audit", folder / f"start-{number}.sqlite") as server:
            found.append(server.ready_seconds)
    middle = statistics.median(found)
    return Row(
        "service: start to ready, 13 engines and 7 ladders x 400",
        f"{middle:.2f} s (worst {max(found):.2f})",
        f"< {READY_SECONDS:g} s",
        max(found) < READY_SECONDS,
    )


def log_row(folder: Path, workers: int = 200, each: int = 15, tries: int = 3) -> Row:
    """Records a second that the audit log alone takes, each durable before its worker has the next one."""
    from runcard.service.audit import open_audit

    log = open_audit(str(folder / "alone.sqlite"))

    async def work(name: str) -> None:
        for number in range(each):
            await log.record({"decision_id": f"{name}-{number}", "time": "2026-11-16T21:40:03Z", "reason": "x" * 1_000})

    async def turn(name: str) -> float:
        began = time.perf_counter()
        await asyncio.gather(*(work(f"{name}-{worker}") for worker in range(workers)))
        return workers * each / (time.perf_counter() - began)

    try:
        rates = [_run(turn(str(number))) for number in range(tries)]
        assert sum(1 for _ in log.decisions()) == tries * workers * each
    finally:
        log.close()
    return Row(
        f"service: audit log in SQLite, {workers} at a time",
        f"{statistics.median(rates):,.0f} records a second",
        f">= {RECORDS_A_SECOND:,}",
        statistics.median(rates) >= RECORDS_A_SECOND,
    )


def department_rows(folder: Path, policy: Path, *, seconds: float) -> Iterator[Row]:
    """1,000 decisions a second of 13 engines and 7 ladders, each in the audit log before it is answered."""
    questions = ask_areas(first_of(policy), 2000)
    yield from load_rows(
        folder, policy, questions, "13 engines and 7 ladders x 400, optimal", per_second=1000.0, limit_ms=20.0,
        seconds=seconds,
    )  # fmt: skip
    with served_bare() as port:
        requests = [one.request for one in questions]
        _run(flood(port, requests, num=1000))  # not counted
        bare: Load = _run(flood(port, requests, num=5000))
    assert not bare.failures, bare.errors
    yield Row(
        "  a bare FastAPI that reads and answers, no more, all at once", f"{bare.per_second:,.0f} a second", "", True
    )


def san_francisco_rows(folder: Path, data: Path, *, seconds: float) -> Iterator[Row]:
    """50 decisions a second of San Francisco's engines and ladders, found online: at areas, and at any address."""
    policy = folder / "sf.policy"
    city = build_san_francisco(data, folder)
    run_python("-m", "runcard", "solve", str(city), "--policy", "one-step-mean-field", "-o", str(policy))
    asked = first_of(policy)
    for words, questions in (("areas", ask_areas(asked, 500)), ("addresses", ask_addresses(asked, 500))):
        name = f"San Francisco, one-step-mean-field, {words}"
        yield from load_rows(folder, policy, questions, name, per_second=55.0, limit_ms=200.0, seconds=seconds)


def load_rows(
    folder: Path,
    policy: Path,
    questions: list[Question],
    name: str,
    *,
    per_second: float,
    limit_ms: float,
    seconds: float,
) -> Iterator[Row]:
    """A load for so long, every answer checked; then how fast it could be."""
    audit, check = folder / "audit.sqlite", Check(questions)
    requests = [one.request for one in questions]
    with served(folder, policy, "--audit", audit, "--time-zone", "America/Los_Angeles") as server:
        _run(offer(server.port, requests, per_second=per_second, seconds=1.0))  # not counted
        before = processor_seconds(server.process.pid)
        load: Load = _run(offer(server.port, requests, per_second=per_second, seconds=seconds, on_answer=check))
        share = (processor_seconds(server.process.pid) - before) / load.seconds
        most: Load = _run(flood(server.port, requests, num=int(5 * per_second)))
    assert not check.wrong, check.wrong
    assert not most.failures, most.errors
    check_log(audit, check.ids)
    good = load.failures == 0 and check.fallbacks == 0
    met = good and load.percentile(99) < limit_ms and load.per_second >= 0.98 * per_second
    yield Row(
        f"service: {name}, {seconds:.0f} s",
        f"{load.words}, {check.fallbacks} by fallback; {share:.2f} processors",
        f"{per_second:,.0f} a second, p99 < {limit_ms:g} ms, none failed",
        met,
    )
    yield Row("  all at once", f"{most.per_second:,.0f} a second", "no target", True)


def check_log(path: Path, ids: set[str]) -> None:
    """Every decision that was answered is in the audit log."""
    from runcard.service.audit import open_audit

    log = open_audit(str(path))
    try:
        missing = ids - {one["decision_id"] for one in log.decisions()}
    finally:
        log.close()
    assert ids, "no decision was answered"
    assert not missing, f"{len(missing)} of {len(ids)} answered decisions are not in the log"


def ask_areas(asked: Asked, num: int, seed: int = 1) -> list[Question]:
    """Random incidents at demand points, some units busy."""
    rng = random.Random(seed)
    fleets = asked.department.fleets
    points = sorted({pair for one in fleets for pair in zip(one.problem.point_ids, one.types, strict=True)})
    return [_question(asked, rng, place, {"area": place}, of_type) for place, of_type in rng.choices(points, k=num)]


def ask_addresses(asked: Asked, num: int, seed: int = 1) -> list[Question]:
    """Random incidents at coordinates near nodes of the roads, some units busy."""
    assert asked.department.ground is not None
    rng, nodes = random.Random(seed), asked.department.ground.city.nodes
    found = []
    for node in rng.choices(nodes, k=num):
        x, y = node.x_coord + rng.uniform(-1e-4, 1e-4), node.y_coord + rng.uniform(-1e-4, 1e-4)
        found.append(_question(asked, rng, (x, y), {"x": x, "y": y}, rng.choice(asked.department.types)))
    return found


def _question(
    asked: Asked, rng: random.Random, place: str | tuple[float, float], where: dict[str, Any], of_type: str
) -> Question:
    all_units = asked.department.unit_ids
    busy = rng.sample(all_units, int(BUSY_SHARE * len(all_units)))
    units = asked.department.decide(Situation(at=place, type=of_type, idle=frozenset(all_units) - set(busy))).units
    document = {**where, "type": of_type, "busy": busy} | ({"period": asked.period} if asked.period else {})
    return Question(request_bytes("/v1/decisions", json.dumps(document).encode()), units)


def first_of(policy: Path) -> Asked:
    """The department of a file; of one with periods, that of the first."""
    held = load(policy)
    period = held.periods[0].name
    return Asked(held.in_period(period), period if held.knows_hour else None)


def _run(work: Any) -> Any:
    """The result of a coroutine, on the same kind of loop as the server's."""
    import uvloop

    gc.collect()
    gc.freeze()  # looking for garbage in all that is loaded here would hold up answers, and be blamed on the server
    try:
        return uvloop.run(work)
    finally:
        gc.unfreeze()
