"""What every folder of tests uses: where the data is, and the golden cities with their answers."""

import json
import os
import sys
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from tests.browser import browser, open_page, open_site  # noqa: F401, fixtures

from runcard.city import City, read_city

# The threads of OpenBLAS wait by counting, and take ten times as much processor as the small matrices here. Workers and
# other processes have this from their start; what is loaded already (numpy with `-n 0`) keeps its threads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

DATA = Path(__file__).parent / "data"
GOLDEN = sorted(path.parent for path in DATA.glob("golden/*/answers.json"))

# The first call of a compiled kernel takes seconds, so time says nothing about an example.
settings.register_profile("runcard", deadline=None, print_blob=True)
settings.load_profile("runcard")


MOST_SECONDS = 1.0
"""Of processor that a test takes without being marked slow."""
NOT_AT_DESK = {"browser", "postgres_server"}
"""Fixtures that start a program of somebody else."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--desk` is the tier of `make check`."""
    words = "each test once, with its first parameters; none that is slow, or needs a browser or a database"
    parser.addoption("--desk", action="store_true", help=words)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with the test of a minute that would come last: at the end one worker would wait for the other."""
    items.sort(key=lambda item: item.path.name != "test_wheel.py")
    if config.getoption("--desk"):
        chosen = at_desk(items)
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = chosen


def at_desk(items: list[pytest.Item]) -> list[pytest.Item]:
    """The first item of each test that is quick and needs nothing but this process; of golden cities every one."""
    first: dict[object, pytest.Item] = {}
    for item in items:
        if not item.get_closest_marker("slow") and NOT_AT_DESK.isdisjoint(getattr(item, "fixturenames", ())):
            parameters = item.callspec.params if hasattr(item, "callspec") else {}
            first.setdefault((item.nodeid.partition("[")[0], parameters.get("golden")), item)
    return [*first.values()]


def processor_seconds() -> float:
    """What this process and those that it waited for have taken of processors."""
    return sum(os.times()[:4])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fail a test that takes long and is not marked slow. Kernels that are compiled or loaded do not count, nor does a
    test that is the first of its worker to import something."""
    from numba.core.event import install_timer  # here, so that `pytest --help` is quick

    compiling: list[float] = []
    begin, num_modules = processor_seconds(), len(sys.modules)
    with install_timer("numba:compiler_lock", compiling.append):
        result = yield
    seconds = processor_seconds() - begin - sum(compiling)
    if seconds > MOST_SECONDS and len(sys.modules) == num_modules and not item.get_closest_marker("slow"):
        pytest.fail(f"took {seconds:.1f} s of processor: make it cheaper, or mark it slow", pytrace=False)
    return result


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


@pytest.fixture
def coarse_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """The values of the mean field in one step in place of six: quicker, where it does not matter how near they are."""
    monkeypatch.setattr("runcard.mdp.mean_field.STEPS", 1)
