"""The progress bar of a solve."""

import io
from math import inf

import pytest
from rich.console import Console

from runcard.city import Objective, demo_city
from runcard.cli import progress as module
from runcard.cli.progress import BoundBar, SimulationBar, closed_part, relative_gap
from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.progress import Progress
from runcard.policy.solve import solve
from runcard.simulate.engine import Progress as SimulationProgress


def test_equal_factors_are_equal_steps() -> None:
    """Each time the gap shrinks by the same factor, the bar moves by the same length, from 0 to 1."""
    parts = [closed_part(1.0, 10.0**-step, 1e-8) for step in range(9)]
    assert parts == pytest.approx([step / 8 for step in range(9)])


@pytest.mark.parametrize(("gap", "part"), [(2.0, 0.0), (0.0, 1.0), (1e-12, 1.0)])
def test_the_bar_stays_within_its_ends(gap: float, part: float) -> None:
    """A gap that grows again shows an empty bar, and one below the tolerance a full one."""
    assert closed_part(1.0, gap, 1e-9) == part


def test_nothing_late_is_no_gap() -> None:
    """Where the upper bound is zero there is nothing left to prove."""
    assert relative_gap(Progress(step=1, lower=0.0, upper=0.0, tolerance=1e-9)) == 0.0


def test_a_person_sees_the_bounds_close(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal the bar shows the policy's name and bounds around its late fraction, and disappears at the end."""
    output = io.StringIO()
    monkeypatch.setattr(
        module, "make_console", lambda stderr: Console(file=output, force_terminal=True, width=100, markup=False)
    )
    with BoundBar() as bar:
        bar.begin("[optimal]")
        policy = solve(dispatch_problem(demo_city()), progress=bar.update)
    assert policy.certificate is not None
    shown = output.getvalue()
    assert "[optimal]" in shown
    assert f"late {100 * policy.certificate.lower:.4f} to {100 * policy.certificate.upper:.4f} %" in shown
    assert shown.endswith("\x1b[2K")


def test_nobody_looking_means_no_output(capsys: pytest.CaptureFixture[str]) -> None:
    """Where standard error is no terminal, nothing is printed."""
    with BoundBar() as bar:
        bar.begin("optimal")
        bar.update(Progress(step=1, lower=0.1, upper=0.2, tolerance=1e-9))
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_the_bar_names_what_is_minimised(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds on minutes are not shown as a late fraction in percent."""
    output = io.StringIO()
    monkeypatch.setattr(
        module, "make_console", lambda stderr: Console(file=output, force_terminal=True, width=100, markup=False)
    )
    with BoundBar(Objective("minutes")) as bar:
        bar.begin("optimal")
        bar.update(Progress(step=1, lower=1.25, upper=2.5, tolerance=1e-9))
    assert "minutes 1.25000 to 2.50000" in output.getvalue()
    assert "%" not in output.getvalue()


@pytest.mark.parametrize("progress", [SimulationProgress(0.3, 0.2), SimulationProgress(0.0, inf)])
def test_the_bar_takes_every_progress(progress: SimulationProgress) -> None:
    """One on the way, and one of which nothing is known yet."""
    with SimulationBar() as bar:
        bar.begin("paper")
        bar.update(progress)
