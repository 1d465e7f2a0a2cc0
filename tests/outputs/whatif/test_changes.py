"""Changes of a department: what is read, what they make of a city, and every way in which they cannot be."""

from dataclasses import replace

import pytest
from tests.town import plain_town

from runcard.city import City, Link, Node, demo_city
from runcard.city.aprons import apron_nodes, start_minutes, with_aprons
from runcard.errors import InputError
from runcard.outputs.whatif.changes import (
    Add,
    CityChange,
    Close,
    Load,
    Move,
    Remove,
    apply_changes,
    change_words,
    changed_kinds,
    read_changes,
)

HOSTILE = "a,b@c:d</script>"


def homes(city: City) -> dict[str, str]:
    """The station of each unit."""
    return {unit.unit_id: unit.station_id for unit in city.units}


def test_words_become_changes_with_commas_or_several_times() -> None:
    """All options together, moves first; a load of 1 is no change beside others."""
    found = read_changes(
        demo_city(),
        add=["engine@central,ladder@old-a4"],
        close=["westend", "hillside"],
        remove=["T02"],
        move=["E05:harbour, E06:old-a4"],
        load=1.0,
    )
    assert found == (
        Move("E05", "harbour"), Move("E06", "old-a4"), Close("westend"), Close("hillside"), Remove("T02"),
        Add("engine", "central"), Add("ladder", "old-a4"),
    )  # fmt: skip


def test_all_changes_happen_at_once() -> None:
    """A unit that moves away stays when its station closes, and the new station has what came to it."""
    city = demo_city()
    changes: list[CityChange] = [Move("E01", "old-a4"), Close("central"), Add("ladder", "old-a4"), Load(1.5)]
    found = apply_changes(city, changes)
    assert homes(found) == {
        **{unit: home for unit, home in homes(city).items() if home != "central"},
        "E01": "at-old-a4",
        "ladder-new-1": "at-old-a4",
    }
    station = found.stations[-1]
    assert (station.station_id, station.node_id, station.name, station.trucks) == (
        "at-old-a4",
        "old-a4",
        "Old Town A4",
        2,
    )
    assert found.incidents_per_day == pytest.approx(1.5 * city.incidents_per_day)
    assert (found.nodes, found.links) == (city.nodes, city.links)


def test_a_node_with_a_station_means_that_station() -> None:
    """No second station is made where one stands, and two units at one new node share one station."""
    city = demo_city()
    found = apply_changes(city, [Add("engine", "old-c3"), Add("engine", "old-a4"), Add("engine", "old-a4")])
    new = {unit: home for unit, home in homes(found).items() if unit not in homes(city)}
    assert new == {"engine-new-1": "central", "engine-new-2": "at-old-a4", "engine-new-3": "at-old-a4"}
    assert len(found.stations) == len(city.stations) + 1


def test_without_a_roster_trucks_of_stations_come_and_go() -> None:
    """One truck moves, one goes, one comes; a station that loses its last truck is no more."""
    city = plain_town()
    before = {one.station_id: one.trucks for one in city.stations}
    several = next(name for name, trucks in before.items() if trucks > 1)
    single = next(name for name, trucks in before.items() if trucks == 1)
    node = next(node.node_id for node in city.nodes if node.node_id not in {one.node_id for one in city.stations})
    found = apply_changes(
        city, read_changes(city, move=[f"{several}:{node}"], remove=[single], add=[f"truck@{several}"])
    )
    after = {one.station_id: one.trucks for one in found.stations}
    assert after == {name: trucks for name, trucks in before.items() if name != single} | {f"at-{node}": 1}


def test_a_new_station_has_an_apron_if_the_others_have() -> None:
    """It stands at a node of its own, as many minutes from the road as the others, and the road node means it."""
    city = with_aprons(demo_city(), 0.7)
    found = apply_changes(city, [Add("engine", "old-a4"), Add("engine", "old-c3"), Add("engine", "apron harbour")])
    station = found.stations[-1]
    assert apron_nodes(found)[station.node_id] == "old-a4"
    assert start_minutes(found) == pytest.approx(0.7)
    assert homes(found)["engine-new-2"] == "central"
    assert homes(found)["engine-new-3"] == "harbour"
    assert found.nodes[: len(city.nodes)] == city.nodes
    assert found.links[: len(city.links)] == city.links
    assert change_words(city, found)[0] == "A station opens at node old-a4: at-old-a4 (Old Town A4)."


