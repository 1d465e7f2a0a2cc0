"""Every command on a city with periods of the week."""

import json
from pathlib import Path

import pytest
from tests.weeks import with_days

from runcard.assess.exact import assess_exactly
from runcard.assess.plans import WEEK_POLICIES
from runcard.city import generate_grid, read_city, write_city
from runcard.cli import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A grid of four stations with days and nights that differ much."""
    city = with_days(generate_grid(side=4, num_stations=4, load=0.3, seed=3), 2.0, 0.1)
    return write_city(city, tmp_path_factory.mktemp("periods") / "city")


@pytest.fixture(scope="module")
def file(folder: Path) -> Path:
    """Its policy file."""
    path = folder.parent / "week.policy"
    assert main(["solve", str(folder), "-o", str(path)]) == 0
    return path


def test_decide_picks_the_period_by_the_clock(run, file: Path, folder: Path) -> None:
    """A minute before 7:00 the night decides, and at 7:00 the day, as its own city's policy does."""
    answers = {}
    for time, period in (
        ("tue 6:59", "night"),
        ("2017-01-03T07:00", "day"),
        ("tue 21:59", "day"),
        ("tue 22:00", "night"),
    ):
        for node in ("n0", "n5", "n10", "n15"):
            line = ("decide", file, "--at", node, "--idle", "all", "--time", time, "--city", folder)
            document = json.loads(run(*line, "--json").out)
            assert document.pop("period") == period
            assert answers.setdefault((node, period), document) == document
        assert f"Period: {period}\nSend " in run(*line).out
    alone = folder.parent / "night-alone"
    if not alone.exists():
        write_city(read_city(folder).in_period("night"), alone)
    assert run("solve", alone, "-o", folder.parent / "night.policy").code == 0
    for node in ("n0", "n5", "n10", "n15"):
        line = ("decide", folder.parent / "night.policy", "--at", node, "--idle", "all", "--json")
        assert json.loads(run(*line).out) == answers[node, "night"]
    assert any(answers[node, "day"]["team"] != answers[node, "night"]["team"] for node in ("n0", "n5", "n10", "n15"))


def test_decide_never_guesses_the_time(run, file: Path, policy_file: Path) -> None:
    """Without --time the error names the periods; a time that is none is refused; now is a time."""
    ran = run("decide", file, "--at", "n5", "--idle", "all")
    assert ran.code == 2
    assert "day: mon-sun 7-22; night: mon-sun 0-7, mon-sun 22-24)" in ran.err
    ran = run("decide", file, "--at", "n5", "--idle", "all", "--time", "noon")
    assert ran.code == 2
    assert "expected a time such as 2017-01-03T14:00, tue 14:00 or now, got 'noon'" in ran.err
    assert run("decide", file, "--at", "n5", "--idle", "all", "--time", "now").code == 0
    # A file for all hours takes any time, and says nothing of periods.
    with_time = run("decide", policy_file, "--at", "n5", "--idle", "all", "--time", "now", "--json")
    assert with_time.out == run("decide", policy_file, "--at", "n5", "--idle", "all", "--json").out


def test_compare_shows_the_week_and_what_the_hour_is_worth(run, folder: Path) -> None:
    """The table has both policies, each period, and the gain; JSON has the numbers of the comparison."""
    ran = run("compare", folder)
    assert (ran.code, ran.err) == (0, "")
    for words in (
        "periods: day, night", "closest-first", "optimal/week", "The mean of the week:", "in each period:",
        "Knowing the hour: optimal misses 0.03 % less than optimal/week.", "day: mon-sun 7-22; ",
        "Every period is taken as if it lasted for ever",
    ):  # fmt: skip
        assert words in " ".join(ran.out.split()), words
    document = json.loads(run("compare", folder, "--json").out)
    expected = assess_exactly(read_city(folder), WEEK_POLICIES)
    for found, result in zip(document["policies"], expected, strict=True):
        assert found["name"] == result.name
        assert found["late_fraction"] == pytest.approx(result.missed.value, rel=1e-9)
        assert [one["late_fraction"] for one in found["periods"]] == pytest.approx(
            [result.in_period(period).missed.value for period in result.periods], rel=1e-9
        )


def test_simulate_shows_the_gain_with_its_interval(run, folder: Path, file: Path) -> None:
    """Both policies, and the paired gain of the one that knows the hour; a policy file does as its policy."""
    ran = run("simulate", folder, "--incidents", "4000")
    assert (ran.code, ran.err) == (0, "")
    assert "Knowing the hour: optimal misses" in ran.out
    document = json.loads(run("simulate", folder, "--incidents", "4000", "--json").out)
    assert [one["name"] for one in document["policies"]] == ["closest-first", "optimal/week", "optimal"]
    (gain,) = document["knowing_the_hour"]
    assert (gain["name"], gain["without"]) == ("optimal", "optimal/week")
    assert gain["improvement"]["low"] < gain["improvement"]["mean"] < gain["improvement"]["high"]
    held = json.loads(run("simulate", folder, "--incidents", "4000", "--policies", f"CF,{file}", "--json").out)
    assert held["policies"][1]["late_fraction"] == document["policies"][2]["late_fraction"]
    assert held["knowing_the_hour"] == []


def test_stress_says_which_scenarios_have_rates_of_their_own(run, folder: Path) -> None:
    """A scenario with rates has these in place of the periods', and that is said."""
    ran = run("stress", folder, "--incidents", "1000", "--scenarios", "paper,evening")
    assert (ran.code, ran.err) == (0, "")
    assert "evening has rates of its own, in place of those of the periods." in ran.out
    assert "paper has rates" not in ran.out
    assert "Knowing the hour in paper: " in ran.out


@pytest.mark.slow
def test_lateness_and_maps_work(run, folder: Path, file: Path, tmp_path: Path) -> None:
    """P(late) does not depend on rates; a map is of the mean rates or of one period, and a file needs the period."""
    assert run("lateness", folder, "--at", "n5").code == 0
    ran = run("map", folder, "-o", tmp_path / "week.png")
    assert ran.code == 0
    assert "Rates are the means of the week; --period draws a period." in ran.out
    assert run("map", folder, "-o", tmp_path / "night.png", "--period", "night").code == 0
    assert run("map", file, "--city", folder, "-o", tmp_path / "night.png", "--period", "night").code == 0
    ran = run("map", file, "--city", folder, "-o", tmp_path / "night.png")
    assert (ran.code, "it holds a policy for each period (day, night): choose one with --period" in ran.err) == (
        2,
        True,
    )
    ran = run("map", folder, "-o", tmp_path / "night.png", "--period", "nihgt")
    assert (ran.code, "did you mean night?" in ran.err) == (2, True)
