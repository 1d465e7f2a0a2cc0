"""`runcard demo`."""

import shlex
import sys
from pathlib import Path

import pytest

from runcard.city import demo_city, read_city


@pytest.mark.slow
def test_the_demo_writes_a_map_and_files_to_try(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table is printed, the map and the city are written, and the commands that it suggests work."""
    monkeypatch.chdir(tmp_path)
    ran = run("demo")
    assert (ran.code, ran.err) == (0, "")
    assert "optimal" in ran.out
    folder = tmp_path / "runcard-demo"
    maps = [f"map-{kind}.{ending}" for kind in ("engine", "ladder") for ending in ("png", "svg")]
    assert sorted(entry.name for entry in folder.iterdir()) == [
        "cards.csv",
        "city",
        *maps,
        "optimal.policy",
        "report.html",
    ]
    assert f"{Path('runcard-demo', 'report.html')}: open it in a browser" in ran.out
    assert "Two Bridges" in (folder / "report.html").read_text(encoding="utf-8")
    assert (folder / "map-engine.png").read_bytes().startswith(b"\x89PNG")
    assert read_city(folder / "city") == demo_city()
    commands = [shlex.split(line) for line in ran.out.split("Try next:")[1].splitlines() if line.strip()]
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
def test_the_demo_can_be_run_again(run, tmp_path: Path) -> None:
    """It overwrites its own files, byte for byte the same, and leaves others alone."""
    (tmp_path / "notes.txt").write_text("mine")
    contents = []
    for _ in range(2):
        assert run("demo", "-o", tmp_path).code == 0
        contents.append({path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()})
    assert contents[0] == contents[1]
    assert contents[0]["notes.txt"] == b"mine"


def test_a_file_in_the_place_of_the_folder_is_refused(run, tmp_path: Path) -> None:
    """One line, exit code 2, and the file is untouched."""
    (tmp_path / "demo").write_text("mine")
    ran = run("demo", "-o", tmp_path / "demo")
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (2, "", 1)
    assert (tmp_path / "demo").read_text() == "mine"
