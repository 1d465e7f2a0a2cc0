"""`runcard study` on the command line."""

from pathlib import Path

import duckdb
import pytest

import runcard.study.run

from .conftest import Run


def test_one_experiment(run: Run, tmp_path: Path) -> None:
    """An experiment prints its table beside the paper's, and writes its rows and the report."""
    folder = tmp_path / "study"
    ran = run("study", "table2", "--graphs", "2", "--jobs", "1", "-o", folder)
    assert ran.code == 0
    assert "Table 2" in ran.out
    assert "(12.20)" in ran.out
    assert "within 3 standard errors" in ran.out
    assert "With 2 graphs the standard errors are rough" in ran.out
    rows = duckdb.sql(f"SELECT count(*), count(DISTINCT policy), bool_and(converged) FROM '{folder}/table2.parquet'")
    assert rows.fetchall() == [(40, 5, True)]
    assert "Table 2" in (folder / "report.html").read_text()


@pytest.mark.slow
def test_more_graphs_use_those_that_are_there(run: Run, tmp_path: Path) -> None:
    """Twice as many graphs are half as much work, where they come in tens."""
    folder = tmp_path / "study"
    assert run("study", "table2", "--graphs", "10", "--jobs", "1", "-o", folder).code == 0
    before = {part.name: part.stat().st_mtime_ns for part in (folder / "parts").iterdir()}
    assert run("study", "table2", "--graphs", "20", "--jobs", "1", "-o", folder).code == 0
    after = {part.name: part.stat().st_mtime_ns for part in (folder / "parts").iterdir()}
    assert before.items() < after.items()
    assert len(after) == 2 * len(before)


@pytest.mark.slow
def test_the_report_has_all_that_the_folder_has(run: Run, tmp_path: Path) -> None:
    """Another experiment is added to the same folder, and the report has both."""
    folder = tmp_path / "study"
    assert run("study", "table2", "--graphs", "3", "--jobs", "1", "-o", folder).code == 0
    ran = run("study", "figure-gamma", "--graphs", "2", "--jobs", "1", "-o", folder)
    assert ran.code == 0
    assert "a figure, in the report" in ran.out
    report = (folder / "report.html").read_text()
    assert "Table 2" in report
    assert "Figure 4" in report
    assert "Figure 6" not in report


def test_one_graph_is_not_compared(run: Run, tmp_path: Path) -> None:
    """With one graph there is no standard error, and nothing is said about agreement."""
    ran = run("study", "table2", "--graphs", "1", "--jobs", "1", "-o", tmp_path / "study")
    assert "With one graph there is no standard error" in ran.out
    assert "within 3" not in ran.out


def test_a_file_that_was_cut_off_is_made_again(run: Run, tmp_path: Path) -> None:
    """A damaged part or result is not used: the task is done again."""
    folder = tmp_path / "study"
    command = ("study", "table2", "--graphs", "2", "--jobs", "1", "-o", folder)
    assert run(*command).code == 0
    whole = (folder / "table2.parquet").read_bytes()
    part = next((folder / "parts").iterdir())
    part.write_bytes(part.read_bytes()[:100])
    (folder / "table2.parquet").write_bytes(whole[:100])
    assert run(*command).code == 0
    assert (folder / "table2.parquet").read_bytes() == whole


def test_findings_of_few_graphs_are_not_judged(run: Run) -> None:
    """What does not hold with a handful of graphs is not said to be wrong."""
    out = run("study", "finding-2", "--graphs", "2", "--jobs", "1").out
    assert "It holds." in out or "With so few graphs it cannot be said" in out


def test_the_names_are_listed(run: Run) -> None:
    """--list has every experiment and finding."""
    out = run("study", "--list").out
    assert all(name in out for name in ("table1", "figure-map", "appendix-seven-trucks", "larger", "finding-9"))


@pytest.mark.slow
def test_a_finding_is_derived(run: Run) -> None:
    """A finding prints its claim, what was found, and whether it holds; no folder is written."""
    ran = run("study", "finding-8")
    assert ran.code == 0
    assert "16.26" in ran.out
    assert "It holds." in ran.out


def test_mistakes_are_one_line(refuse) -> None:
    """A wrong name or option is one readable line and exit code 2."""
    table = """
study tabel1 :: got 'tabel1' (did you mean table1
study finding-12 :: expected a finding from finding-1 to finding-9, got 'finding-12'
study table2 --graphs 0 :: graphs
study table2 --backend spark :: expected a backend, one of loky, dask; got 'spark'
study table2 --backend dask :: expected the --address of a Dask scheduler
study table2 --address tcp://127.0.0.1:1 :: expected an address only with --backend dask
study table2 --seed -1 :: seed
study finding-8 --backend dask --address tcp://127.0.0.1:1 :: findings run on this machine
"""
    refuse(table)


def test_another_seed_needs_another_folder(run: Run, tmp_path: Path) -> None:
    """A folder keeps to its seed."""
    folder = tmp_path / "study"
    assert run("study", "table2", "--graphs", "1", "--jobs", "1", "-o", folder).code == 0
    ran = run("study", "table2", "--graphs", "1", "--seed", "2", "-o", folder)
    assert ran.code == 2
    assert "expected a study of seed 2" in ran.err


def test_a_missing_extra_is_named(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without matplotlib the install command is named before any work."""
    monkeypatch.setattr(runcard.study.run, "find_spec", lambda _: None)
    ran = run("study", "table2", "-o", tmp_path / "study")
    assert ran.code == 1
    assert "pip install 'runcard[report]'" in ran.err
    assert not (tmp_path / "study").exists()
