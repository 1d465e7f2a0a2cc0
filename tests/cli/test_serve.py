"""What `runcard serve` prints before it answers."""

from pathlib import Path

import pytest

from runcard.city import generate_grid
from runcard.cli.serve import _say
from runcard.outputs.department_file import save_department
from runcard.policy.department import solve_department
from runcard.service.policies import load_policy
from runcard.service.settings import ServiceSettings


@pytest.mark.parametrize("scheme", ["postgresql", "postgres"])
def test_no_password_of_a_database_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str], scheme: str) -> None:
    """Of the address of a database only its kind is said, since logs are read by many; of a file, its name."""
    city = generate_grid(side=2, num_stations=2, load=0.1, seed=1)
    path = save_department(solve_department(city, "closest-first"), tmp_path / "a.policy")
    policy, settings = load_policy(path), ServiceSettings(files=(path,))
    _say(policy, settings, f"{scheme}://runcard:hunter2@db.example/audit")
    said = capsys.readouterr().out
    assert "Audit log: PostgreSQL\n" in said
    assert not any(secret in said for secret in ("hunter2", "db.example"))
    for audit in ("audit.db", "sqlite:///audit.db"):
        _say(policy, settings, audit)
        assert f"Audit log: {audit}\n" in capsys.readouterr().out
