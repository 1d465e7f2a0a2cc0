"""The log replayed."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from tests.calibrate.cities import made_up, plain_city, road_city, true_city, true_plain_city

from runcard.calibrate.backtest import (
    AS_IT_WAS,
    WARM_UP_SECONDS,
    Backtest,
    Dispatch,
    backtest,
    split_log,
)
from runcard.calibrate.clock import local_seconds
from runcard.calibrate.fit import Fit, fit_city
from runcard.calibrate.log import Log
from runcard.city import City
from runcard.errors import InputError
from runcard.plan.plan import solve


def quiet(city: City) -> City:
    """The city with a third of its incidents: then closest-first hardly ever finds too few units."""
    return replace(
        city, demand=tuple(replace(one, incidents_per_day=one.incidents_per_day / 3.0) for one in city.demand)
    )


def dispatches(fit: Fit, *names: str) -> Mapping[str, Dispatch]:
    """Policies by name."""
    solved = {name: solve(fit.city.of_week, name) for name in names}
    return {name: (lambda time, own=own: own) for name, own in solved.items()}


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> tuple[Log, Log]:
    """The two parts of a made-up log."""
    log, _ = made_up(tmp_path_factory.mktemp("log"), quiet(true_city(road_city())), incidents=1600)
    return split_log(log, 0.6)


@pytest.fixture(scope="module")
def fit(parts: tuple[Log, Log]) -> Fit:
    """The fit to the first part."""
    return fit_city(quiet(road_city()), parts[0])


@pytest.fixture(scope="module")
def replay(fit: Fit, parts: tuple[Log, Log]) -> Backtest:
    """Two policies on the second part."""
    return backtest(fit, parts[1], dispatches(fit, "closest-first", "one-step-mean-field"))


def test_a_log_is_split_by_time(parts: tuple[Log, Log]) -> None:
    """The parts are all of the log, one before the other, and responses stay with their incidents."""
    first, rest = parts
    assert (len(first.incidents), len(rest.incidents)) == (960, 640)
    assert first.incidents["time"].max() < rest.incidents["time"].min()
    assert not set(first.incident_ids) & set(rest.incident_ids)
    for log in parts:
        apart = log.responses["dispatched"] - log.incidents["time"][log.responses["incident"]]
        assert (apart >= 0.0).all()
        assert apart.max() < 3600.0
    for part in (0.0, 1.0, -1.0, float("nan")):
        with pytest.raises(InputError, match="expected a part between 0 and 1 of the log to fit on"):
            split_log(first, part)


def test_what_is_judged_begins_after_some_time(replay: Backtest, parts: tuple[Log, Log]) -> None:
    """At first every unit is free because nobody knows better: incidents of that time are replayed and do not count."""
    seconds = local_seconds(parts[1].incidents["time"], parts[1].time_zone)
    begin = datetime(1970, 1, 1) + timedelta(seconds=float(seconds.min()))
    assert replay.first - begin >= timedelta(seconds=WARM_UP_SECONDS)
    assert 0 < replay.num_incidents <= (seconds >= seconds.min() + WARM_UP_SECONDS).sum() < len(seconds)


def test_what_was_done_is_closest_first_if_that_made_the_log(replay: Backtest) -> None:
    """Nearly always the same units went, and as much is missed as by closest-first, within a small interval."""
    assert [one.name for one in replay.policies] == ["closest-first", "one-step-mean-field", AS_IT_WAS]
    was = replay.policies[2]
    assert was.same_as_first > 0.95
    assert replay.policies[0].same_as_first == 1.0
    assert (was.missed == replay.policies[0].missed).mean() >= was.same_as_first
    fewer, low, high = replay.fewer(2)
    assert abs(fewer) < 0.005
    assert low <= 0.002
    assert high >= -0.002


def test_policies_meet_the_same_incidents(fit: Fit, parts: tuple[Log, Log], replay: Backtest) -> None:
    """A policy under two names misses exactly the same, and what was sent is judged alike beside any policies."""
    same = dispatches(fit, "closest-first")["closest-first"]
    again = backtest(fit, parts[1], {"one": same, "two": same})
    assert (again.policies[0].missed == again.policies[1].missed).all()
    assert again.fewer(1) == (0.0, 0.0, 0.0)
    assert len(again.policies[0].missed) == again.num_incidents == replay.num_incidents
    assert (again.policies[2].missed == replay.policies[2].missed).all()


def test_replayed_misses_agree_with_what_happened(replay: Backtest, parts: tuple[Log, Log]) -> None:
    """What the model gives for what was really sent is what happened, within both intervals."""
    rest = parts[1]
    engine = rest.responses["kind"] == rest.kinds.index("engine")
    of = rest.responses["incident"]
    medical = rest.incidents["type"][of] == rest.types.index("medical")
    minutes = (rest.responses["on_scene"] - rest.responses["dispatched"])[engine & medical] / 60.0
    late = (minutes > 6.0).mean()
    standard, value, low, high = next(one for one in replay.policies[2].standards if one[0].type == "medical")
    assert standard.target_minutes == 6.0
    assert low <= value <= high
    assert value == pytest.approx(late, abs=4.0 * np.sqrt(late * (1 - late) / len(minutes)))


def test_the_weighted_sum_of_standards_is_what_is_missed(replay: Backtest) -> None:
    """Standards weighted by how many incidents they are about add up to the missed ones of a policy."""
    for one in replay.policies:
        assert one.missed.min() >= 0.0
        assert one.missed.max() <= 2.5
    document = json.loads(json.dumps(replay.document(), allow_nan=False))
    assert [one["name"] for one in document["policies"]] == ["closest-first", "one-step-mean-field", AS_IT_WAS]
    assert document["policies"][0]["fewer_than_first"] == {"value": 0.0, "low": 0.0, "high": 0.0}
    assert document["incidents"] == replay.num_incidents


def test_replays_that_cannot_be(fit: Fit, parts: tuple[Log, Log], tmp_path: Path) -> None:
    """A city without a roster, and too short a rest, are errors in words."""
    with pytest.raises(InputError, match="expected at least 30 incidents to judge policies on, got "):
        backtest(fit, split_log(parts[1], 0.97)[1], {})
    city = plain_city()
    log, _ = made_up(tmp_path, true_plain_city(city), mapping="london", incidents=300)
    first, rest = split_log(log, 0.5)
    with pytest.raises(InputError, match="expected a city with a roster: a replay has to know which unit is where"):
        backtest(fit_city(city, first), rest, {})


def test_progress_goes_to_one(fit: Fit, parts: tuple[Log, Log]) -> None:
    """Progress rises over all policies and stays in its range."""
    heard: list[float] = []
    two = dispatches(fit, "closest-first")["closest-first"]
    backtest(fit, parts[1], {"a": two, "b": two}, progress=heard.append)
    assert heard == sorted(heard)
    assert 0.0 <= heard[0] < 0.5 < heard[-1] < 1.0
