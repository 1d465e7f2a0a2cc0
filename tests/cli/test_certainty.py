"""One word for each: an interval is proven where the errors in it are bounds, and estimated elsewhere, everywhere."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from tests.policy_files import load_policy, save_policy

from runcard.city import Driving, generate_grid, write_city
from runcard.outputs.cards.about import about_lines
from runcard.outputs.cards.book import make_book
from runcard.outputs.fit_file import care_line
from runcard.plan.file import load


@pytest.fixture(params=[Driving(), Driving("gamma", cv=1.5)], ids=["proven", "estimated"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A small grid with driving times that have a closed form, and one that needs a lattice."""
    city = replace(generate_grid(side=3, num_stations=3, load=0.1, seed=1), driving=request.param)
    return write_city(city, tmp_path / "city")


def words_of(folder: Path, request: pytest.FixtureRequest) -> tuple[str, str]:
    """What intervals are called, and what they are not."""
    proven = "proven" in request.node.name.split("[")[1]
    return ("proven", "estimated") if proven else ("estimated", "proven")


@pytest.mark.parametrize("options", [[], ["--weights", "0,0.1"]])
def test_compare(run, folder: Path, request: pytest.FixtureRequest, options: list[str]) -> None:
    """The console and JSON say the same."""
    word, other = words_of(folder, request)
    ran = run("compare", folder, *options)
    assert word in ran.out
    assert other not in ran.out
    document = json.loads(run("compare", folder, *options, "--json").out)
    policies = (
        document["policies"] if not options else [point for one in document["policies"] for point in one["weights"]]
    )
    assert {policy["proven"] for policy in policies} == {word == "proven"}


def test_solve_and_its_file(run, folder: Path, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """A solve says it, and the file that it writes keeps it."""
    word, other = words_of(folder, request)
    ran = run("solve", folder, "-o", tmp_path / "one.policy")
    assert f"{word} to lie in" in " ".join(ran.out.split())
    assert other not in ran.out
    loaded = load_policy(tmp_path / "one.policy")
    assert loaded.problem.proven is (word == "proven")
    save_policy(loaded, tmp_path / "two.policy")
    assert load_policy(tmp_path / "two.policy").problem.proven is (word == "proven")


def test_bound(run, folder: Path, request: pytest.FixtureRequest) -> None:
    """A bound of estimated chances is estimated."""
    word, _ = words_of(folder, request)
    options = ["--incidents", "2000", "--steps", "5"]
    document = json.loads(run("bound", folder, *options, "--json").out)
    assert document["proven"] is (word == "proven")
    ran = run("bound", folder, *options)
    assert ("This is estimated, not proven" in ran.out) is (word == "estimated")


def test_one_more_and_what_if(run, folder: Path, request: pytest.FixtureRequest) -> None:
    """So are the places of one more unit, and a change."""
    word, other = words_of(folder, request)
    ran = run("whatif", folder, "--one-more", "truck")
    assert f"This is {word}." in ran.out
    assert other not in ran.out
    ran = run("whatif", folder, "--close", "s1")
    assert word in ran.out
    assert other not in ran.out


def test_places_with_a_second_road(run, tmp_path: Path) -> None:
    """A ranking is estimated if the bounds of any of its places are: here of two trucks at one station."""
    city = replace(generate_grid(side=3, num_stations=3, load=0.1, seed=1), driving=Driving(second_route="disjoint"))
    folder = write_city(city, tmp_path / "city")
    assert json.loads(run("compare", folder, "--json").out)["policies"][0]["proven"] is True
    ran = run("whatif", folder, "--one-more", "truck")
    assert "This is estimated." in ran.out
    assert json.loads(run("whatif", folder, "--one-more", "truck", "--json").out)["proven"] is False


def test_report(run, folder: Path, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """The page of a chief says it in its first line."""
    word, other = words_of(folder, request)
    run("report", folder, "-o", tmp_path / "report.html")
    head = (tmp_path / "report.html").read_text(encoding="utf-8").split("</ul>")[0].split("<h1>")[1]
    assert f"is {word}." in head
    assert other not in head


FAULTS = ("Routes explain only 12 % of the variance.", "Incidents come in bursts.")


def test_a_bad_fit_is_said_wherever_there_are_numbers(run, grid_folder: Path, tmp_path: Path) -> None:
    """By every command that shows some, also by those that have only the policy file; never among JSON, and nothing of
    it without a fit."""
    fitted, file, cards = shutil.copytree(grid_folder, tmp_path / "city"), tmp_path / "a.policy", tmp_path / "a.csv"
    (fitted / "fit.json").write_text(json.dumps({"goodness": {"faults": FAULTS}}), encoding="utf-8")
    few = ("--policies", "CF", "--incidents", "400")
    for folder, faults in ((fitted, FAULTS), (grid_folder, ())):
        line = care_line(FAULTS)
        for command in (
            ("solve", folder, "-o", file),
            ("decide", file, "--at", "n5", "--idle", "all"),
            ("cards", file, "-o", cards, "--depth", "1"),
            ("compare", folder, "--policies", "CF"),
            ("compare", folder, "--weights", "0.1", "--policies", "CF"),
            ("simulate", folder, *few),
            ("stress", folder, "--scenarios", "paper", *few),
            ("bound", folder, "--steps", "1", *few),
        ):
            ran = run(*command)
            assert (ran.code, ran.err) == (0, "")
            assert ran.out.count(line) == bool(faults), command
        plan = load(file)
        assert plan.fit_faults == faults
        assert (line in about_lines(make_book(plan, depth=1))) == bool(faults)
        for command in (("compare", folder), ("decide", file, "--at", "n5", "--idle", "all")):
            assert "care" not in json.dumps(json.loads(run(*command, "--json").out))


def test_an_interval_of_a_simulation_says_what_it_covers(run, grid_folder: Path, tmp_path: Path) -> None:
    """Wherever one stands on the terminal, on the page and in JSON; what is proven says nothing of chance."""
    few = ("--policies", "CF,OPT", "--incidents", "400")
    for command in (("simulate",), ("stress", "--scenarios", "paper"), ("bound", "--steps", "1")):
        words = " ".join(run(command[0], grid_folder, *command[1:], *few).out.split())
        assert "which covers the chance of the simulation only" in words
    words, page, close = "cover the chance of the simulation only", tmp_path / "page.html", ("--close", "s1")
    simulated = ("whatif", grid_folder, *close, "--incidents", "1000")
    assert words in " ".join(run(*simulated, "-o", page).out.split())
    assert words in page.read_text(encoding="utf-8")
    assert any(words in note for note in json.loads(run(*simulated, "--json").out)["notes"])
    assert words not in run("whatif", grid_folder, *close).out
    assert words in " ".join(run("site", grid_folder, "--incidents", "1000").out.split())
