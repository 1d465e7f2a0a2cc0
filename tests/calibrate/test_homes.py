"""Where units live, and whether they were there."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import expon, gamma
from tests.calibrate.cities import made_up, road_city, true_city

from runcard.calibrate.fit import fit_city
from runcard.calibrate.homes import (
    find_drives,
    find_homes,
    is_away,
    origins,
    placed_again,
    roster_of,
    station_nodes,
    too_fast,
    with_roster_kinds,
)
from runcard.calibrate.log import Log, read_log
from runcard.calibrate.mapping import LogMapping
from runcard.calibrate.placing import place_incidents
from runcard.calibrate.trips import minutes_between
from runcard.city import City, Station
from runcard.city.aprons import with_aprons, without_aprons


def without_roster(city: City) -> City:
    """The city before anybody said which units it has."""
    stations = tuple(replace(one, trucks=1) for one in city.stations)
    return replace(city, units=(), standards=(), busy_minutes=30.0, target_minutes=7.0, stations=stations)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Log:
    """A made-up log of the known city."""
    return made_up(tmp_path_factory.mktemp("log"), true_city(road_city()), incidents=600)[0]


def test_a_roster_says_where_units_live(log: Log) -> None:
    """With a roster the homes are its stations, whatever the log says."""
    city = road_city()
    homes = find_homes(city, log, place_incidents(city, log))
    assert roster_of(homes) == city.units
    assert {home.known_by for home in homes} == {"roster"}


def test_a_pattern_reads_homes_from_names(log: Log) -> None:
    """A name that matches and gives a station of the city is enough; the others are placed by their drives."""
    city = without_roster(road_city())
    placed = place_incidents(city, log)
    homes = {home.unit: home for home in find_homes(city, log, placed, "E0(?P<station>[0-9])")}
    assert {home.known_by for home in homes.values()} == {"drives"}  # station 1 is called s1
    stations = tuple(replace(one, station_id=one.station_id[1:]) for one in city.stations)
    homes = {
        home.unit: home for home in find_homes(replace(city, stations=stations), log, placed, "E0(?P<station>[0-9])")
    }
    assert [(homes[f"E0{n}"].station, homes[f"E0{n}"].known_by) for n in range(1, 5)] == [
        (str(n), "name") for n in range(1, 5)
    ]
    assert homes["E05"].known_by == "drives"
    assert homes["T01"].known_by == "drives"


def test_homes_are_found_again_by_drives(log: Log) -> None:
    """Without a roster every unit of a made-up log is put at the station at which it really lives."""
    city = road_city()
    homes = find_homes(without_roster(city), log, place_incidents(city, log))
    truth = {unit.unit_id: (unit.station_id, unit.kind) for unit in city.units}
    assert {home.unit: (home.station, home.kind) for home in homes} == truth


def test_five_drives_are_enough_to_find_a_home(tmp_path: Path) -> None:
    """A unit with five drives is placed, one with four is left out."""
    rows = [f"{n} E04 - 1{n}:00 1{n}:01 1{n}:{2 + n:02} 1{n}:30 n0{n % 4 + 1}" for n in range(5)]
    rows += [f"{9 - n} E09 - 1{n}:00 1{n}:01 1{n}:05 1{n}:30 n22" for n in range(4)]
    city = without_roster(road_city())
    homes = find_homes(city, log := log_of(tmp_path, *rows, every_kind="engine"), place_incidents(city, log))
    assert [home.unit for home in homes] == ["E04"]


def test_units_are_placed_again_when_driving_is_fitted(tmp_path: Path) -> None:
    """Where every drive has a long start the first guess is wrong for some units; the fitted law puts them right.

    Margins are log likelihoods: those of an independent sum with scipy's densities.
    """
    city = road_city()
    log, _ = made_up(tmp_path, with_aprons(without_aprons(true_city(city)), 3.5), incidents=500, seed=2)
    plain, truth = without_roster(city), {unit.unit_id: unit.station_id for unit in city.units}
    guessed = find_homes(plain, log, placed := place_incidents(plain, log))
    assert any(home.station != truth[home.unit] for home in guessed)
    fit = fit_city(plain, log)
    assert {home.unit: home.station for home in fit.homes} == truth
    assert not any("doubtful" in note for note in fit.notes)
    rows, roads = log.responses, without_aprons(fit.city)
    minutes, scale = (rows["on_scene"] - rows["en_route"]) / 60.0, fit.driving.scale_minutes
    nodes = [int(node) for node in station_nodes(roads)]
    for home in fit.homes[:2]:
        own = np.flatnonzero((rows["unit"] == log.units.index(home.unit)) & (minutes > 0.0))
        mean = fit.driving.start_minutes + minutes_between(roads, nodes, placed.node[rows["incident"][own]])
        density = 0.9 * gamma.pdf(minutes[own], mean / scale, scale=scale)
        usual = minutes[minutes > 0.0].mean()
        likelihood = np.log(density + 0.1 * expon.pdf(minutes[own], scale=usual)).sum(axis=1)
        best, second = np.sort(likelihood)[:-3:-1]
        assert city.stations[int(likelihood.argmax())].station_id == home.station
        assert home.margin == pytest.approx(best - second)
        assert home.margin > 30.0


def test_a_home_that_is_no_better_than_another_is_doubtful(tmp_path: Path) -> None:
    """With a second station at the same corner nobody can tell which of the two it is: margin 0, and it is said."""
    city = road_city()
    log, _ = made_up(tmp_path, true_city(city), incidents=300)
    plain = without_roster(city)
    plain = replace(plain, stations=(*plain.stations, Station("s5", city.stations[1].node_id, trucks=1)))
    fit = fit_city(plain, log)
    at = {home.unit: home for home in fit.homes}
    unsure = [unit.unit_id for unit in city.units if unit.station_id == "s2"]
    assert [at[unit].margin for unit in unsure] == [0.0] * 3
    assert [note for note in fit.notes if "doubtful" in note] == [
        f"the home of {', '.join(sorted(unsure))} is doubtful: from another station their drives are nearly as likely, "
        "or more (odds below 50 to 1); a roster says where they stand, or log.home_pattern in the mapping"
    ]


def test_a_first_guess_stays_where_the_drives_do_not_say_more(tmp_path: Path) -> None:
    """A unit moves only if its drives are surely likelier from elsewhere, and not at all if it may not."""
    city = road_city()
    log, _ = made_up(tmp_path, true_city(city), incidents=300)
    plain = without_roster(city)
    placed, fit = place_incidents(plain, log), fit_city(plain, log)
    wrong = [replace(home, station="s1") for home in fit.homes]
    roads = without_aprons(fit.city)
    right = placed_again(wrong, roads, log, placed, fit.driving)
    assert [home.station for home in right] == [home.station for home in fit.homes]
    stayed = placed_again(wrong, roads, log, placed, fit.driving, move=False)
    assert {home.station for home in stayed} == {"s1"}
    assert min(home.margin for home in stayed) < -4.0
    by_name = [replace(home, known_by="name") for home in wrong]
    assert placed_again(by_name, roads, log, placed, fit.driving) == by_name


def log_of(tmp_path: Path, *rows: str, **columns: str) -> Log:
    """A log of rows: incident, unit, station, dispatch, on the road, on scene, free, and node."""
    names = ("incident", "unit", "station", "dispatched", "en_route", "on_scene", "available", "node")
    lines = [",".join(names)]
    for one in rows:
        incident, unit, station, *times, node = one.split()
        clock = [f"2024-05-01T{time}" if time != "-" else "" for time in times]
        lines.append(",".join([incident, unit, station.replace("-", ""), *clock, node]))
    path = tmp_path / "calls.csv"
    path.write_text("\n".join(lines) + "\n")
    return read_log(path, LogMapping("m", {name: name for name in names}, **columns))


def test_units_that_cannot_be_home_yet_are_away(tmp_path: Path) -> None:
    """A unit sent sooner after it was free than the way home takes was away; later, or another unit, was not."""
    city = road_city()  # E04 lives at s1, which is n00; from n44 the way home takes about 9 minutes
    log = log_of(
        tmp_path,
        "1 E04 - 10:00 10:01 10:09 10:20 n44",
        "2 E04 - 10:25 10:26 10:30 10:40 n44",  # away
        "3 E04 - 10:50 10:51 10:59 11:00 n44",  # home again
        "4 E01 - 11:01 11:02 11:03 - n44",
        "5 E01 - 11:30 11:31 11:33 11:40 n00",  # nobody knows when it was free
        "6 XX - 11:30 11:31 11:33 11:40 n00",
        every_kind="engine",
    )
    homes = find_homes(city, log, placed := place_incidents(city, log))
    station = origins(city, log, homes)
    assert station.tolist() == [0, 0, 0, 1, 1, -1]
    drives = find_drives(city, log, placed, station)
    assert drives.away.tolist() == [False, True, False, False, False]
    assert drives.minutes.tolist() == [8.0, 4.0, 8.0, 1.0, 2.0]
    assert drives.unknown_home == 1
    assert [city.nodes[node].node_id for node in drives.start] == ["n00", "n00", "n00", "n14", "n14"]
    mean = np.array([9.0, 9.0, 9.0, 4.0, 1.9])
    assert too_fast(drives, mean).tolist() == [False, False, False, True, False]


def test_units_that_may_still_be_on_their_way_home(tmp_path: Path) -> None:
    """For turnout a unit counts only when hardly any way home takes so long: less than one in a hundred of the law."""
    city, scale = road_city(), 0.35
    log = log_of(
        tmp_path,
        "1 E04 - 10:00 10:01 10:09 10:20 n44",
        "2 E04 - 10:32 10:33 10:40 10:50 n44",  # 12 minutes after it was free; the way home takes about 9
        "3 E04 - 11:06 11:07 11:14 11:20 n44",  # 16 minutes
        every_kind="engine",
    )
    placed = place_incidents(city, log)
    station = origins(city, log, find_homes(city, log, placed))
    nodes = {node.node_id: number for number, node in enumerate(city.nodes)}
    way = float(minutes_between(city, [nodes["n44"]], [nodes["n00"]])[0, 0])
    longer = gamma(way / scale, scale=scale).sf([12.0, 16.0])
    assert longer[0] > 0.01 > longer[1]
    assert is_away(city, log, placed, station).tolist() == [False, False, False]
    assert is_away(city, log, placed, station, scale_minutes=scale).tolist() == [False, True, False]


def test_a_station_that_the_log_names_counts_before_the_home(tmp_path: Path) -> None:
    """Where the log says where a unit came from, by id or by name, that is where it came from."""
    city = road_city()
    stations = (replace(city.stations[0], name="Main_Street"), *city.stations[1:])
    city = replace(city, stations=stations)
    rows = ("1 E04 s3 10:00 - - - n44", "2 E01 Main_Street 10:00 - - - n44", "3 E02 gone 10:00 - - - n44")
    log = log_of(tmp_path, *rows, every_kind="engine")
    homes = find_homes(city, log, place_incidents(city, log))
    assert origins(city, log, homes).tolist() == [2, 0, 2]


def test_kinds_come_from_the_roster_where_the_log_has_none(tmp_path: Path) -> None:
    """A log of unit names alone gets the kinds of the roster; units that it does not have get none."""
    log = log_of(tmp_path, "1 E04 - 10:00 - - - n44", "1 T01 - 10:00 - - - n44", "1 XX - 10:00 - - - n44")
    assert log.kinds == ()
    found = with_roster_kinds(road_city(), log)
    assert found.kinds == ("engine", "ladder")
    assert found.responses["kind"].tolist() == [0, 1, -1]
    assert with_roster_kinds(without_roster(road_city()), log) is log


def test_without_drives_nobody_has_a_home(tmp_path: Path) -> None:
    """A log without times on scene, in a city without a roster, gives no home and no error."""
    log = log_of(tmp_path, "1 E04 - 10:00 - - - n44", every_kind="engine")
    city = without_roster(road_city())
    assert find_homes(city, log, place_incidents(city, log)) == []
