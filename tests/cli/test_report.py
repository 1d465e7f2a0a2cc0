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
    monkeypatch.setattr("runcard.assess.policy_choice.SOME_SECONDS", 0.0)
    folder = write_city(grid_department(side=3, engines=3, ladders=2), tmp_path / "city")
    path = tmp_path / "report.html"
    ran = run("report", folder, "-o", path, "--kind", "engine", "--incidents", 500, "--seed", 7, "--quick")
    assert ran.code == 0, ran.err
    text = path.read_text(encoding="utf-8")
    assert "500 incidents" in text
    assert "seed 7" in text
    assert "team-engine" in text
    assert "team-ladder" not in text


def test_bad_input_is_a_sentence(refuse, grid_folder: Path) -> None:
    """No folder to write to, no city, no such kind, no incidents, and a file that is no page: a line, and no page."""
    table = """
report CITY -o no/report.html :: expected an existing folder to write to
report no -o report.html :: no: expected a city folder, got nothing
report CITY -o report.html --kind boat :: expected a kind that incidents need
report CITY -o report.html --incidents 0 :: expected a whole number from 100
report CITY -o victim.policy --quick :: expected a name that ends in .html, got 'victim.policy'
"""
    refuse(table, CITY=grid_folder)


def test_ctrl_c_leaves_no_half_file(
    run: Run, grid_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a page nor a draft."""

    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("runcard.outputs.report.page.report_page", stopped)
    assert run("report", grid_folder, "-o", tmp_path / "report.html", "--quick").code == 130
    assert list(tmp_path.iterdir()) == []
