"""`runcard demo`."""

import shlex
import shutil
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from runcard.city import demo_city, read_city
from runcard.cli import main


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder that `runcard demo` writes where it is called, and what it prints, without a complaint."""
    folder, printed, complaint = tmp_path_factory.mktemp("demo"), StringIO(), StringIO()
    with pytest.MonkeyPatch.context() as patched, redirect_stdout(printed), redirect_stderr(complaint):
        patched.setattr("runcard.cli.progress.EVERY_SECONDS", 1e6)
        patched.chdir(folder)
        assert main(["demo"]) == 0
    assert complaint.getvalue() == ""
    return folder / "runcard-demo", printed.getvalue()


@pytest.mark.slow
def test_the_demo_writes_a_map_and_files_to_try(run, demo: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The table is printed, the map and the city are written, and the commands that it suggests work."""
    folder, out = demo
    monkeypatch.chdir(folder.parent)
    assert "optimal" in out
    maps = [f"map-{kind}.{ending}" for kind in ("engine", "ladder") for ending in ("png", "svg")]
    assert sorted(entry.name for entry in folder.iterdir()) == [
        "cards.csv",
        "city",
        *maps,
        "optimal.policy",
        "report.html",
    ]
    assert f"{Path('runcard-demo', 'report.html')}: open it in a browser" in out
    assert "Two Bridges" in (folder / "report.html").read_text(encoding="utf-8")
    assert (folder / "map-engine.png").read_bytes().startswith(b"\x89PNG")
    assert read_city(folder / "city") == demo_city()
    commands = [shlex.split(line) for line in out.split("Try next:")[1].splitlines() if line.strip()]
    assert len(commands) >= 2
    for _, *words in commands:
        assert run(*words).code == 0


@pytest.mark.slow
def test_without_matplotlib_the_demo_writes_all_but_pictures(
    run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plain install writes the city, its policy, cards and report; a sentence names the extra that draws maps."""
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    ran = run("demo", "-o", tmp_path)
    assert (ran.code, ran.err) == (0, "")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["cards.csv", "city", "optimal.policy", "report.html"]
    (said,) = [line for line in ran.out.splitlines() if "needs matplotlib" in line]
    assert said.endswith("pip install 'runcard[report]'")
    assert "runcard map" not in ran.out  # it could not be drawn


@pytest.mark.slow
def test_the_demo_can_be_run_again(
    run, demo: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It overwrites its own files, byte for byte the same, and leaves others alone."""
    before, _ = demo
    monkeypatch.chdir(tmp_path)
    folder = shutil.copytree(before, tmp_path / before.name)
    (folder / "notes.txt").write_text("mine")
    (folder / "report.html").write_text("of another city")
    assert run("demo").code == 0
    for path in before.iterdir():
        assert path.is_dir() or (folder / path.name).read_bytes() == path.read_bytes(), path.name
    assert (folder / "notes.txt").read_text() == "mine"


def test_a_file_in_the_place_of_the_folder_is_refused(run, tmp_path: Path) -> None:
    """One line, exit code 2, and the file is untouched."""
    (tmp_path / "demo").write_text("mine")
    ran = run("demo", "-o", tmp_path / "demo")
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (2, "", 1)
    assert (tmp_path / "demo").read_text() == "mine"
