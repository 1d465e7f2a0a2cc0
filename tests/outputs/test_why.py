"""Why standards are missed, in words and for drawings."""

import re
from collections.abc import Mapping
from dataclasses import replace

import pytest
from tests.departments import random_department
from tests.markup import Markup
from tests.town import plain_town

from runcard.assess.auto import Effort
from runcard.assess.exact import assess_exactly
from runcard.assess.outcome import FleetOutcome
from runcard.assess.why import WhyMissed
from runcard.city import demo_city
from runcard.outputs.report import report_page
from runcard.outputs.report.findings import find
from runcard.outputs.whatif.changes import Add, Load, Remove
from runcard.outputs.whatif.effect import find_effect
from runcard.outputs.whatif.page import whatif_page
from runcard.outputs.whatif.words import why_parts
from runcard.outputs.why import NOT_KNOWN, why_change_words, why_rows, why_sentence


def test_a_chief_reads_the_parts_and_what_dispatch_could_avoid() -> None:
    """Each part that can be seen, by hand; busy and choice together are the most that dispatch can avoid."""
    why = WhyMissed(start=0.012, distance=0.18, busy=0.01, choice=0.002)
    assert why_sentence(demo_city(), why) == (
        "Of 20.40 missed standards per 100 incidents there are 1.20 by turnout and start alone, 18.00 because the best "
        "units are too far even with every unit in quarters, 1.00 because these are busy and 0.20 because others are "
        "sent: no other way of sending the same units can avoid more than 1.20."
    )
    words = why_sentence(plain_town(), replace(why, start=0.0, choice=1e-9))
    assert words.startswith("Of 19.00 late incidents per 100 there are 18.00 because")
    assert "turnout" not in words
    assert "others are sent" not in words
    assert why_sentence(demo_city(), why, exact=False).endswith("can avoid more than about 1.20.")
    assert why_sentence(demo_city(), WhyMissed(0.0, 0.0, 0.0, 0.0)) == ""


def test_a_change_names_the_parts_that_change() -> None:
    """With how much more or fewer by each; nothing where nothing changes."""
    before = WhyMissed(start=0.01, distance=0.05, busy=0.03, choice=0.001)
    words = why_change_words(before, WhyMissed(start=0.01, distance=0.06, busy=0.025, choice=0.001))
    assert words == "Per 100 incidents that is 1.00 more by distance and 0.50 fewer by busy units."
    assert why_change_words(before, before) == ""


@pytest.mark.parametrize("changes", [[Remove("E1")], [Add("ladder", "n4"), Load(1.4)]], ids=str)
def test_before_and_after_are_those_of_an_assessment(changes: list[object]) -> None:
    """Of all kinds together, and they add up to what is missed."""
    city = random_department(3)
    effect = find_effect(city, changes)  # type: ignore[arg-type]
    found = assess_exactly(city, ["optimal"]).first.why_missed
    parts, missed = why_parts(effect), effect.policies[0].missed
    assert found is not None
    for why, whole in zip(parts.values(), (missed.before, missed.after), strict=True):
        assert why is not None
        assert sum(why.document().values()) == pytest.approx(whole.value, abs=1e-9)
    assert parts["before"] is not None
    assert parts["before"].document() == pytest.approx(found.document(), abs=1e-9)
    document = effect.document()["policies"][0]["why_missed"]
    assert document == {when: why.document() for when, why in parts.items() if why is not None}


@pytest.mark.parametrize("exact", [True, False], ids=["exact", "simulated"])
def test_pages_draw_the_parts(exact: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row and a bar of four parts for each rule, as long as they add up; where they are not known, a page says so."""
    if not exact:
        monkeypatch.setattr("runcard.assess.policy_choice.SOME_SECONDS", 0.0)
    city = random_department(3)
    report = find(city, Effort(incidents=400), quick=True)
    effect = find_effect(city, [Load(1.2)], incidents=None if exact else 1_000)
    for page, rows in (
        (report_page(report), {outcome.name: outcome.why_missed for outcome in report.solved}),
        (whatif_page(effect), why_parts(effect)),
    ):
        bars = re.findall(r'<rect class="why-(\w+)" x="([\d.]+)%" y=".5" width="([\d.]+)%"', page)
        assert len(bars) == 4 * len(rows) == 4 * len(why_rows(rows))
        most = max(sum(parts.values()) for _, parts in why_rows(rows))
        for number, (_, parts) in enumerate(why_rows(rows)):
            own = bars[4 * number : 4 * number + 4]
            assert [name for name, _, _ in own] == list(parts)
            widths = [float(width) for _, _, width in own]
            assert widths == pytest.approx([100.0 * part / most for part in parts.values()], abs=0.006)
            assert float(own[-1][1]) == pytest.approx(sum(widths[:3]), abs=0.03)
    today = report.solved.first.why_missed
    assert today is not None
    assert why_sentence(city, today, exact=exact) in Markup(report_page(report)).words
    unknown = [replace(one, periods=without_reasons(one.periods)) for one in report.solved]
    page = report_page(replace(report, solved=replace(report.solved, outcomes=tuple(unknown))))
    assert NOT_KNOWN in page
    assert "why-busy" not in page.split("</style>")[1]


def without_reasons(periods: Mapping[str, Mapping[str, FleetOutcome]]) -> dict[str, dict[str, FleetOutcome]]:
    """What fleets do, but not why they miss standards."""
    return {
        period: {kind: replace(fleet, why_missed=None) for kind, fleet in fleets.items()}
        for period, fleets in periods.items()
    }
