"""The command line, run in this process, and files for it to work on."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from runcard.city import generate_grid, write_city
from runcard.cli import main


@dataclass(frozen=True)
class Ran:
    """What a command did: its exit code, and what it printed on standard output and standard error."""

    code: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture(autouse=True)
def no_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """No lines about the progress of long work: on a busy machine everything is long."""
    monkeypatch.setattr("runcard.cli.progress.EVERY_SECONDS", 1e6)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command, as in run("compare", folder, "--json")."""

    def run_command(*arguments: object) -> Ran:
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run_command


@pytest.fixture(scope="session")
def grid_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small grid city of four stations of one truck and 16 demand points."""
    city = generate_grid(side=4, num_stations=4, load=0.2, seed=5)
    return write_city(city, tmp_path_factory.mktemp("grid") / "city")


@pytest.fixture(scope="session")
def policy_file(grid_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of the optimal policy of the grid city."""
    path = tmp_path_factory.mktemp("policy") / "optimal.policy"
    assert main(["solve", str(grid_folder), "-o", str(path)]) == 0
    return path
