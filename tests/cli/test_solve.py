"""`runcard solve`."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.policy_files import load_policy

from runcard.city import read_city
from runcard.mdp.from_city import dispatch_problem
from runcard.policy.base import Certificate
from runcard.policy.solve import solve_named


@pytest.mark.parametrize(("word", "name"), [("optimal", "optimal"), ("CF", "closest-first"), ("one-step", "one-step")])
def test_the_file_holds_the_policy_of_the_city(run, grid_folder: Path, tmp_path: Path, word: str, name: str) -> None:
    """What is written loads again as that policy, for that city."""
    path = tmp_path / "a.policy"
    ran = run("solve", grid_folder, "--policy", word, "-o", path)
    assert (ran.code, ran.err) == (0, "")
    assert "Wrote" in ran.out
    policy = load_policy(path, dispatch_problem(read_city(grid_folder)))
    assert policy.name == name
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.policy"]


def test_a_solve_says_what_was_proven(run, grid_folder: Path, tmp_path: Path) -> None:
    """The interval that is printed holds the late fraction that is stored."""
    ran = run("solve", grid_folder, "-o", tmp_path / "a.policy")
    (line,) = [line for line in ran.out.splitlines() if line.startswith("optimal: late fraction proven")]
    lower, upper = (float(word) / 100.0 for word in line.split()[-2].split("-"))
    certificate = load_policy(tmp_path / "a.policy").certificate
    assert certificate is not None
    assert lower <= certificate.lower <= certificate.upper <= upper


def test_a_file_that_cannot_be_written_is_refused_before_solving(
    run, grid_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder, a missing folder and a file in the place of one are refused at once, and nothing is made."""
    monkeypatch.setattr("runcard.policy.solve.solve_named", lambda *_, **__: pytest.fail("should not have been solved"))
    (tmp_path / "file").write_text("mine")
    for path in (tmp_path, tmp_path / "missing" / "a.policy", tmp_path / "file" / "a.policy"):
        ran = run("solve", grid_folder, "-o", path)
        assert (ran.code, ran.out, len(ran.err.splitlines())) == (2, "", 1)
        assert str(path) in ran.err
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_a_full_disk_leaves_the_old_file(
    run, grid_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When writing fails half way, the policy that was there is still there, and nothing else."""
    path = tmp_path / "a.policy"
    path.write_text("old")

    def full_disk(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full_disk)
    ran = run("solve", grid_folder, "-o", path)
    assert ran.code == 1
    assert ran.err == f"runcard: {path}: could not be written: No space left on device\n"
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.policy"]


def test_a_policy_that_did_not_converge_is_not_written(
    run, grid_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A solve that stopped early ends with exit code 1, the bounds it reached, and no file."""

    def give_up(*arguments: object, **options: object) -> object:
        solved = solve_named(*arguments, **options)  # type: ignore[arg-type]
        return replace(solved, certificate=Certificate(lower=0.25, upper=0.5, converged=False))  # type: ignore[type-var]

    monkeypatch.setattr("runcard.policy.solve.solve_named", give_up)
    ran = run("solve", grid_folder, "-o", tmp_path / "a.policy")
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (1, "", 1)
    assert "did not converge" in ran.err
    assert "25.000000-50.000000 %" in ran.err
    assert list(tmp_path.iterdir()) == []


def test_a_city_too_large_for_memory_is_refused(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty trucks have a million million states: one line with exit code 2, before any driving time is computed."""
    assert run("generate", tmp_path / "city", "--side", "8", "--stations", "40").code == 0
    monkeypatch.setattr("runcard.assess.steps.dispatch_problem", lambda *_, **__: pytest.fail("too late"))
    for command in (
        ["compare", tmp_path / "city"],
        ["compare", tmp_path / "city", "--policies", "CF"],
        ["compare", tmp_path / "city", "--weights", "0.1"],
        ["solve", tmp_path / "city", "-o", tmp_path / "a.policy"],
        ["solve", tmp_path / "city", "--policy", "one-step", "-o", tmp_path / "a.policy"],
        ["simulate", tmp_path / "city"],
        ["stress", tmp_path / "city", "--policies", "CF,OSI"],
    ):
        ran = run(*command)
        assert (ran.code, ran.out, len(ran.err.splitlines())) == (2, "", 1)
        assert "1,099,511,627,776 states" in ran.err
    assert [entry.name for entry in tmp_path.iterdir()] == ["city"]


def test_a_policy_for_units_that_are_mostly_idle_is_noted_in_a_busy_department(
    run, grid_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is written all the same, and one line names the better policy, if the city is not small."""
    arguments = ("solve", grid_folder, "--policy", "one-step-mean-field", "-o", tmp_path / "a.policy")
    assert "mostly idle" not in run(*arguments).out
    monkeypatch.setattr("runcard.assess.policy_choice.SOME_SECONDS", 0.0)
    monkeypatch.setattr("runcard.assess.policy_choice.WHOLE_STATES", 0)
    ran = run(*arguments)
    (line,) = [line for line in ran.out.splitlines() if "mostly idle" in line]
    assert line.endswith("one-step-neighbourhoods is made for that, and was nearer to the optimum where it is known.")
    assert "Wrote" in ran.out
