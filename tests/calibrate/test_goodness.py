"""How well a fit describes its log: nothing to say for the true city, and the right sentence for a wrong one."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.calibrate.cities import made_up, road_city, true_city

from runcard.calibrate.fit import Fit, fit_city
from runcard.calibrate.goodness import Goodness, judge_fit, team_draws
from runcard.calibrate.log import Log


@pytest.fixture(scope="module")
def fit(fit_of_known_city: Fit) -> Fit:
    """The fit of the known city to 4000 incidents."""
    return fit_of_known_city


@pytest.fixture(scope="module")
def goodness(fit: Fit) -> Goodness:
    """How good it is."""
    return judge_fit(fit)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Log:
    """A log of 1200 incidents."""
    return made_up(tmp_path_factory.mktemp("small"), true_city(road_city()), incidents=1200)[0]


def with_drives(log: Log, change: np.ndarray) -> Log:
    """The log with every drive a number of times as long."""
    responses = log.responses.copy()
    longer = (change - 1.0) * (responses["on_scene"] - responses["en_route"])
    for name in ("on_scene", "available"):
        responses[name] += longer
    return replace(log, responses=responses)


def test_the_true_city_has_no_faults(goodness: Goodness) -> None:
    """For a log of the model itself nothing is bad, and every prediction is near what happened."""
    assert goodness.faults == ()
    for one in goodness.responses:
        assert one.distance < 1.63 / np.sqrt(one.num) + 0.01  # the 1 % point of Kolmogorov's test, and rounding
        assert one.predicted_mean == pytest.approx(one.observed_mean, rel=0.02)
        assert one.predicted[24] == pytest.approx(one.observed[24], rel=0.04)
    assert goodness.counts.dispersion == pytest.approx(1.0, abs=0.15)
    assert goodness.counts.observed.sum() == pytest.approx(goodness.counts.predicted.sum(), rel=0.02)
    for one in goodness.busy:
        assert one.predicted == pytest.approx(one.observed, rel=0.15, abs=0.01)
    for one in goodness.late:
        assert one.low - 0.01 <= one.predicted <= one.high + 0.01


@pytest.mark.slow
def test_a_fit_is_judged_on_the_clock_of_its_log(coarse_fit: Fit) -> None:
    """Predictions for a log in whole minutes are what such a clock would show of them, and nothing is bad."""
    goodness = judge_fit(coarse_fit)
    assert goodness.faults == ()
    for one in goodness.responses:
        assert one.distance < 1.63 / np.sqrt(one.num) + 0.01
        assert one.predicted[24] == one.observed[24] == round(one.observed[24])
    for of in goodness.late:
        assert of.low - 0.01 <= of.predicted <= of.high + 0.01


def test_areas_have_the_means_of_their_responses(fit: Fit, goodness: Goodness) -> None:
    """The mean response of an area is that of the rows to its incidents, and the prediction is near it."""
    rows, data = fit.log.responses, fit.driving_data
    assert len(goodness.areas) == 25
    one = max(goodness.areas, key=lambda area: area.num)
    node = next(n for n, other in enumerate(fit.before.nodes) if other.node_id == one.node_id)
    own = data.drives.response[data.used & (data.drives.end == node)]
    minutes = (rows["on_scene"] - rows["dispatched"])[own] / 60.0
    assert one.num <= len(minutes)  # of many responses some are looked at
    assert one.observed == pytest.approx(minutes.mean(), abs=4.0 * minutes.std() / np.sqrt(one.num))
    assert one.predicted == pytest.approx(one.observed, rel=0.15)


def test_busy_fractions_add_up(fit: Fit, goodness: Goodness) -> None:
    """The observed busy time of all units is that of the log, computed from its rows."""
    rows = fit.log.responses
    spent = np.nansum(rows["available"] - rows["dispatched"]) / 60.0
    assert sum(one.observed for one in goodness.busy) == pytest.approx(spent / (1440.0 * fit.num_days))


def test_observed_late_fractions_are_counted_by_hand(fit: Fit, goodness: Goodness) -> None:
    """The part of fires whose second engine came after nine minutes is the one that plain counting gives."""
    rows, fires = fit.log.responses, {}
    for row in rows[(rows["kind"] == fit.log.kinds.index("engine"))].tolist():
        of = dict(zip(rows.dtype.names, row, strict=True))
        if fit.log.types[fit.log.incidents["type"][of["incident"]]] == "fire":
            fires.setdefault(of["incident"], []).append((of["on_scene"] - of["dispatched"]) / 60.0)
    late = [sorted(times)[1] > 9.0 for times in fires.values() if len(times) > 1]
    found = next(one for one in goodness.late if one.standard.arrivals == 2)
    assert (found.num, found.observed) == (len(late), pytest.approx(np.mean(late)))


@pytest.mark.slow
def test_busy_times_that_are_doubled_are_noticed(log: Log) -> None:
    """If somebody doubles the busy times, the page says that units are busy half as much."""
    names = [f"busy_minutes.{of}" for of in ("engine", "ladder", "fire.engine", "fire.ladder", "medical.engine")]
    fit = fit_city(road_city(), log)
    faults = judge_fit(fit_city(road_city(), log, overrule={name: 2 * fit.number(name).value for name in names})).faults
    assert len(faults) == 2
    assert faults[0].startswith("The engines are busy ")
    assert faults[1].startswith("The ladders are busy ")


@pytest.mark.slow
def test_bursts_are_noticed(log: Log) -> None:
    """Incidents that all come in the first hour of a day and night are said to come in bursts."""
    incidents = log.incidents.copy()
    incidents["time"] -= incidents["time"] % 43200.0 - incidents["time"] % 3600.0
    goodness = judge_fit(fit_city(road_city(), replace(log, incidents=incidents), periods="none"))
    assert any(one.startswith("Incidents come in bursts: their hourly counts vary ") for one in goodness.faults)
    assert goodness.counts.dispersion > 5.0


@pytest.mark.slow
def test_another_law_of_driving_is_noticed(log: Log) -> None:
    """Drives that are either very short or very long have another spread than any gamma law."""
    rng = np.random.default_rng(1)
    change = np.where(rng.random(len(log.responses)) < 0.5, 0.15, 2.6)
    faults = judge_fit(fit_city(road_city(), with_drives(log, change))).faults
    assert any("have another spread than predicted" in one or "min are predicted on average" in one for one in faults)


@pytest.mark.slow
def test_overruled_roads_are_noticed(log: Log) -> None:
    """If somebody makes the roads twice as slow, the means are off, late fractions too, and the page says both."""
    fit = fit_city(road_city(), log)
    own = {f"driving.factor.{name}": 2 * fit.number(f"driving.factor.{name}").value for name in ("main", "side")}
    faults = judge_fit(fit_city(road_city(), log, overrule=own)).faults
    assert sum("min are predicted on average" in one for one in faults) == 2
    assert any("of incidents missed it, and" in one for one in faults)


@pytest.mark.slow
def test_routes_that_explain_nothing_are_noticed(log: Log) -> None:
    """Where most drives have the length of another one, routes explain next to nothing, and the page says so."""
    rng, minutes = np.random.default_rng(2), log.responses["on_scene"] - log.responses["en_route"]
    mixed = np.where(rng.random(len(minutes)) < 0.75, rng.permutation(minutes), minutes)
    fit = fit_city(road_city(), with_drives(log, mixed / np.maximum(minutes, 1.0)))
    assert fit.driving.explained < 0.25
    assert judge_fit(fit).faults[0].startswith("Routes explain only ")


def test_teams_share_what_the_city_says(fit: Fit) -> None:
    """Two engines of one station leave together and share q of the variance of the whole road, one of another less."""
    data, rows = fit.driving_data, fit.log.responses
    of, start = rows["incident"][data.drives.response], data.drives.start
    kind = rows["kind"][data.drives.response] == fit.log.kinds.index("engine")
    same = next(
        (a, b)
        for a, b in zip(np.flatnonzero(kind)[:-1], np.flatnonzero(kind)[1:], strict=True)
        if of[a] == of[b] and start[a] == start[b] and data.mean[a] > 4.0
    )
    drawn = team_draws(fit, np.array(same), np.random.default_rng(1), 40_000)
    law, scale, q = fit.city.turnout_by_kind["engine"], fit.city.driving.scale_minutes, fit.city.shared_delay
    road, leave = scale * data.mean[same[0]], (law.cv * law.mean_minutes) ** 2
    assert np.cov(drawn) == pytest.approx(
        np.array([[road + leave, q * road + leave], [q * road + leave, road + leave]]), rel=0.06
    )
    assert drawn.mean(axis=1) == pytest.approx(data.mean[list(same)] + law.mean_minutes, rel=0.02)


def test_a_log_without_a_roster_is_judged_too(tmp_path: Path) -> None:
    """For London's format everything but the busy units is there."""
    from tests.calibrate.cities import plain_city, true_plain_city

    city = plain_city()
    log, _ = made_up(tmp_path, true_plain_city(city), mapping="london", incidents=900)
    found = judge_fit(fit_city(city, log))
    assert (found.busy, found.faults) == ((), ())
    assert {one.standard.type for one in found.late} == {"fire", "alarm"}
