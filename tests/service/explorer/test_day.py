"""Days that are played back: simulated ones obey the policy, and logged ones say what was done."""

from datetime import UTC, datetime, timedelta
from statistics import mean, stdev
from typing import Any

import pytest
from tests.departments import grid_department
from tests.weeks import with_days

from runcard.city import City, generate_grid
from runcard.plan.plan import Plan, solve
from runcard.plan.situation import Situation
from runcard.service.audit.drift import find_drift
from runcard.service.explorer.day import logged_day, simulated_day, still_there, summary_of

START = datetime(2026, 11, 16, tzinfo=UTC)


@pytest.fixture(scope="module")
def town() -> City:
    """Four engines and two ladders, with many incidents."""
    return grid_department(side=4, engines=4, ladders=2, load=0.5)


@pytest.fixture(scope="module")
def department(town: City) -> Plan:
    """Its best policy."""
    return solve(town)


def test_every_decision_of_a_simulated_day_is_that_of_the_policy(town: City, department: Plan) -> None:
    """With the units that are not away at that minute idle, the library sends the same units; nobody is sent twice."""
    events = simulated_day(town, department, seed=4)
    assert len(events) > 20
    away: dict[str, float] = {}
    for event in events:
        idle = {unit for unit in department.unit_ids if away.get(unit, -1e9) <= event["minutes"]}
        decided = department.decide(Situation(at=event["area"], type=event["type"], idle=idle))
        sent = [unit["unit"] for unit in event["units"]]
        assert sorted(sent) == sorted(unit for unit in decided.units if unit != "outside")
        assert event["outside"] == decided.units.count("outside")
        assert set(sent) <= idle
        away |= {unit["unit"]: unit["back"] for unit in event["units"]}


def test_arrivals_and_misses_fit_together(town: City, department: Plan) -> None:
    """The first unit of a kind is there when the event says, and a standard is missed if its arrival is too late."""
    kinds = {unit.unit_id: unit.kind for unit in town.units}
    for event in simulated_day(town, department, seed=5):
        if event["outside"]:
            continue
        late = False
        for kind, first in event["first_minutes"].items():
            there = sorted(unit["there"] - event["minutes"] for unit in event["units"] if kinds[unit["unit"]] == kind)
            assert there[0] == pytest.approx(first, abs=0.02)
            for one in town.standards:
                if (one.type, one.kind) == (event["type"], kind):
                    late = late or there[one.arrivals - 1] > one.target_minutes
        assert event["late"] == late


def test_nobody_is_free_before_being_there(department: Plan, town: City) -> None:
    """A unit drives there, works and drives back, in the mean busy time of its kind: within four standard errors."""
    kinds = {unit.unit_id: unit.kind for unit in town.units}
    busy: dict[str, list[float]] = {}
    for event in (event for day in range(7) for event in simulated_day(town, department, day=day)):
        for unit in event["units"]:
            assert event["minutes"] <= unit["there"] <= unit["back"]
            busy.setdefault(kinds[unit["unit"]], []).append(unit["back"] - event["minutes"])
    for kind, expected in {"engine": 40.0, "ladder": 60.0}.items():
        assert len(busy[kind]) > 100
        assert abs(mean(busy[kind]) - expected) < 4.0 * stdev(busy[kind]) / len(busy[kind]) ** 0.5


def test_a_seed_is_a_day_and_the_policy_does_not_change_the_incidents(town: City, department: Plan) -> None:
    """The same seed gives the same day; another policy meets the same incidents."""
    one, again, other = (simulated_day(town, department, seed=seed) for seed in (1, 1, 2))
    assert one == again
    assert [event["minutes"] for event in one] != [event["minutes"] for event in other]
    closest = simulated_day(town, solve(town, "closest-first"), seed=1)
    assert [(event["minutes"], event["area"]) for event in one] == [
        (event["minutes"], event["area"]) for event in closest
    ]


def test_the_day_has_as_many_incidents_as_expected(town: City, department: Plan) -> None:
    """Over some days their number is within four standard errors of the rate."""
    days = [summary_of(simulated_day(town, department, day=day, seed=3))["incidents"] for day in range(7)]
    expected = 7 * town.incidents_per_day
    assert abs(sum(days) - expected) < 4.0 * expected**0.5


def test_a_week_is_decided_by_its_hours() -> None:
    """Nights have far fewer incidents than days, and the policy of the hour decides."""
    city = with_days(generate_grid(side=3, num_stations=3, load=0.3, seed=1), day=1.5, night=0.05)
    events = [
        event for event in simulated_day(city, solve(city).with_roster(), day=2, seed=1) if event["minutes"] >= 0.0
    ]
    night = [event for event in events if event["minutes"] < 7 * 60 or event["minutes"] >= 22 * 60]
    assert len(events) > 10
    assert len(night) < 0.2 * len(events)


