"""What every folder of tests uses: where the data is, and the golden cities with their answers."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from tests.browser import browser, open_page, open_site  # noqa: F401, fixtures

from runcard.city import City, read_city

DATA = Path(__file__).parent / "data"
GOLDEN = sorted(path.parent for path in DATA.glob("golden/*/answers.json"))

# The first call of a compiled kernel takes seconds, so time says nothing about an example.
settings.register_profile("runcard", deadline=None, print_blob=True)
settings.load_profile("runcard")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the test of a minute that would come last: at the end one worker would wait for the other."""
    items.sort(key=lambda item: item.path.name != "test_wheel.py")


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
