"""The sentences of a report, checked against made-up and real findings."""

from dataclasses import replace

import pytest

from runcard.assess.auto import per_year
from runcard.assess.outcome import Outcome
from runcard.city.model import Objective, Standard
from runcard.interval import Interval
from runcard.outputs.report.answers import FarUnit
from runcard.outputs.report.findings import Report
from runcard.outputs.report.sensitivity import Row
from runcard.outputs.report.words import left_out, summary, survival, verdict
from runcard.plan.words import and_list, number_words, percent_words, rule_words


def such(outcome: Outcome, **known: object) -> Outcome:
    """An outcome of which some numbers are known, whatever its fleets do."""
    copy = replace(outcome)
    copy.__dict__.update(known)  # where cached properties keep what they found
    return copy


def with_gain(report: Report, gain: Interval, *, exact: bool = False) -> Report:
    """A report with another gain."""
    before = report.solved.first.missed.value
    first = such(report.solved.first, missed=Interval(before, before, before))
    left = Interval(*(before * (1.0 - part) for part in (gain.value, gain.high, gain.low)))
    outcomes = (first, *report.solved.outcomes[1:-1], such(report.solved.last, missed=left))
    return replace(report, solved=replace(report.solved, outcomes=outcomes, num_incidents=None if exact else 1000))


def test_the_summary_has_the_numbers_that_matter(report: Report) -> None:
    """Units, incidents a day, misses a year today and with the recommended dispatch, and the mean response."""
    text = " ".join(summary(report))
    first, last = report.solved.first, report.solved.last
    assert "10 engines and 2 ladders at 9 stations, and 36.8 incidents a day" in text
    assert f"{per_year(first.missed.value, report.city):,.0f} a year" in text
    assert (
        f"{number_words(per_year(report.solved.fewer(last).value, report.city))} missed standards a year fewer" in text
    )
    assert f"{60 * (first.first_minutes - last.first_minutes):.1f} seconds sooner" in text
    assert percent_words(report.solved.gain(last).value) in text


def test_standards_that_get_worse_are_named(report: Report) -> None:
    """The optimum of the town gives up some of the second engines for the first ones, and the summary says so."""
    (line,) = (one for one in summary(report) if "Not every standard" in one)
    worse = [
        after.standard
        for before, after in zip(report.solved.first.standards, report.solved.last.standards, strict=True)
        if before.missed and after.missed and after.missed.value > before.missed.value + 5e-4
    ]
    assert worse
    for standard in worse:
        assert rule_words(standard) in line


@pytest.mark.parametrize(
    ("before", "fewer", "exact", "words"),
    [
        (0.0065, Interval(-2e-4, -2.1e-4, -1.9e-4), True, "Missed more often: {}, missed 0.67 % instead of 0.65 %."),
        (0.1232, Interval(-3e-4, -4e-4, -2e-4), True, "Missed more often: {}, missed 12.35 % instead of 12.32 %."),
        (0.0065, Interval(-2e-4, -3e-4, -1e-4), False, "(95 % sure of each by itself): {}, missed 0.67 % instead"),
        (
            0.0065,
            Interval(-2e-4, -5e-4, 1e-4),
            False,
            "though that may be chance: {}, missed 0.67 % instead of 0.65 %.",
        ),
        (0.2109, Interval(-2e-4, -5e-4, 1e-4), False, ""),
        (0.0065, Interval(2e-4, 1e-4, 3e-4), False, ""),
        (0.0065, Interval(-1e-8, -2e-8, -1e-9), True, ""),
    ],
)
def test_every_standard_that_reads_worse_is_named(
    report: Report, before: float, fewer: Interval, exact: bool, words: str
) -> None:
    """However little it is: what the table shows as missed more often, the summary says, and how sure it is."""
    solved, after = report.solved, before - fewer.value
    ends = (before, before, before), (after, before - fewer.high, before - fewer.low)
    first, last = (
        such(
            outcome,
            standards=(
                replace(outcome.standards[0], missed=Interval(*missed)),
                *(replace(of, missed=Interval(*(of.missed.value - better,) * 3)) for of in outcome.standards[1:]),
            ),
        )
        for outcome, missed, better in ((solved.first, ends[0], 0.0), (solved.last, ends[1], 0.1))
        if all(of.missed for of in outcome.standards)
    )
    changed = replace(report, solved=replace(solved, num_incidents=None if exact else 1000, outcomes=(first, last)))
    lines = [line for line in summary(changed) if "Not every standard" in line]
    assert len(lines) == bool(words)
    assert words.format(rule_words(first.standards[0].standard)) in "".join(lines)


