"""P(late) of every team at one place."""

from dataclasses import replace

import pytest
from tests.town import plain_town

from runcard.city import City
from runcard.outputs.lateness import lateness_at


@pytest.fixture
def city() -> City:
    """The demo city with two stations: two trucks at the first, one at the second."""
    city = plain_town()
    first, second = city.stations[:2]
    return replace(city, stations=(replace(first, trucks=2), replace(second, trucks=1)), trucks_per_incident=3)


def test_a_team_has_one_id_for_each_truck(city: City) -> None:
    """Stations in their order, once for each truck, then trucks from outside up to the number needed."""
    first, second = (station.station_id for station in city.stations)
    point = next(point for point in city.demand if point.trucks is None)
    (found,) = lateness_at(city, point.node_id)
    assert {team.team for team in found.teams} == {
        ("outside",) * 3,
        (first, "outside", "outside"),
        (second, "outside", "outside"),
        (first, first, "outside"),
        (first, second, "outside"),
        (first, first, second),
    }


def test_the_best_team_comes_first(city: City) -> None:
    """Teams are listed by P(late)."""
    (found,) = lateness_at(city, city.demand[0].node_id)
    late = [team.p_late for team in found.teams]
    assert late == sorted(late)
