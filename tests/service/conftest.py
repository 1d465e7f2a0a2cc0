"""Services to ask: a small department, a city without a roster, and a week."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.departments import grid_department
from tests.weeks import with_days

from runcard.city import City, generate_grid
from runcard.plan.file import save
from runcard.plan.plan import solve
from runcard.service.app import make_app
from runcard.service.routes import cards
from runcard.service.settings import ServiceSettings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it would rather have a package that is not out yet
    from fastapi.testclient import TestClient

Serve = Callable[..., TestClient]
PATIENT_MS = 60_000.0
"""On a busy machine an answer may take any time, and is still to be that of the policy."""


@pytest.fixture(scope="session")
def department_city() -> City:
    """Four engines and two ladders on sixteen nodes."""
    return grid_department(side=4, engines=4, ladders=2)


@pytest.fixture(scope="session")
def policy_folder(department_city: City, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """optimal.policy and cards.policy of one city, plain.policy, week.policy and other.policy of others."""
    folder = tmp_path_factory.mktemp("policies")
    save(solve(department_city), folder / "optimal.policy")
    save(solve(department_city, "fixed-card"), folder / "cards.policy")
    plain = generate_grid(side=3, num_stations=3, load=0.1, seed=1)
    save(solve(plain), folder / "plain.policy")
    save(solve(with_days(plain), "optimal"), folder / "week.policy")
    save(solve(grid_department(side=4, engines=3, ladders=2)), folder / "other.policy")
    return folder


@pytest.fixture(scope="session", autouse=True)
def patient_cards() -> Iterator[None]:
    """Cards are waited for, however busy the machine is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cards, "WAIT_SECONDS", 60.0)
        yield


@contextmanager
def service(folder: Path, *names: str, **settings: Any) -> Iterator[TestClient]:
    """A patient service of files of a folder, with settings."""
    audit = settings.pop("audit_log", None)
    files = tuple(folder / name for name in names or ("optimal.policy",))
    app = make_app(ServiceSettings(files=files, **{"limit_ms": PATIENT_MS, **settings}), audit=audit)
    with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def serve(policy_folder: Path) -> Iterator[Serve]:
    """What starts a service for files of the folder, with settings, and ends it after the test."""
    with ExitStack() as started:
        yield lambda *names, **settings: started.enter_context(service(policy_folder, *names, **settings))


def end(client: TestClient) -> None:
    """End a service before the test ends."""
    client.__exit__(None, None, None)


@pytest.fixture
def client(serve: Serve) -> TestClient:
    """A service of the small department."""
    return serve()


@pytest.fixture(scope="session")
def unchanged(policy_folder: Path) -> Iterator[TestClient]:
    """One service of two policies of the small department, for tests that change nothing in it."""
    with service(policy_folder, "optimal.policy", "cards.policy") as client:
        yield client