@pytest.mark.parametrize(
    ("gain", "words"),
    [
        (Interval(0.05, 0.02, 0.08), "95 % sure: from 2.00 % fewer to 8.00 % fewer"),
        (Interval(0.001, -0.01, 0.012), "no better than closest first"),
        (Interval(-0.02, -0.03, -0.01), "do not use it"),
    ],
)
def test_a_policy_that_is_not_better_is_not_praised(report: Report, gain: Interval, words: str) -> None:
    """An interval on both sides of 0 is no gain, and one below it a loss."""
    assert any(words in line for line in summary(with_gain(report, gain)))


def test_the_same_policy_twice_needs_no_interval(report: Report) -> None:
    """Where closest-first takes the place of a worse policy nothing is gained, and no chance is spoken of."""
    line = next(one for one in summary(with_gain(report, Interval(0.0, 0.0, 0.0))) if "no better than closest" in one)
    assert "they miss the same" in line
    assert "% sure" not in line


def test_a_gain_that_is_small_is_called_so(report: Report) -> None:
    """Nobody changes how units are sent for a thousandth; a gain of a few per cent is not called little."""
    assert "That is little" in " ".join(summary(with_gain(report, Interval(0.001, 0.0005, 0.0015))))
    assert "That is little" not in " ".join(summary(with_gain(report, Interval(0.05, 0.04, 0.06))))


def test_an_absurd_unit_is_named(report: Report) -> None:
    """With its area, both stations and both times, and with how many more there are."""
    node = report.city.demand[0].node_id
    far = FarUnit(
        kind="engine", node_id=node, type="fire", station=1, minutes=12.0, closest=0, closest_minutes=2.0,
        target_minutes=6.0,
    )  # fmt: skip
    (line,) = (one for one in summary(replace(report, far=(far,) * 6)) if "far away" in one)
    assert "12.00 min instead of" in line
    assert "and 2 more" in line
    assert any("Nothing looks absurd" in one for one in summary(report))


def test_another_objective_is_said(report: Report) -> None:
    """Where minutes are made smallest, misses are told, but not as the aim."""
    city = replace(report.city, objective=Objective("minutes"))
    text = " ".join(summary(replace(report, solved=replace(report.solved, city=city))))
    assert "asks for the shortest mean response" in text


def test_policies_that_are_not_solved_are_named(report: Report) -> None:
    """Not converging is never silent."""
    last = report.solved.last
    fleets = dict(last.fleets) | {"engine": replace(last.fleets["engine"], converged=False)}
    outcomes = (*report.solved.outcomes[:-1], replace(last, periods={"always": fleets}))
    text = summary(replace(report, solved=replace(report.solved, outcomes=outcomes)))
    assert any("optimal (engine)" in line for line in text)


def test_survival_is_told_in_a_sentence(report: Report) -> None:
    """All better; some not; none at all."""
    better, unclear = (
        with_gain(report, gain).solved.last for gain in (Interval(0.1, 0.05, 0.15), Interval(0.0, -0.1, 0.1))
    )
    first = with_gain(report, Interval(0.1, 0.05, 0.15)).solved.first

    def rows(*found: bool) -> list[Row]:
        of_rows = [replace(report.solved, outcomes=(first, better if one else unclear)) for one in found]
        return [Row(about="load", words=f"change {n}", solved=solved) for n, solved in enumerate(of_rows)]

    assert "every one" in survival(rows(True, True))
    assert survival(rows(True, False, True)).endswith("with: change 1.")
    assert "none in any" in survival(rows(False, False))
    assert survival(rows(False, True)).endswith("with: change 1.")


def test_where_the_shared_delay_comes_from_is_said(report: Report) -> None:
    """Fitted, with its interval, if the fit says so; else a guess, also if the file of the fit is damaged."""
    fit = {"numbers": [{"name": "shared_delay", "value": 0.1, "low": 0.02, "high": 0.2}]}
    assert any("between 0.02 and 0.2" in line for line in left_out(replace(report, fit=fit)))
    for damaged in (None, {}, {"numbers": 3}, {"numbers": [{"name": "shared_delay", "low": "x"}]}):
        assert any("a guess" in line for line in left_out(replace(report, fit=damaged)))


def test_small_words() -> None:
    """Lists, percentages, numbers, standards and verdicts."""
    assert and_list(["a"]) == "a"
    assert and_list(["a", "b", "c"]) == "a, b and c"
    assert (percent_words(0.1234), percent_words(0.01234)) == ("12.3 %", "1.23 %")
    assert (number_words(1234.5), number_words(-0.0), number_words(3.14159)) == ("1,234", "0", "3.14")
    assert rule_words(Standard("fire", "engine", 2, 2, 10.0)) == "fire: second of 2 engines in 10 min"
    assert rule_words(Standard("", "truck", 1, 1, 6.5)) == "first truck in 6.5 min"
    assert verdict(Interval(0.1, 0.0, 0.2)) == "no clear difference"
