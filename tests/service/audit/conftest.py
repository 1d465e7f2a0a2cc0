"""Audit logs in both databases, and decisions to record in them."""

import pytest
from tests.postgres import postgres_server, postgres_url  # noqa: F401, fixtures


@pytest.fixture(params=["sqlite", "postgresql"])
def audit_url(request: pytest.FixtureRequest) -> str:
    """Where a new log may be, in each kind of database."""
    if request.param == "sqlite":
        return str(request.getfixturevalue("tmp_path") / "audit.db")
    return str(request.getfixturevalue("postgres_url"))
