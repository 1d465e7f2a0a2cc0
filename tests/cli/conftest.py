"""The command line, run in this process, and files for it to work on."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from runcard.city import demo_city, generate_grid, write_city
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


@pytest.fixture
def refuse(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Check each line of a table, `arguments :: words`: exit code 2, one line with these words, and nothing written.

    Words of the arguments that are named in `places` stand for what these are.
    """
    monkeypatch.chdir(tmp_path)

    def refuse_all(table: str, **places: object) -> None:
        before = sorted(tmp_path.rglob("*"))
        for line in table.strip().splitlines():
            command, _, words = line.partition(" :: ")
            ran = run(*(places.get(word, word) for word in shlex.split(command)))
            assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1), (line, ran)
            assert words in " ".join(ran.err.split()), (line, ran.err)
        assert sorted(tmp_path.rglob("*")) == before

    return refuse_all


@pytest.fixture(scope="session")
def town(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built-in town."""
    return write_city(demo_city(), tmp_path_factory.mktemp("town") / "city")


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
