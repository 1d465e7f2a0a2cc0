"""Made-up logs in every shipped format, and their dirt."""

from dataclasses import replace
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from tests.calibrate.cities import made_up, plain_city, road_city, true_city, true_plain_city, write_log

from runcard.calibrate.generator import generate_log
from runcard.calibrate.log import read_log
from runcard.calibrate.mapping import LogMapping, read_mapping
from runcard.city import City
from runcard.errors import InputError

NOBODY = "incidents file: the log has no such incident"
"""All trucks were busy."""
FORMATS = ("san-francisco", "london", "neris", "runcard")


def city_of(name: str) -> City:
    """A known city that can be written in a format."""
    return true_plain_city(plain_city()) if name == "london" else true_city(road_city())


@pytest.mark.parametrize("name", FORMATS)
def test_a_clean_log_is_read_as_it_was_made(name: str, tmp_path: Path) -> None:
    """Nothing is rejected, and who was sent, when and from where are the same to the second."""
    log, made = made_up(tmp_path, city_of(name), mapping=name, incidents=300)
    assert set(log.rejected.counts) <= {NOBODY}
    assert len(log.responses) == len(made.sent)
    rows = np.sort(log.responses, order="line")
    for key in ("dispatched", "en_route", "on_scene", "available"):
        apart = np.array([int(getattr(one, key)) for one in made.sent]) - rows[key]
        assert np.ptp(apart) == 0.0  # the difference of the time zones
    assert [log.incident_ids[number] for number in rows["incident"]] == [f"{one.incident + 1:07}" for one in made.sent]
    assert len(log.incident_ids) == len({one.incident for one in made.sent})
    if name != "london":
        assert [log.units[unit] for unit in rows["unit"]] == [one.unit for one in made.sent]
        assert [log.kinds[kind] for kind in rows["kind"]] == [one.kind for one in made.sent]


@pytest.mark.parametrize("name", FORMATS)
def test_every_dirty_row_is_rejected_for_its_reason_and_nothing_else(name: str, tmp_path: Path) -> None:
    """The counts are those of the generator, all reasons occur, and without the rejected lines nothing is rejected."""
    log, made = made_up(tmp_path, city_of(name), mapping=name, incidents=400, dirt=0.3)
    assert {reason: number for reason, number in log.rejected.counts.items() if reason != NOBODY} == made.dirt
    assert len(made.dirt) == {"london": 5, "runcard": 7}.get(name, 9)
    assert sum(made.dirt.values()) > 0.1 * len(made.sent)
    path = tmp_path / "calls.csv"
    lines = path.read_text().splitlines(keepends=True)
    bad = {one[0] for one in log.rejected.rows if one[1] != NOBODY}
    path.write_text("".join(line for number, line in enumerate(lines, start=1) if number not in bad))
    second = tmp_path / "incidents.csv"
    again = read_log(path, read_mapping(name), incidents=second if name == "london" else None)
    assert set(again.rejected.counts) <= {NOBODY}
    for key in ("dispatched", "on_scene", "available"):
        assert np.array_equal(again.responses[key], log.responses[key], equal_nan=True)
    assert len(bad) == sum(made.dirt.values())


@pytest.mark.parametrize("start", [datetime(2024, 3, 9), datetime(2024, 11, 2)])
def test_a_log_over_a_clock_change_keeps_its_durations(start: datetime, tmp_path: Path) -> None:
    """When clocks change, no row is lost; busy times stay as they were, but for a few that the doubled hour hides."""
    log, made = made_up(tmp_path, city_of("san-francisco"), incidents=120, start=start)
    assert len(log.rejected) == 0
    busy = np.array([int(one.available) - int(one.dispatched) for one in made.sent])
    rows = np.sort(log.responses, order="line")
    found = rows["available"] - rows["dispatched"]
    assert (busy != found).sum() <= 1
    assert (log.read_twice > 0) == (start.month == 11)


def test_a_mapping_of_ones_own(tmp_path: Path) -> None:
    """Encoding, separator, fractions and node columns of a mapping are those of the log."""
    columns = {"incident": "Einsatz", "unit": "Fahrzeug", "kind": "Art", "dispatched": "Alarm", "node": "Ort"}
    mapping = LogMapping(
        "own",
        columns,
        encoding="utf-16",
        separator=";",
        time_format="%d.%m.%Y %H:%M:%S",
        kinds={"engine": ("Löschzug",), "ladder": ("Leiter*",)},
    )
    made = generate_log(true_city(road_city()), mapping, incidents=20)
    path, _ = write_log(made, mapping, tmp_path)
    assert "Löschzug" in path.read_text(encoding="utf-16")
    log = read_log(path, mapping)
    assert (len(log.rejected), len(log.responses), set(log.kinds)) == (0, len(made.sent), {"engine", "ladder"})
    assert {log.places[node] for node in log.incidents["node"]} <= {node.node_id for node in road_city().nodes}


def test_the_same_seed_gives_the_same_log() -> None:
    """A log is a function of its seed."""
    city, mapping = city_of("neris"), read_mapping("neris")
    texts = [generate_log(city, mapping, incidents=30, seed=seed, dirt=0.2).text for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]


def test_what_cannot_be_written_is_an_error() -> None:
    """Dirt that is no part, words that the mapping lacks, and positions in another form are refused."""
    city, mapping = city_of("neris"), read_mapping("san-francisco")
    with pytest.raises(InputError, match="expected dirt from 0 to less than 1, got 1"):
        generate_log(city, mapping, incidents=3, dirt=1.0)
    with pytest.raises(InputError, match=r"san-francisco: \[kinds\] has no words for engine; expected one of boat"):
        generate_log(city, replace(mapping, kinds={"boat": ("B",)}), incidents=3)
    with pytest.raises(InputError, match=r"a made-up log has positions as \(y, x\), which this pattern does not read"):
        generate_log(city, replace(mapping, position_pattern="POINT (?P<x>.*) (?P<y>.*)"), incidents=3)
