"""Tests of what run cards say: units, chances, gains, districts and incidents."""

from dataclasses import replace

import numpy as np
import pytest
from tests.departments import random_department
from tests.town import plain_town
from tests.weeks import with_days

from runcard import demo_city
from runcard.city import City, DemandPoint
from runcard.errors import InputError
from runcard.outputs.cards.book import Card, CardBook, make_book
from runcard.plan.plan import Plan, solve
from runcard.plan.situation import Situation
from runcard.policy.by_order import OrderPolicy


@pytest.fixture(scope="module")
def town() -> Plan:
    """The built-in town with the optimal policy."""
    return solve(demo_city())


@pytest.fixture(scope="module")
def book(town: Plan) -> CardBook:
    """Its cards."""
    return make_book(town, depth=4)


def test_each_area_type_and_kind_has_a_card(book: CardBook) -> None:
    """There is one card for each demand point and each kind that its type needs, and no other."""
    city = demo_city()
    expected = {
        (point.node_id, point.type, standard.kind) for point in city.demand for standard in city.standards_of(point)
    }
    assert {(card.area, card.type, card.kind) for card in book.cards} == expected
    assert len(book.cards) == len(expected)


@pytest.mark.parametrize("seed", range(6))
def test_lines_are_what_the_department_sends(seed: int) -> None:
    """With the busy units of a line out, the department sends the units of the line; chances are those of `decide`."""
    department = solve(random_department(seed))
    for card in make_book(department, depth=5).cards:
        for line in card.lines:
            idle = set(department.unit_ids) - set(line.busy)
            (sent,) = (
                one
                for one in department.decide(Situation(at=card.area, type=card.type, idle=idle)).kinds
                if one.fleet.kind == card.kind
            )
            assert sorted(sent.units) == sorted(line.units)
            np.testing.assert_allclose(1.0 - np.array(sent.fleet.chances(sent.point, sent.decision)), line.meets)


def test_gains_are_differences_of_cost_now_and_price(town: Plan, book: CardBook) -> None:
    """The optimum never gains less than nothing, and exactly nothing where it sends what closest-first sends."""
    assert any(card.departs for card in book.cards)
    for card in book.cards:
        for line in card.lines:
            assert line.gain >= -1e-12
            assert line.departs or line.gain == 0.0
    card = next(card for card in book.cards if card.departs and card.kind == "engine")
    fleet = town.fleet("engine")
    point, homes = fleet.point(card.area, card.type), {unit.unit_id: unit.station_id for unit in fleet.units}
    assert point is not None
    order, idle = list(fleet.problem.station_ids), fleet.problem.trucks
    teams = [
        fleet.problem.teams.number([order.index(homes[unit]) for unit in units])
        for units in (card.lines[0].units, card.lines[0].closest)
    ]
    total = fleet.problem.cost[teams, point] + fleet.policy.prices(idle, np.array(teams))
    assert card.lines[0].gain == pytest.approx(total[1] - total[0], rel=1e-12)


def test_cards_of_closest_first_never_depart() -> None:
    """Cards made from closest-first are marked nowhere and gain nothing."""
    found = make_book(solve(random_department(2), "closest-first"), depth=4)
    assert found.num_departing == 0
    assert all(line.gain == 0.0 and not line.departs for card in found.cards for line in card.lines)


def test_the_district_is_the_closest_station(book: CardBook) -> None:
    """An area is in the district of the station whose engine has the shortest way, whatever kind its card is of."""
    problem = solve(demo_city(), "closest-first").fleet("engine").problem
    first_due = {area: problem.station_ids[problem.order[j, 0]] for j, area in enumerate(problem.point_ids)}
    assert all(card.district == first_due[card.area] for card in book.cards)


def test_incidents_of_a_year_add_up(book: CardBook) -> None:
    """The engine cards of the town have the incidents that need engines."""
    yearly = sum(card.incidents_per_year for card in book.cards if card.kind == "engine")
    assert yearly == pytest.approx(365.0 * demo_city().of_kind("engine").incidents_per_day)


def test_each_period_has_its_cards() -> None:
    """A week has cards for each period, whose incidents together are those of the year; one period can be chosen."""
    city = with_days(random_department(1))
    week = solve(city)
    found = make_book(week, depth=2)
    assert {card.period for card in found.cards} == {"day", "night"}
    yearly = sum(card.incidents_per_year for card in found.cards if card.kind == "engine")
    assert yearly == pytest.approx(365.0 * city.of_kind("engine").incidents_per_day)
    only = make_book(week, depth=2, period="night")
    assert [card for card in found.cards if card.period == "night"] == list(only.cards)
    with pytest.raises(InputError, match=r"expected a period \(day, night\), got 'noon'"):
        make_book(week, period="noon")


def with_classes(city: City) -> City:
    """A plain city with two classes of incidents in its first area."""
    first = city.demand[0]
    more = DemandPoint(first.node_id, 0.3, trucks=1, target_minutes=4.0)
    return replace(city, demand=(first, more, *city.demand[1:]))


def test_classes_of_incidents_have_cards_of_their_own() -> None:
    """Without types, the rows of one node are classes 1, 2, ...; a node with one row has none."""
    found = make_book(solve(with_classes(plain_town())), depth=2)
    first = found.cards[0].area
    assert [card.row for card in found.cards if card.area == first] == [1, 2]
    assert all(card.row == 0 and card.standards for card in found.cards if card.area != first)


def test_stations_stand_for_trucks_without_a_roster() -> None:
    """A house lists the id of its station once for each truck."""
    city = plain_town()
    card: Card = make_book(solve(city), depth=2).cards[0]
    assert {house[0]: len(house) for house in card.houses} == {one.station_id: one.trucks for one in city.stations}
    assert all(len(set(house)) == 1 for house in card.houses)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kind": "boat"}, "expected a kind of units"),
        ({"incident_type": "flood"}, "expected a type of incident"),
        ({"period": "day"}, "expected no period"),
        ({"depth": 0}, "expected cards of 1 to 16 lines"),
    ],
)
def test_what_is_not_there_is_refused(town: Plan, options: dict[str, str], words: str) -> None:
    """A kind, a type or a period that the department does not have is an error that says what it has."""
    with pytest.raises(InputError, match=words):
        make_book(town, **options)  # type: ignore[arg-type]


def test_cards_can_be_of_one_type_and_kind(town: Plan) -> None:
    """Only the cards that are asked for are made."""
    found = make_book(town, depth=1, kind="engine", incident_type="fire")
    assert {(card.kind, card.type) for card in found.cards} == {("engine", "fire")}


def test_known_orders_are_not_searched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the orders of `fixed-card` given, cards are the same, and no order is searched for."""
    city = random_department(3)
    department, fixed = solve(city), solve(city, "fixed-card")
    found = make_book(department, depth=3).cards
    orders = {fleet.kind: fleet.policy.order for fleet in fixed.fleets if isinstance(fleet.policy, OrderPolicy)}
    monkeypatch.delattr("runcard.policy.run_card.find_order")
    assert make_book(department, depth=3, orders=orders).cards == found
