"""`runcard audit`."""

import asyncio
import json
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import Run
from tests.service.audit.test_drift import decisions_of

from runcard.service.audit import open_audit


@pytest.fixture(scope="module")
def log_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of two months, the second of which drifts; nobody writes to it."""
    path = tmp_path_factory.mktemp("log") / "audit.db"
    log = open_audit(str(path))
    rng = np.random.default_rng(9)

    async def fill() -> None:
        for one in (one for month in range(2) for one in decisions_of(rng, month, 50, shift=0.5 * month)):
            outcomes = one.pop("outcomes")
            await log.record(one)
            await log.outcome(one["decision_id"], outcomes[0])

    asyncio.run(fill())
    log.close()
    return path


def test_drift_is_a_table_and_sentences(run: Run, log_file: Path) -> None:
    """The months, what was met and predicted, and the warning; the same as JSON, within times."""
    ran = run("audit", log_file, "drift")
    assert (ran.code, ran.err) == (0, "")
    assert "December 2026" in ran.out
    assert "The model drifts" in ran.out
    assert "runcard fit" in ran.out
    found = json.loads(run("audit", f"sqlite:///{log_file}", "drift", "--json", "--until", "2026-12-01T00:00Z").out)
    assert [row["month"] for row in found["rows"]] == ["2026-11"]


def test_files_are_written(run: Run, log_file: Path, tmp_path: Path) -> None:
    """A page about drift, and a table."""
    assert run("audit", log_file, "drift", "-o", tmp_path / "drift.html").code == 0
    assert "<svg" in (tmp_path / "drift.html").read_text()
    ran = run("audit", log_file, "export", "-o", tmp_path / "log.csv", "--since", "2026-12-01T00:00Z")
    assert (ran.code, "Wrote" in ran.out) == (0, True)
    assert len((tmp_path / "log.csv").read_text("utf-8-sig").splitlines()) == 51


def test_what_is_wrong_is_a_sentence(refuse, log_file: Path) -> None:
    """On standard error, with the exit code of bad input."""
    table = """
audit LOG delete :: expected export or drift, got 'delete'
audit LOG export :: export needs a file to write
audit LOG drift -o x.csv :: expected a name that ends in .html
audit LOG drift --since soon :: expected a time such as 2026-11-01
audit none.db drift :: audit log none.db: there is no such file
"""
    refuse(table, LOG=log_file)
