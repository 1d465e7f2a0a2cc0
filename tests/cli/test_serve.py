"""What `runcard serve` takes for granted, and what it prints before it answers."""

from pathlib import Path
from typing import Any

import pytest

from runcard.city import generate_grid
from runcard.cli.serve import _say, serve
from runcard.errors import RuncardError
from runcard.plan.file import save
from runcard.plan.plan import solve
from runcard.service.policies import load_policy
from runcard.service.settings import ServiceSettings


@pytest.mark.parametrize("scheme", ["postgresql", "postgres"])
def test_no_password_of_a_database_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str], scheme: str) -> None:
    """Of the address of a database only its kind is said, since logs are read by many; of a file, its name."""
    city = generate_grid(side=2, num_stations=2, load=0.1, seed=1)
    path = save(solve(city, "closest-first"), tmp_path / "a.policy")
    policy, settings = load_policy(path), ServiceSettings(files=(path,))
    _say(policy, settings, f"{scheme}://runcard:hunter2@db.example/audit")
    said = capsys.readouterr().out
    assert "Audit log: PostgreSQL\n" in said
    assert not any(secret in said for secret in ("hunter2", "db.example"))
    for audit in ("audit.db", "sqlite:///audit.db"):
        _say(policy, settings, audit)
        assert f"Audit log: {audit}\n" in capsys.readouterr().out


def test_the_board_is_kept_beside_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the log is a file, a restart does not take busy units for free ones, though nobody named a file for it."""
    asked: list[ServiceSettings] = []

    def bound_sockets(settings: ServiceSettings) -> Any:
        asked.append(settings)
        raise RuncardError("the port is taken")

    monkeypatch.setattr("runcard.service.server.bound_sockets", bound_sockets)
    own, log = tmp_path / "own.json", str(tmp_path / "log.sqlite")
    for more in ({"audit": log}, {"audit": f"sqlite:///{log}"}, {"audit": log, "board": own}, {"audit": "memory"}):
        with pytest.raises(RuncardError, match="the port is taken"):
            serve([tmp_path / "a.policy"], **more)
    beside = tmp_path / "log.board.json"
    assert [settings.board for settings in asked] == [beside, beside, own, None]
