"""What is sent, and how long it is busy, by hand."""

from pathlib import Path

import numpy as np
import pytest

from runcard.calibrate.log import Log, read_log
from runcard.calibrate.mapping import LogMapping
from runcard.calibrate.sent import fit_busy, fit_sent


@pytest.fixture
def log(tmp_path: Path) -> Log:
    """Twelve fires with two engines each, one with five, one with a ladder only, and an alarm whose row is bad."""
    rows, number = [], 0

    def add(incident: int, of: str, kind: str, minutes: int | None) -> None:
        nonlocal number
        number += 1
        free = "" if minutes is None else f"2024-05-{1 + incident:02}T1{minutes // 60}:{minutes % 60:02}"
        rows.append(f"{incident},U{number},{kind},{of},2024-05-{1 + incident:02}T10:00,{free},1,1")

    for incident in range(12):
        add(incident, "fire", "engine", 20)
        add(incident, "fire", "engine", 40 + incident)
    for _ in range(5):
        add(12, "fire", "engine", None)
    add(13, "fire", "ladder", 10)
    rows.append("14,,engine,alarm,2024-05-15T10:00,,1,1")
    path = tmp_path / "calls.csv"
    path.write_text("i,u,k,t,d,f,x,y\n" + "\n".join(rows) + "\n")
    columns = {"incident": "i", "unit": "u", "kind": "k", "type": "t", "dispatched": "d", "available": "f"}
    return read_log(path, LogMapping("m", columns | {"x": "x", "y": "y"}))


def test_what_is_sent(log: Log) -> None:
    """The most common number counts, its part has Wilson's interval, and the rest is in the shares."""
    found = fit_sent(log, log.incidents["type"], len(log.types))
    engine, ladder = found
    assert (engine.type, engine.kind, engine.number, engine.num_incidents) == ("fire", "engine", 2, 14)
    assert engine.shares == pytest.approx((1 / 14, 0.0, 12 / 14, 0.0, 1 / 14))
    assert (engine.share, engine.mean) == pytest.approx((12 / 14, 29 / 14))
    assert engine.share_low < engine.share < engine.share_high
    assert (ladder.kind, ladder.number, ladder.share) == ("ladder", 0, pytest.approx(13 / 14))


def test_incidents_that_do_not_count(log: Log) -> None:
    """Incidents of type -1 are left out."""
    types = np.where(np.arange(len(log.incidents)) < 12, log.incidents["type"], -1)
    assert fit_sent(log, types, len(log.types))[0].num_incidents == 12


def test_times_of_incidents_that_do_not_count(log: Log) -> None:
    """They are in no mean, neither that of a type nor that of all."""
    types = np.where(np.arange(len(log.incidents)) < 11, log.incidents["type"], -1)
    assert [one.num_times for one in fit_busy(log, types, len(log.types))] == [22, 22]


def test_busy_minutes(log: Log) -> None:
    """From dispatch until free, over those that say it: by kind, and by kind and type; few times are no number."""
    found = fit_busy(log, log.incidents["type"], len(log.types))
    assert [(one.type, one.kind, one.num_times) for one in found] == [("", "engine", 24), ("fire", "engine", 24)]
    times = np.array([20.0] * 12 + [40.0 + k for k in range(12)])
    # Two engines of one incident may go together: their sum says how far the mean is off.
    off = (times - times.mean()).reshape(2, 12).sum(axis=0)
    half = 1.959964 * np.sqrt((off**2).sum() * 12 / 11) / 24
    assert (found[0].mean_minutes, found[0].high) == pytest.approx((times.mean(), times.mean() + half))
