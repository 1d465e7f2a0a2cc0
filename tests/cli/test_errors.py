"""Errors on the command line: readable, on standard error, with the right exit code, and never a traceback."""

import shutil
from pathlib import Path

import pytest
from typer.main import get_command

from runcard import __version__
from runcard.city import read_city
from runcard.cli import app
from runcard.errors import CityError, NotConvergedError

BROKEN = sorted((Path(__file__).parents[1] / "data" / "broken").iterdir())
COMMANDS = list(get_command(app).commands)


@pytest.mark.parametrize("folder", BROKEN, ids=lambda folder: folder.name)
def test_a_broken_city_is_refused_with_every_fault(run, folder: Path) -> None:
    """Each fault is a line on standard error (a single one is on the first line), with exit code 2."""
    ran = run("compare", folder)
    faults = (folder / "expected.txt").read_text().splitlines()
    assert (ran.code, ran.out) == (2, "")
    if len(faults) == 1:
        assert ran.err == f"runcard: {folder}: {faults[0]}\n"
    else:
        assert ran.err.splitlines() == [
            f"runcard: {folder}: {len(faults)} faults", *(f"  - {fault}" for fault in faults)
        ]  # fmt: skip


def test_of_many_faults_the_first_are_printed_and_the_others_counted(run, grid_folder: Path, tmp_path: Path) -> None:
    """Fifty lines are enough to start with; the error itself holds every fault."""
    folder = shutil.copytree(grid_folder, tmp_path / "city")
    rows = "".join(f"n{number},-1\n" for number in range(16)) * 4
    for wanted, last in ((50, None), (51, "  and 1 more fault"), (64, "  and 14 more faults")):
        (folder / "demand.csv").write_text("node_id,incidents_per_day\n" + "".join(rows.splitlines(True)[:wanted]))
        ran = run("compare", folder)
        lines = ran.err.splitlines()
        assert (ran.code, lines[0]) == (2, f"runcard: {folder}: {wanted} faults")
        assert [line.startswith("  - demand.csv row ") for line in lines[1:51]] == [True] * 50
        assert lines[51:] == ([] if last is None else [last])
        with pytest.raises(CityError) as caught:
            read_city(folder)
        assert len(caught.value.faults) == wanted


def test_wrong_usage_is_one_line(refuse) -> None:
    """What is wrong, and where to read on; an empty name, a variable that was not set, is not this folder."""
    table = """
compar :: Did you mean 'compare'? (see runcard --help)
compare :: Missing argument 'CITY'. (see runcard compare --help)
--nonsense :: No such option: --nonsense (see runcard --help)
compare city --nonsense :: No such option: --nonsense (see runcard compare --help)
compare city another :: (another) (see runcard compare --help)
generate city --seed one :: Invalid value for '--seed'
solve city :: Missing option '--output' / '-o'. (see runcard solve --help)
solve city -o "" :: expected a name, got an empty one
demo -o "" :: expected a name, got an empty one
generate "" :: expected a name, got an empty one
compare "" :: expected a name, got an empty one
compare nowhere :: runcard: nowhere: expected a city folder, got nothing
lateness nowhere --at n1 :: runcard: nowhere: expected a city folder, got nothing
solve nowhere -o x :: runcard: nowhere: expected a city folder, got nothing
"""
    refuse(table)


NINES = "9" * 5000
ABSURD = (NINES, f"-{NINES}", NINES[:4000], "1e400", "nan", "inf", "-1", "x" * 5000)


@pytest.mark.parametrize(
    "command",
    [
        ["decide", "POLICY", "--at", "n5", "--idle", "all", "--class"],
        ["decide", "POLICY", "--at", "n5", "--idle"],
        ["decide", "POLICY", "--idle", "all", "--at"],
        ["lateness", "CITY", "--at", "n5", "--top"],
        ["compare", "CITY", "--tolerance"],
        ["compare", "CITY", "--threads"],
        ["compare", "CITY", "--policies", "OSIA", "--horizon-busy-times"],
        ["compare", "CITY", "--weights"],
        ["simulate", "CITY", "--incidents"],
        ["simulate", "CITY", "--precision"],
        ["simulate", "CITY", "--seed"],
        ["generate", "FOLDER", "--side"],
        ["generate", "FOLDER", "--stations"],
        ["generate", "FOLDER", "--trucks-per-station"],
        ["generate", "FOLDER", "--load"],
        ["generate", "FOLDER", "--busy-minutes"],
        ["generate", "FOLDER", "--seed"],
        ["study", "table2", "--graphs"],
        ["study", "table2", "--jobs"],
    ],
    ids=lambda command: f"{command[0]}{command[-1]}",
)
def test_an_absurd_value_is_one_short_line(
    run, grid_folder: Path, policy_file: Path, tmp_path: Path, command: list[str]
) -> None:
    """Numbers of thousands of digits, no numbers, and words without end are refused, and not repeated at length."""
    given = {"CITY": grid_folder, "POLICY": policy_file, "FOLDER": tmp_path / "new"}
    for value in ABSURD:
        ran = run(*(given.get(word, word) for word in command), value)
        assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1), value[:9]
        assert "internal" not in ran.err
        assert len(ran.err) < 700


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (NotConvergedError("no luck"), 1, "no luck"),
        (PermissionError(13, "Permission denied", "secret.csv"), 1, "secret.csv: Permission denied"),
        (OSError(28, "No space left on device"), 1, "No space left on device"),
        (MemoryError(), 1, "there is not enough memory"),
        (
            RuntimeError("cannot cache function 'mix': no locator available for file 'route_kernels.py'"),
            1,
            "there is no place for compiled code: neither the folder of this program nor your home folder can be "
            "written to; name a folder: NUMBA_CACHE_DIR=FOLDER",
        ),
        (ZeroDivisionError("by zero"), 1, "internal error, ZeroDivisionError: by zero (RUNCARD_DEBUG=1 shows where)"),
        (ValueError("two\nlines"), 1, "internal error, ValueError: two lines (RUNCARD_DEBUG=1 shows where)"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_whatever_happens_is_one_line(
    run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, line: str
) -> None:
    """Errors of runcard, of the system and of the programmer, and Ctrl-C, have an exit code and no traceback."""

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("runcard.city.files.read_city", fail)
    ran = run("compare", tmp_path)
    assert (ran.code, ran.out, ran.err) == (code, "", f"runcard: {line}\n")


def test_a_programmer_can_ask_for_the_traceback(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """RUNCARD_DEBUG=1 lets every error through."""
    monkeypatch.setenv("RUNCARD_DEBUG", "1")
    with pytest.raises(Exception, match="expected a city folder"):
        run("compare", tmp_path / "nowhere")


def test_help_names_every_command(run) -> None:
    """`runcard`, `runcard -h` and `runcard --help` show the same, with exit code 0."""
    shown = [run(*arguments) for arguments in ([], ["-h"], ["--help"])]
    assert {(ran.code, ran.err) for ran in shown} == {(0, "")}
    assert len({ran.out for ran in shown}) == 1
    lines = shown[0].out.split("Commands:")[1].split("Start with")[0].splitlines()
    assert [line.split()[0] for line in lines if line[:2] == "  " and line[2:3].strip()] == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_explained(run, command: str) -> None:
    """Each command has a help page, and no option there is without words."""
    ran = run(command, "--help")
    assert ran.code == 0
    (options,) = [one.params for name, one in get_command(app).commands.items() if name == command]
    assert options
    assert all(option.help for option in options)


def test_the_version_is_that_of_the_package(run) -> None:
    """`runcard --version` says it."""
    assert run("--version").out == f"runcard {__version__}\n"