def test_only_what_lasts_into_the_day_is_kept_from_before_it(town: City, department: Plan) -> None:
    """Incidents before midnight count only while their units are away, and not in the summary."""
    events = simulated_day(town, department, seed=4)
    kept = still_there(events)
    assert [one for one in kept if one["minutes"] >= 0.0] == [one for one in events if one["minutes"] >= 0.0]
    assert all(any(unit["back"] > 0.0 for unit in one["units"]) for one in kept if one["minutes"] < 0.0)
    one_is_back = {"minutes": -40.0, "units": [{"unit": "E01", "back": -5.0}, {"unit": "E02", "back": 12.0}]}
    assert still_there([one_is_back]) == [one_is_back]
    assert summary_of(kept)["incidents"] == sum(one["minutes"] >= 0.0 for one in events)


def decision(minute: int, team: list[str], **more: Any) -> dict[str, Any]:
    """A decision of the log for a medical call."""
    standards = [{"arrivals": 1, "target_minutes": 8.0, "weight": 1.0, "chance": 0.9}]
    kinds = [{"kind": "engine", "units": team, "standards": standards}]
    return {
        "decision_id": f"d{minute}", "time": START.replace(hour=minute // 60, minute=minute % 60).isoformat(),
        "node": "n1", "area": "n1", "type": "medical", "team": team, "outcomes": [],
        "kinds": kinds, **more,
    }  # fmt: skip


def after(minute: float) -> str:
    """A time of the day."""
    return (START + timedelta(minutes=minute)).isoformat()


def test_a_logged_day_says_what_was_done(town: City) -> None:
    """Outcomes replace what was advised, arrivals tell misses, and busy times are estimated, up to the next call."""
    kinds = {unit.unit_id: unit.kind for unit in town.units}
    outcome = {"units": ["E02"], "arrivals": {"E02": after(69)}, "kinds": {"E02": "engine"}}
    first = decision(60, ["E01"], outcomes=[{"units": ["E01"]}, outcome])
    second, third = decision(70, ["E02", "outside"]), decision(200, ["E03"])
    one, two, three = logged_day([third, first, second], town, kinds, START)
    assert [unit["unit"] for unit in one["units"]] == ["E02"]
    assert one["first_minutes"] == {"engine": 9.0}
    assert one["late"] is True
    assert one["units"][0]["back"] == 70.0  # it was sent again
    assert two["outside"] == 1
    assert two["late"] is None
    assert two["units"][0]["back"] == 70.0 + 40.0
    assert three["units"] == [{"unit": "E03", "there": None, "back": 240.0}]
    assert summary_of([one, two, three]) == {
        "incidents": 3, "arrivals_known": 1, "late": 1, "unknown": 2, "first_minutes": {"engine": 9.0}
    }  # fmt: skip


def test_a_logged_day_calls_late_what_the_drift_counts_as_missed(town: City) -> None:
    """The second engine was called back after its target: that is a miss, though the first was quick."""
    standards = [{"arrivals": n, "target_minutes": 8.0, "weight": 1.0, "chance": 0.9} for n in (1, 2)]
    fire = {"kinds": [{"kind": "engine", "units": ["E01", "E02"], "standards": standards}]}
    done = {"units": ["E01", "E02"], "arrivals": {"E01": after(62)}}
    cancelled = decision(60, ["E01", "E02"], outcomes=[done | {"cancelled": {"E02": after(100)}}], **fire)
    waiting = decision(60, ["E01", "E02"], outcomes=[done], **fire)
    whole = decision(60, ["E01", "E02"], outcomes=[done | {"arrivals": {"E01": after(62), "E02": after(67)}}], **fire)
    assert find_drift([cancelled]).rows[-1].met == 0
    late = [logged_day([one], town, {}, START)[0]["late"] for one in (cancelled, waiting, whole)]
    assert late == [True, None, False]


def test_a_logged_unit_is_busy_until_it_was_there_and_wrong_clocks_are_passed_over(town: City) -> None:
    """However long the drive was; a year of another clock neither moves the incident nor counts as an arrival."""
    far = decision(60, ["E01"], outcomes=[{"units": ["E01"], "arrivals": {"E01": after(60 + 90)}}])
    wrong = decision(70, ["E02"], outcomes=[{"units": ["E02"], "sent": "2020-01-01T00:00:00Z"}])
    future = decision(80, ["E03"], outcomes=[{"units": ["E03"], "arrivals": {"E03": "2030-01-01T00:00:00Z"}}])
    one, two, three = logged_day([far, wrong, future], town, {}, START)
    assert one["units"] == [{"unit": "E01", "there": 150.0, "back": 150.0}]
    assert (two["minutes"], two["late"]) == (70.0, None)
    assert (three["first_minutes"], three["units"][0]["there"]) == ({}, None)
