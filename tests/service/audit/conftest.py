"""Audit logs in both databases."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.postgres import postgres_server, postgres_url  # noqa: F401, fixtures

from runcard.service.audit import AuditLog, open_audit


@pytest.fixture(params=["sqlite", "postgresql"])
def audit_url(request: pytest.FixtureRequest) -> str:
    """Where a new log may be, in each kind of database."""
    if request.param == "sqlite":
        return str(request.getfixturevalue("tmp_path") / "audit.db")
    return str(request.getfixturevalue("postgres_url"))


@pytest.fixture
def log(audit_url: str) -> Iterator[AuditLog]:
    """A new log in each kind of database."""
    with closing(open_audit(audit_url)) as made:
        yield made


@pytest.fixture
def file_log(tmp_path: Path) -> Iterator[Any]:
    """A new log in the file audit.db."""
    with closing(open_audit(str(tmp_path / "audit.db"))) as made:
        yield made


@pytest.fixture
def server_log(postgres_url: str) -> Iterator[Any]:  # noqa: F811
    """A new log in PostgreSQL."""
    with closing(open_audit(postgres_url)) as made:
        yield made
