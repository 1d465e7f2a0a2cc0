"""`runcard report`: one file, whole or not at all."""

from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.departments import grid_department

from runcard.city import write_city


def test_a_report_is_written(run: Run, grid_folder: Path, tmp_path: Path) -> None:
    """The file holds the city, and how to repeat it; the command says where it is."""
    path = tmp_path / "report.html"
    ran = run("report", grid_folder, "-o", path, "--quick")
    assert ran.code == 0, ran.err
    assert "Wrote" in ran.out
    text = path.read_text(encoding="utf-8")
    assert "who should go" in text
    assert f"runcard report {grid_folder} -o {path} --quick" in text


def test_one_kind_and_few_incidents(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the units of a kind, simulated with the seed and the incidents that are asked for."""
    monkeypatch.setattr("runcard.assess.policy_choice.SMALL_WORK", 0.0)
    folder = write_city(grid_department(side=3, engines=3, ladders=2), tmp_path / "city")
    path = tmp_path / "report.html"
    ran = run("report", folder, "-o", path, "--kind", "engine", "--incidents", 500, "--seed", 7, "--quick")
    assert ran.code == 0, ran.err
    text = path.read_text(encoding="utf-8")
    assert "500 incidents" in text
    assert "seed 7" in text
    assert "team-engine" in text
    assert "team-ladder" not in text


def test_bad_input_is_a_sentence(run: Run, grid_folder: Path, tmp_path: Path) -> None:
    """No folder to write to, no city, no such kind, no incidents: exit code 2 and one line."""
    for arguments in (
        (grid_folder, "-o", tmp_path / "no" / "report.html"),
        (tmp_path / "no", "-o", tmp_path / "report.html"),
        (grid_folder, "-o", tmp_path / "report.html", "--kind", "boat"),
        (grid_folder, "-o", tmp_path / "report.html", "--incidents", "0"),
    ):
        ran = run("report", *arguments)
        assert ran.code == 2
        assert len(ran.err.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_page_is_not_replaced(run: Run, grid_folder: Path, tmp_path: Path) -> None:
    """A policy file that is named by mistake stays as it was; the sentence is that of `whatif`."""
    victim = tmp_path / "victim.policy"
    victim.write_text("mine")
    ran = run("report", grid_folder, "-o", victim, "--quick")
    assert (ran.code, ran.out) == (2, "")
    assert "expected a name that ends in .html, got 'victim.policy'" in ran.err
    assert victim.read_text() == "mine"


def test_ctrl_c_leaves_no_half_file(
    run: Run, grid_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a page nor a draft."""

    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("runcard.outputs.report.page.report_page", stopped)
    assert run("report", grid_folder, "-o", tmp_path / "report.html", "--quick").code == 130
    assert list(tmp_path.iterdir()) == []
