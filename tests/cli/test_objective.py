"""Objectives other than the late fraction on the command line, and `runcard compare --weights`."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from runcard.assess import exact as comparing
from runcard.city import Objective, read_city, write_city
from runcard.outputs import weights as weighing

OBJECTIVES = [Objective("minutes"), Objective("late+minutes", 0.05)]


@pytest.fixture(params=OBJECTIVES, ids=lambda objective: objective.minimise)
def folder(request: pytest.FixtureRequest, grid_folder: Path, tmp_path: Path) -> Path:
    """The grid city with another objective."""
    return write_city(replace(read_city(grid_folder), objective=request.param), tmp_path / "city")


def test_compare_shows_what_is_minimised_and_the_late_fraction(run, folder: Path, grid_folder: Path) -> None:
    """The late fraction of closest-first is that of the plain city; the objective and its proof stand beside it."""
    ran = run("compare", folder)
    document = json.loads(run("compare", folder, "--json").out)
    plain = json.loads(run("compare", grid_folder, "--json").out)
    assert ran.code == 0
    assert document["policies"][0]["late_fraction"] == pytest.approx(plain["policies"][0]["late_fraction"], rel=1e-9)
    assert document["objective"]["minimise"] == read_city(folder).objective.minimise
    words = " ".join(ran.out.split())
    assert "mean response minutes below the lower end of optimal's interval of it." in words
    assert "Above the best possible, at most: closest-first" in words
    assert "late less often" not in words
    assert max(map(len, ran.out.splitlines())) <= 80


def test_solve_and_decide_say_what_is_minimised(run, folder: Path, tmp_path: Path) -> None:
    """The proof is of the objective, the sum in the sentence is the objective's, and P(late) is in JSON as ever."""
    path = tmp_path / "optimal.policy"
    assert "mean response minutes proven to lie in" in " ".join(run("solve", folder, "-o", path).out.split())
    out = run("decide", path, "--at", "n5", "--idle", "s0,s1,s3", "--city", folder).out
    document = json.loads(run("decide", path, "--at", "n5", "--idle", "s0,s1,s3", "--json").out)
    weight = document["objective"]["weight"]
    words = " ".join(out.split())
    assert "extra minute" in words
    for option in (document, *document["alternatives"]):
        now = option["mean_minutes"] if weight is None else option["p_late"] + weight * option["mean_minutes"]
        assert option["total"] == pytest.approx(now + option["price"], rel=1e-12)
        assert f"{option['mean_minutes']:.3f}" in out
    lateness = json.loads(run("lateness", folder, "--at", "n5", "--json").out)
    p_late = {tuple(team["team"]): team["p_late"] for team in lateness["teams"]}
    assert document["p_late"] == p_late[tuple(document["team"])]


def test_a_file_of_another_objective_is_refused(run, folder: Path, grid_folder: Path, tmp_path: Path) -> None:
    """The same city with another objective is another problem."""
    path = tmp_path / "optimal.policy"
    run("solve", folder, "-o", path)
    ran = run("decide", path, "--at", "n5", "--idle", "all", "--city", grid_folder)
    assert ran.code == 2
    assert "made for another city" in ran.err


def test_weights_are_compared(run, grid_folder: Path, tmp_path: Path) -> None:
    """The table has a row for each weight, 0 first, and the curve is drawn."""
    curve = tmp_path / "curve.svg"
    ran = run("compare", grid_folder, "--weights", "0.1, 0.01", "--curve", curve)
    assert (ran.code, ran.err) == (0, "")
    document = json.loads(run("compare", grid_folder, "--weights", "0.01,0.1", "--json").out)
    (policy,) = document["policies"]
    assert policy["name"] == "optimal"
    assert [entry["weight"] for entry in policy["weights"]] == [0.0, 0.01, 0.1]
    for entry in policy["weights"]:
        line, _ = [line for line in ran.out.splitlines() if line.startswith(f" {entry['weight']:g} ")]
        assert f"{100.0 * entry['late_fraction']:.3f}" in line
        assert f"{entry['mean_response_minutes']:.3f}" in line
    assert max(map(len, ran.out.splitlines()[:-1])) <= 80
    assert f"Wrote {curve}" in ran.out
    assert curve.read_bytes().startswith(b"<?xml")


def test_the_policies_of_weights_can_be_chosen(run, grid_folder: Path, tmp_path: Path) -> None:
    """Each has its own table, and JSON beside a curve is still JSON."""
    out = run("compare", grid_folder, "--weights", "0.1", "--policies", "CF,OSI").out
    assert "closest-first for late + weight × minutes:" in out
    assert "one-step for late + weight × minutes:" in out
    ran = run(
        "compare", grid_folder, "--weights", "0.1", "--policies", "CF", "--json", "--curve", tmp_path / "curve.png"
    )
    assert [policy["name"] for policy in json.loads(ran.out)["policies"]] == ["closest-first"]
    assert (tmp_path / "curve.png").exists()


def test_without_matplotlib_nothing_is_solved(run, grid_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The missing extra is named before the work, with exit code 1."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr(weighing, "solve_named", pytest.fail)
    ran = run("compare", grid_folder, "--weights", "0.1", "--curve", "curve.svg")
    assert (ran.code, ran.out) == (1, "")
    assert "runcard[report]" in ran.err


def test_a_weight_that_did_not_converge_says_so(run, grid_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table marks it, a line on standard error names it, and the exit code is 1."""
    evaluate = comparing.evaluate
    monkeypatch.setattr(
        comparing, "evaluate", lambda *given, **options: replace(evaluate(*given, **options), converged=False)
    )
    ran = run("compare", grid_folder, "--weights", "0.1")
    assert ran.code == 1
    assert "not converged: optimal with weight 0, optimal with weight 0.1" in ran.err
    assert "not converged" in ran.out