def test_any_name_can_be_read() -> None:
    """Units, stations and nodes with the very signs that separate them, and with commas in nodes."""
    city = demo_city()
    units = tuple(replace(unit, unit_id="E:0@1") if unit.unit_id == "E01" else unit for unit in city.units)
    nodes = (*city.nodes, Node(HOSTILE, 0.0, 0.0))
    links = (*city.links, Link("new", HOSTILE, "old-a4", False, 1.0))
    city = replace(city, units=units, nodes=nodes, links=links)
    changes = read_changes(city, move=[f"E:0@1:{HOSTILE}"], add=[f"engine@{HOSTILE}"])
    assert changes == (Move("E:0@1", HOSTILE), Add("engine", HOSTILE))
    found = apply_changes(city, changes)
    assert found.stations[-1].station_id == "at-a-b@c:d</script>"
    assert found.stations[-1].trucks == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "nothing changes: expected --add KIND@PLACE"),
        ({"load": 1.0}, "nothing changes"),
        ({"load": -1.0}, "--load: expected a factor above 0 and at most 100, got -1"),
        ({"load": float("nan")}, "--load: expected a factor above 0"),
        ({"add": ["engine"]}, "--add: expected KIND@PLACE, got 'engine'"),
        ({"add": ["@central"]}, "--add: expected KIND@PLACE, got '@central'"),
        ({"add": ["engin@central"]}, "(engine, ladder), got 'engin' (did you mean engine?)"),
        ({"add": ["engine@centrall"]}, "got 'centrall' (did you mean central?)"),
        ({"add": ["engine@central"], "close": ["central"]}, "expected a station that stays open, got central"),
        ({"close": ["centrall"]}, "got 'centrall' (did you mean central?)"),
        ({"close": ["central", "central"]}, "expected one change for each, got --close central as well"),
        ({"close": ["central,harbour"]}, "expected a ladder to be left in Two Bridges, got none"),
        ({"remove": ["E99"]}, "got 'E99' (did you mean E09?)"),
        ({"remove": ["E01", "E01"]}, "expected one change for each, got --remove E01 as well"),
        ({"remove": ["E01"], "close": ["central"]}, "expected a unit that would stay, got one of central"),
        ({"move": ["E01"]}, "--move: expected UNIT:PLACE, got 'E01'"),
        ({"move": ["E01:central"]}, "expected another place, got central, where it stands now"),
        ({"move": ["E01:harbour", "E01:westend"]}, "expected one change for each, got --move E01:harbour as well"),
        ({"move": ["E01:harbour"], "remove": ["E01"]}, "expected one change for each, got --move E01:harbour as well"),
        ({"move": ["E01:nowhere"]}, "expected a station or a node of Two Bridges, got 'nowhere'"),
        ({"move": ["E99:central"]}, "got 'E99' (did you mean E09?)"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_a_sentence(options: dict[str, list[str]], words: str) -> None:
    """Each fault names the change, what was expected and what was found."""
    city = demo_city()
    with pytest.raises(InputError) as caught:
        apply_changes(city, read_changes(city, **options))  # type: ignore[arg-type]
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"add": ["engine@s1"]}, "(truck), got 'engine'"),
        ({"remove": ["nobody"]}, "expected a station ("),
        ({"move": ["nobody:x"]}, "expected a station or a node"),
    ],
)
def test_without_a_roster_what_cannot_be_is_refused(options: dict[str, list[str]], words: str) -> None:
    """Kinds that there are not, and stations that there are not."""
    city = plain_town()
    with pytest.raises(InputError) as caught:
        apply_changes(city, read_changes(city, **options))  # type: ignore[arg-type]
    assert words in str(caught.value)


def test_a_station_does_not_lose_more_trucks_than_it_has() -> None:
    """The second of two changes of one truck is refused."""
    city = plain_town()
    single = next(one.station_id for one in city.stations if one.trucks == 1)
    with pytest.raises(InputError, match="expected a truck to be left"):
        apply_changes(city, [Remove(single), Remove(single)])


def test_no_unit_stands_where_no_road_leads() -> None:
    """A node without links is refused with the demand points that it does not reach."""
    city = demo_city()
    city = replace(city, nodes=(*city.nodes, Node("island", 0.0, 0.0)))
    with pytest.raises(InputError, match="--add engine@island: node island: expected a route to every demand point"):
        apply_changes(city, [Add("engine", "island")])


def test_only_kinds_that_see_another_city_change() -> None:
    """An engine more is nothing to ladders, also where it opens a station; more incidents change both."""
    city = with_aprons(demo_city(), 0.5)
    assert changed_kinds(city, apply_changes(city, [Add("engine", "old-a4")])) == ("engine",)
    assert changed_kinds(city, apply_changes(city, [Load(2.0)])) == ("engine", "ladder")
    with pytest.raises(InputError, match="nothing changes: incidents need only engine, ladder"):
        changed_kinds(city, city)
