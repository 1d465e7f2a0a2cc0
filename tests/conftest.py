"""What every folder of tests uses: where the data is, and the golden cities with their answers."""

import json
import os
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import settings
from tests.browser import browser, open_page, open_site  # noqa: F401, fixtures

from runcard.city import City, read_city

if TYPE_CHECKING:
    from runcard.response.table import ResponseTable

# The threads of OpenBLAS wait by counting, and take ten times as much processor as the small matrices here. Workers and
# other processes have this from their start; what is loaded already (numpy with `-n 0`) keeps its threads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

DATA = Path(__file__).parent / "data"
GOLDEN = sorted(path.parent for path in DATA.glob("golden/*/answers.json"))

# The first call of a compiled kernel takes seconds, so time says nothing about an example.
settings.register_profile("runcard", deadline=None, print_blob=True)
settings.load_profile("runcard")


MOST_TABLES, MOST_BYTES = 200, 2**20
"""How many response tables a worker keeps, and how large a kept one may be."""
SECONDS = pytest.StashKey[float]()
MOST_SECONDS = 1.0
"""Of processor that a test takes at the desk without being marked slow; twice that in the whole suite, which runs on
machines that are shared."""
NOT_AT_DESK = {"browser", "postgres_server"}
"""Fixtures that start a program of somebody else."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--desk` is the tier of `make check`."""
    words = "each test once, with its first parameters; none that is slow, or needs a browser or a database"
    parser.addoption("--desk", action="store_true", help=words)
    parser.addoption("--most", type=int, metavar="N", help="with --desk: no more than the first N tests of a module")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with the test of a minute that would come last: at the end one worker would wait for the other."""
    items.sort(key=lambda item: item.path.name != "test_wheel.py")
    if config.getoption("--desk"):
        chosen = at_desk(items, config.getoption("--most"))
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = chosen


def at_desk(items: list[pytest.Item], most: int | None = None) -> list[pytest.Item]:
    """The first item of each test that is quick and needs nothing but this process; of golden cities every one.

    With `most` those of so many tests of each module: the first ones say the most.
    """
    first: dict[tuple[str, object], pytest.Item] = {}
    for item in items:
        if not item.get_closest_marker("slow") and NOT_AT_DESK.isdisjoint(getattr(item, "fixturenames", ())):
            parameters = item.callspec.params if hasattr(item, "callspec") else {}
            first.setdefault((item.nodeid.partition("[")[0], parameters.get("golden")), item)
    if most is None:
        return [*first.values()]
    tests: dict[str, dict[str, None]] = {}
    for test, _ in first:
        tests.setdefault(test.partition("::")[0], {})[test] = None
    some = {test for of_module in tests.values() for test in [*of_module][:most]}
    return [item for (test, _), item in first.items() if test in some]


def processor_seconds() -> float:
    """What this process and those that it waited for have taken of processors."""
    return sum(os.times()[:4])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Note what a test takes of processors. Kernels that are compiled or loaded do not count."""
    from numba.core.event import install_timer  # here, so that `pytest --help` is quick

    compiling: list[float] = []
    begin = processor_seconds()
    with install_timer("numba:compiler_lock", compiling.append):
        result = yield
    item.stash[SECONDS] = processor_seconds() - begin - sum(compiling)
    return result


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Fail a test that takes long and is not marked slow.

    It has a second try: the first one may have imported, compiled or loaded something, or another process did for it.
    """
    if item.get_closest_marker("slow"):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    most = MOST_SECONDS if item.config.getoption("--desk") else 2.0 * MOST_SECONDS
    reports = runtestprotocol(item, nextitem=nextitem, log=False)
    if all(report.passed for report in reports) and item.stash[SECONDS] > most:
        item._initrequest()  # type: ignore[attr-defined]
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
    for report in reports:
        if report.when == "call" and report.passed and item.stash[SECONDS] > most:
            report.outcome = "failed"
            report.longrepr = f"took {item.stash[SECONDS]:.1f} s of processor: make it cheaper, or mark it slow"
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@dataclass(frozen=True)
class GoldenCity:
    """A city with the answers of an independent implementation, as `answers.json` holds them."""

    folder: Path
    city: City
    answers: Mapping[str, Any]


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of the test data."""
    return DATA


@pytest.fixture(scope="session", params=GOLDEN, ids=lambda folder: folder.name)
def golden(request: pytest.FixtureRequest) -> GoldenCity:
    """Each of the golden cities in turn."""
    folder: Path = request.param
    return GoldenCity(folder, read_city(folder), json.loads((folder / "answers.json").read_text()))


@pytest.fixture(scope="session", autouse=True)
def tables_once() -> Iterator[None]:
    """Problems of equal cities share their response table, which is most of the work of many: tests use the same few.

    What makes tables is tested by calling it, and not by way of a problem.
    """
    from runcard.mdp import from_city

    make = from_city.response_table
    known: dict[object, ResponseTable] = {}

    def once(city: City, *, progress: Callable[[float], None] | None = None, **options: Any) -> "ResponseTable":
        key = city, repr(options)
        if key in known and progress is not None:
            progress(1.0)
        table = known.pop(key, None) or make(city, progress=progress, **options)
        if table.p_late.nbytes < MOST_BYTES:
            known[key] = table
            for old in [*known][:-MOST_TABLES]:
                known.pop(old, None)  # another thread may have
        return table

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(from_city, "response_table", once)
        yield


@pytest.fixture
def coarse_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """The values of the mean field in one step in place of six: quicker, where it does not matter how near they are."""
    monkeypatch.setattr("runcard.mdp.mean_field.STEPS", 1)
