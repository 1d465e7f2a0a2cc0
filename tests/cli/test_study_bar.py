"""The progress of a study."""

import re

import pytest

from runcard.cli.study_bar import StudyBar
from runcard.cli.terminal import make_console
from runcard.study.experiment import experiment_named
from runcard.study.tasks import tasks_of

TASKS = tasks_of(experiment_named("table2"), num_graphs=20, seed=1)


def test_the_bar_shows_how_much_is_done_and_the_time_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a terminal the part that is done and the time left are shown, from what was done before on."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_INTERACTIVE", "1")
    assert make_console(stderr=True).is_terminal
    half = len(TASKS) // 2
    with StudyBar(TASKS, half, sum(task.weight for task in TASKS[:half])) as bar:
        for task in TASKS[half:]:
            bar.done(task)
        assert bar.num_done == bar.num_tasks == len(TASKS)
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", capsys.readouterr().err)
    assert "100 %" in shown
    assert "left" in shown
    assert "6 trucks, side 6, load 0.1" in shown


def test_nothing_is_shown_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    """In a pipe the bar is silent, and counts all the same; after ten seconds there would be a line."""
    with StudyBar(TASKS, 0, 0.0) as bar:
        bar.done(TASKS[0])
    assert bar.num_done == 1
    assert capsys.readouterr().err == ""
    assert bar.line.startswith(f"1 of {len(TASKS)} tasks, ")
