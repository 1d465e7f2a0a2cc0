"""Cities without a roster, with classes of incidents, and with periods; places that are no demand points."""

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from runcard.city import DemandPoint, Station, generate_grid
from runcard.plan.file import load, save
from runcard.plan.plan import solve
from runcard.plan.situation import Situation
from runcard.service.answers import Answerer


def test_a_city_without_a_roster(serve: Any, policy_folder: Path) -> None:
    """Trucks have the names of their stations, the chance is that of the target, and there are no types."""
    held = load(policy_folder / "plain.policy")
    client = serve("plain.policy")
    assert [unit["unit"] for unit in client.get("/v1/board").json()["units"]] == ["s0", "s1", "s2"]
    answer = client.post("/v1/decisions", json={"area": "n4", "busy": ["s0"]}).json()
    (one,) = held.decide(Situation(at="n4", idle=["s1", "s2"])).kinds
    assert (answer["team"], answer["type"]) == (list(one.units), "")
    (kind,) = answer["kinds"]
    (standard,) = kind["standards"]
    assert standard.pop("rule").endswith(" in 3 min")
    expected = {"arrivals": 1, "target_minutes": 3.0, "weight": 1.0, "chance": 1.0 - one.decision.p_late}
    assert standard == expected | {"mean_minutes": kind["first_minutes"], "p90_minutes": kind["first_p90_minutes"]}
    by_place = client.post("/v1/decisions", json={"x": 1.1, "y": 0.9, "busy": ["s0"]}).json()
    assert (by_place["team"], by_place["node"]) == (answer["team"], "n4")
    assert client.post("/v1/decisions", json={"area": "n4", "type": "fire"}).status_code == 422
    elsewhere = client.post("/v1/decisions", json={"area": "n8", "moved": {"s1": {"node": "n8"}}}).json()
    (moved,) = held.decide(Situation(at="n8", idle=["s0", "s1", "s2"], moved={"s1": "n8"})).kinds
    assert elsewhere["team"] == [name.partition("@")[0] for name in moved.units]
    assert (elsewhere["p_late"], elsewhere["price"]) == (moved.decision.p_late, moved.decision.price)


def test_several_trucks_of_a_station_and_classes_of_incidents(serve: Any, tmp_path: Path) -> None:
    """Two trucks of a station have two names; of several classes one must be named, by its number."""
    plain = generate_grid(side=3, num_stations=3, load=0.1, seed=1)
    first, *others = plain.stations
    city = replace(
        plain,
        stations=(Station(first.station_id, first.node_id, 2), *others),
        demand=(*plain.demand, DemandPoint("n4", 1.0, trucks=1, target_minutes=7.5)),
    )
    client = serve(str(save(solve(city), tmp_path / "two.policy")))
    units = {one["unit"] for one in client.get("/v1/board").json()["units"]}
    assert units == {"s0-1", "s0-2", "s1", "s2"}
    missing = client.post("/v1/decisions", json={"area": "n4"})
    assert "class: expected a number, area n4 has 2 classes" in missing.json()["detail"]
    answer = client.post("/v1/decisions", json={"area": "n4", "class": 2, "busy": ["s0-1"]}).json()
    assert len(answer["team"]) == 1
    assert answer["kinds"][0]["standards"][0]["target_minutes"] == 7.5
    wrong = client.post("/v1/decisions", json={"area": "n4", "class": 3})
    assert "class: expected 1 to 2 in area n4, got 3" in wrong.json()["detail"]
    both = client.post("/v1/decisions", json={"area": "n4", "class": 1, "idle": ["s0-1", "s0-2"]}).json()
    assert sorted(both["team"]) == ["s0-1", "s0-2"]


def test_the_period_is_named_or_told_by_the_clock(serve: Any, policy_folder: Path) -> None:
    """A week answers by the policy of the period: the one named, that of a time in the city's zone, or that of now."""
    held = load(policy_folder / "week.policy")
    client = serve("week.policy", time_zone="America/Los_Angeles")

    def ask(**more: str) -> Any:
        return client.post("/v1/decisions", json={"area": "n4", **more}).json()

    for name in ("day", "night"):
        answer = ask(period=name)
        (one,) = held.in_period(name).decide(Situation(at="n4", idle=["s0", "s1", "s2"])).kinds
        assert (answer["policy"]["period"], answer["price"]) == (name, one.decision.price)
    assert ask(time="2026-11-16T14:00")["policy"]["period"] == "day"
    assert ask(time="2026-11-16T14:00Z")["policy"]["period"] == "night"  # 6 in the morning there
    answerer: Answerer = client.app.state.parts.answerer
    here = held.period_of(answerer.now().weekday() * 24 + answerer.now().hour).name
    assert ask()["policy"]["period"] == here
    wrong = client.post("/v1/decisions", json={"area": "n4", "period": "noon"})
    assert (wrong.status_code, "expected a period (day, night), got 'noon'" in wrong.text) == (422, True)
    early = client.post("/v1/decisions", json={"area": "n4", "time": "0001-01-01T00:00:00Z"})
    assert early.status_code == 422
    assert datetime.fromisoformat(answerer.now().isoformat()).tzinfo is not None
