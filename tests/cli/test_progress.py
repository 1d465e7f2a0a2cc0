"""What long work says of itself."""

import io
import re
import time
from collections.abc import Iterator
from math import inf

import pytest
from rich.console import Console
from tests.town import plain_town

from runcard.city import Objective
from runcard.cli import progress as module
from runcard.cli.progress import ShownSteps, StudyBar, closed_part
from runcard.cli.terminal import make_console
from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.progress import Progress
from runcard.policy.solve import solve_problem
from runcard.simulate.engine import SimulationProgress
from runcard.study.experiment import experiment_named
from runcard.study.tasks import tasks_of

TASKS = tasks_of(experiment_named("table2"), num_graphs=20, seed=1)


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What a person sees on a terminal."""
    output = io.StringIO()
    monkeypatch.setattr(
        module, "make_console", lambda stderr: Console(file=output, force_terminal=True, width=100, markup=False)
    )
    return output


@pytest.fixture
def quick_lines(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Lines that are printed every tenth of a second instead of every ten seconds."""
    monkeypatch.setattr(module, "EVERY_SECONDS", 0.1)
    return


def test_equal_factors_are_equal_steps() -> None:
    """Each time the gap shrinks by the same factor, the bar moves by the same length, from 0 to 1."""
    parts = [closed_part(1.0, 10.0**-step, 1e-8) for step in range(9)]
    assert parts == pytest.approx([step / 8 for step in range(9)])


@pytest.mark.parametrize(("gap", "part"), [(2.0, 0.0), (0.0, 1.0), (1e-12, 1.0)])
def test_the_bar_stays_within_its_ends(gap: float, part: float) -> None:
    """A gap that grows again shows an empty bar, and one below the tolerance a full one."""
    assert closed_part(1.0, gap, 1e-9) == part


def test_nothing_late_is_no_gap(screen: io.StringIO) -> None:
    """Where the upper bound is zero there is nothing left to prove, and the bar is full."""
    with ShownSteps() as report:
        report.begin("optimal")
        report.bounds(Progress(step=1, lower=0.0, upper=0.0, tolerance=1e-9))
    assert "100 %" in screen.getvalue()


def test_a_person_sees_the_bounds_close(screen: io.StringIO) -> None:
    """On a terminal the bar shows the policy's name and bounds around its late fraction, and disappears at the end."""
    with ShownSteps() as report:
        report.begin("[optimal]")
        policy = solve_problem(dispatch_problem(plain_town()), progress=report.bounds)
    assert policy.certificate is not None
    shown = screen.getvalue()
    assert "[optimal]" in shown
    assert f"100 %  late {100 * policy.certificate.lower:.4f} to {100 * policy.certificate.upper:.4f} %" in shown
    assert shown.endswith("\x1b[2K")


def test_a_person_sees_what_is_done_and_how_far_it_is(screen: io.StringIO) -> None:
    """Each step has its words and its part; names of files are shown as they are, without control characters."""
    with ShownSteps() as report:
        report.begin("driving times to 400 demand points")
        report.part(0.25)
        report._display.refresh()
        report.begin("evening\x1b[2J")
        report.simulated(SimulationProgress(0.5, 0.125))
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.getvalue())
    assert "driving times to 400 demand points" in shown
    assert "25 %" in shown
    assert "evening\\x1b[2J" in shown
    assert "50 %  late ± 12.50 % of it" in shown


def test_quick_work_prints_nothing_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    """Where standard error is no terminal, nothing is printed before ten seconds are over."""
    with ShownSteps() as report:
        report.begin("optimal")
        report.bounds(Progress(step=1, lower=0.1, upper=0.2, tolerance=1e-9))
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_long_work_prints_a_line_now_and_then(quick_lines: None, capsys: pytest.CaptureFixture[str]) -> None:
    """Where standard error is no terminal, plain lines say what is being done and how far it is, on standard error."""
    seen: list[str] = []

    def next_line_but(before: str) -> str:
        """The next line that is another one, without its seconds; at most half a minute is waited for it."""
        for _ in range(600):
            captured = capsys.readouterr()
            assert captured.out == ""
            seen.extend(re.sub(r", \d+ s$", "", line) for line in captured.err.splitlines())
            if seen and seen[-1] != before:
                return seen[-1]
            time.sleep(0.05)
        raise AssertionError("no line")

    with ShownSteps() as report:
        report.begin("driving times to 400 demand points")
        first = next_line_but("runcard: reading")
        report.part(0.5)
        second = next_line_but(first)
        report.begin("optimal")
        report.bounds(Progress(step=1, lower=0.1, upper=0.2, tolerance=1e-9))
        third = next_line_but(second)
    assert first == "runcard: driving times to 400 demand points"
    assert second == "runcard: driving times to 400 demand points: 50 %"
    assert third == "runcard: optimal: 0 %, late 10.0000 to 20.0000 %"
    capsys.readouterr()
    time.sleep(0.25)
    assert capsys.readouterr().err == ""


def test_an_error_ends_the_lines(quick_lines: None, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is printed after work that failed."""
    with pytest.raises(ValueError, match="no"), ShownSteps():
        raise ValueError("no")
    time.sleep(0.25)
    assert capsys.readouterr().err == ""


def test_the_bar_names_what_is_minimised(screen: io.StringIO) -> None:
    """Bounds on minutes are not shown as a late fraction in percent."""
    with ShownSteps(Objective("minutes")) as report:
        report.begin("optimal")
        report.bounds(Progress(step=1, lower=1.25, upper=2.5, tolerance=1e-9))
    assert "0 %  minutes 1.25000 to 2.50000" in screen.getvalue()


@pytest.mark.parametrize(
    ("progress", "line"),
    [
        (SimulationProgress(0.3, 0.2), "paper: 30 %, late ± 20.00 % of it"),
        (SimulationProgress(1.01, 0.004), "paper: 100 %, late ± 0.40 % of it"),
        (SimulationProgress(0.0, inf), "paper: 0 %"),
    ],
)
def test_the_bar_takes_every_progress(progress: SimulationProgress, line: str) -> None:
    """One on the way, one that is more than done, and one of whose error nothing is known yet, so nothing is said."""
    with ShownSteps() as report:
        report.begin("paper")
        report.simulated(progress)
        assert report.line == line


def test_the_bar_of_a_study_shows_how_much_is_done_and_the_time_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a terminal the part that is done and the time left are shown, from what was done before on."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_INTERACTIVE", "1")
    assert make_console(stderr=True).is_terminal
    half = len(TASKS) // 2
    with StudyBar(TASKS, TASKS[:half]) as bar:
        for task in TASKS[half:]:
            bar.done(task)
        assert bar.num_done == bar.num_tasks == len(TASKS)
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", capsys.readouterr().err)
    assert "100 %" in shown
    assert "left" in shown
    assert "6 trucks, side 6, load 0.1" in shown


def test_nothing_of_a_study_is_shown_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    """In a pipe the bar is silent, and counts all the same; after ten seconds there would be a line."""
    with StudyBar(TASKS, []) as bar:
        bar.done(TASKS[0])
    assert bar.num_done == 1
    assert capsys.readouterr().err == ""
    assert re.search(rf"load [0-9.]+: \d+ %, 1 of {len(TASKS)} tasks$", bar.line)
