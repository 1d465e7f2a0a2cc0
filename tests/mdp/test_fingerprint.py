"""Tests of the fingerprint of a city: what it notices, and what it does not."""

from dataclasses import replace
from typing import Any

import pytest
from tests.departments import grid_department
from tests.town import plain_town

from runcard.city import City, DemandPoint, Objective, generate_grid
from runcard.city.model import Driving, Outside, Turnout, taken_as_sound
from runcard.mdp import from_city
from runcard.mdp.fingerprint import city_fingerprint, source_of
from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.objective import with_objective


def city_of_two_classes() -> City:
    """A small grid whose first node has two classes of incidents."""
    city = generate_grid(side=3, num_stations=3, load=0.2, seed=1)
    return replace(city, demand=(*city.demand, DemandPoint(city.demand[0].node_id, 1.0, name="fire")))


CITY = city_of_two_classes()
FIRST_LINK = CITY.links[0]


def first_changed(table: str, **changes: Any) -> City:
    """The city with another first row of a table."""
    first, *others = getattr(CITY, table)
    return replace(CITY, **{table: (replace(first, **changes), *others)})


def test_it_is_that_of_the_problem() -> None:
    """A city and its problem have the same fingerprint, with and without minutes, for every objective."""
    for objective in (Objective(), Objective("minutes"), Objective("late+minutes", 0.1)):
        city = replace(CITY, objective=objective)
        problem = dispatch_problem(city)
        assert city_fingerprint(city) == problem.fingerprint == dispatch_problem(city, minutes=False).fingerprint
        assert problem.source == source_of(CITY)
        assert with_objective(problem, Objective("minutes")).fingerprint == city_fingerprint(
            replace(CITY, objective=Objective("minutes"))
        )


def test_no_table_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fingerprint needs no routes and no P(late)."""
    monkeypatch.setattr(from_city, "response_table", None)
    assert city_fingerprint(plain_town()) == city_fingerprint(plain_town())


@pytest.mark.parametrize(
    "other",
    [
        replace(CITY, busy_minutes=61.0),
        replace(CITY, target_minutes=CITY.target_minutes + 1.0),
        replace(CITY, trucks_per_incident=1),
        replace(CITY, arrivals_per_incident=2),
        replace(CITY, shared_delay=0.25),
        *(replace(CITY, driving=law) for law in (Driving("gamma", cv=0.5), Driving(route_seed=99))),
        replace(CITY, driving=Driving("gamma", scale_minutes=0.5)),
        replace(CITY, turnout=Turnout(1.0)),
        replace(CITY, outside=Outside(9)),
        replace(CITY, objective=Objective("minutes")),
        *(replace(CITY, objective=Objective("late+minutes", weight)) for weight in (0.1, 0.2)),
        *(
            replace(CITY, links=(*CITY.links, replace(FIRST_LINK, link_id="new", directed=one)))
            for one in (False, True)
        ),
        *(replace(CITY, **{table: getattr(CITY, table)[::-1]}) for table in ("links", "stations")),
        first_changed("links", mean_minutes=2.0),
        *(first_changed("stations", **change) for change in ({"trucks": 2}, {"station_id": "other"})),
        *(first_changed("demand", **change) for change in ({"incidents_per_day": 2.0}, {"trucks": 3})),
        first_changed("demand", name="flood"),
        replace(CITY, demand=CITY.demand[:-1]),
    ],
)
def test_what_decisions_depend_on_or_say_changes_it(other: City) -> None:
    """Any input of the problem, and the name of a class where a node has several, makes another fingerprint."""
    assert city_fingerprint(other) != city_fingerprint(CITY)


@pytest.mark.parametrize(
    "changes",
    [
        {"trucks": 3}, {"arrivals": 1}, {"target_minutes": 30.0}, {"weight": 0.25}, {"type": "flood"},
        {"kind": "ladder"},
    ],
)  # fmt: skip
def test_each_part_of_a_standard_changes_it(changes: dict[str, Any]) -> None:
    """A plan that was made for other standards, or for other weights of the same, is of another city."""
    city = grid_department(side=3, engines=3, ladders=1)
    first, second, *others = city.standards
    with taken_as_sound():
        other = replace(city, standards=(first, replace(second, **changes), *others))
    assert city_fingerprint(other) != city_fingerprint(city)


@pytest.mark.parametrize(
    "same",
    [
        replace(CITY, name="another name"),
        first_changed("nodes", x_coord=-9.0, name="a", extra=(("b", "c"),)),
        first_changed("links", link_id="new", length_m=7.0),
        first_changed("stations", name="Central"),
        first_changed("demand", extra=(("d", "e"),)),
        first_changed("demand", trucks=CITY.trucks_per_incident),
        replace(CITY, busy_minutes=int(CITY.busy_minutes)),
    ],
)
def test_what_changes_nothing_is_left_out(same: City) -> None:
    """Names, coordinates, unused columns, what is said twice, and 60 for 60.0 keep the fingerprint."""
    assert city_fingerprint(same) == city_fingerprint(CITY)


def test_cities_of_before_keep_theirs() -> None:
    """The fingerprint of a city without keys that came later is what it was before them, so that old files load."""
    assert city_fingerprint(CITY) == "3b72884b6ca5f811282f529bd299a31d"
    one, two = (replace(CITY, driving=Driving("gamma", scale_minutes=scale)) for scale in (0.5, 0.6))
    assert city_fingerprint(one) != city_fingerprint(two)


def test_a_problem_that_was_changed_by_hand_is_another() -> None:
    """With other numbers a problem is not that of the city any more, and says so by its own numbers."""
    problem = dispatch_problem(CITY)
    busier = replace(problem, incidents_per_day=1.01 * problem.incidents_per_day)
    assert busier.source is None
    assert busier.fingerprint != problem.fingerprint
    assert replace(busier).fingerprint == busier.fingerprint


def test_what_a_problem_is_made_from_is_asked_anew() -> None:
    """Of the same numbers with another source the fingerprint is another one, also after it was asked for."""
    problem = dispatch_problem(CITY)
    before = problem.fingerprint
    assert problem.made_from(lambda: "another").fingerprint != before
    assert problem.made_from(lambda: source_of(CITY)).fingerprint == before == problem.fingerprint
