"""What makes a city valid."""

import copy
import pickle
from dataclasses import replace
from typing import Any

import pytest
from tests.city.conftest import two_houses

from runcard.city import (
    DemandPoint,
    Driving,
    Link,
    Node,
    Objective,
    Outside,
    Station,
    Turnout,
)
from runcard.errors import CityError

NAN = float("nan")


def faults_with(**changes: Any) -> tuple[str, ...]:
    """The faults of the city of two houses with some of its fields changed."""
    with pytest.raises(CityError) as caught:
        two_houses(**changes)
    return caught.value.faults


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"shared_delay": NAN}, "expected shared_delay from 0 to 1, got nan"),
        (
            {"arrivals_per_incident": 3},
            "expected arrivals_per_incident <= trucks_per_incident, got 3 of 2 trucks",
        ),
        (
            {"demand": (DemandPoint("b", 4.0, trucks=1, arrivals=2),)},
            "demand[0]: expected arrivals <= trucks, got 2 of 1 trucks",
        ),
        (
            {"driving": Driving("gamma", cv=1.0, coupled_branch="short")},
            "expected no driving.coupled_branch for the model gamma, which does not use it, got 'short'",
        ),
        (
            {"driving": Driving("hyperexponential", cv=2.0, coupled_branch="middle")},
            "expected driving.coupled_branch to be short or long, got 'middle'",
        ),
        (
            {"driving": Driving("hyperexponential", cv=2.0, coupled_branch="long"), "shared_delay": 0.5},
            "expected no shared_delay beside driving.coupled_branch, whose chance is that of its branch, got 0.5",
        ),
        (
            {"driving": Driving(second_route="other")},
            "expected driving.second_route to be same or disjoint, got 'other'",
        ),
        (
            {"driving": Driving("exponential", cv=0.5)},
            "expected no driving.cv for the model exponential, which does not use it, got 0.5",
        ),
        (
            {"driving": Driving("hyperexponential", cv=0.5)},
            "expected driving.cv >= 1 for the model hyperexponential, got 0.5",
        ),
        ({"driving": Driving("pareto")}, "expected driving.tail_index, which the model pareto needs, got none"),
        (
            {"driving": Driving("gamma", cv=1.0, tail_index=2.0)},
            "expected no driving.tail_index for the model gamma, which does not use it, got 2.0",
        ),
        ({"driving": Driving(fixed_part=1.0)}, "expected driving.fixed_part from 0 to less than 1, got 1.0"),
        ({"turnout": Turnout(mean_minutes=-1.0)}, "expected turnout.mean_minutes >= 0, got -1.0"),
        (
            {"turnout": Turnout(1.0, "pareto")},
            "expected turnout.model to be exponential or gamma or lognormal, got 'pareto'",
        ),
        ({"turnout": Turnout(1.0, "lognormal")}, "expected turnout.cv, which the model lognormal needs, got none"),
        ({"driving": Driving(route_seed=-1)}, "expected driving.route_seed >= 0, got -1"),
        ({"outside": Outside(links=0)}, "expected outside.links >= 1, got 0"),
        ({"outside": Outside(link_minutes=0.0)}, "expected outside.link_minutes > 0, got 0.0"),
        (
            {"objective": Objective("cost")},
            "expected objective.minimise to be late or minutes or late+minutes, got 'cost'",
        ),
        (
            {"objective": Objective("late+minutes", 0.0)},
            "expected objective.weight > 0 and at most 1000, got 0.0",
        ),
        ({"objective": Objective("late+minutes", NAN)}, "expected objective.weight > 0 and at most 1000, got nan"),
        (
            {"objective": Objective("late+minutes", 1e4)},
            "expected objective.weight > 0 and at most 1000, got 10000.0",
        ),
        (
            {"objective": Objective("minutes", 0.1)},
            "expected no objective.weight for minimising minutes, which does not use it, got 0.1",
        ),
        (
            {"objective": Objective("late", 0.1)},
            "expected no objective.weight for minimising late, which does not use it, got 0.1",
        ),
        ({"name": "a\nb"}, "expected name without control characters, got 'a\\nb'"),
        ({"stations": (Station("s", "a", 1.5),)}, "stations[0]: expected trucks >= 1, got 1.5"),
        (
            {"stations": (Station("s", "a", 1), Station("s", "b", 1))},
            "stations[1]: expected station_id to be unique, got 's' again (first at stations[0])",
        ),
        (
            {"stations": (Station("s,t", "a", 1),)},
            "stations[0]: expected station_id not empty, without commas, control characters or spaces around it, and "
            "not one of outside, all, none, got 's,t'",
        ),
        (
            {"nodes": (Node("a", 0.0, 0.0), Node("b", 1.0, 0.0), Node(" c", 2.0, 0.0))},
            "nodes[2]: expected node_id not empty, without control characters or spaces around it, got ' c'",
        ),
        (
            {"links": (Link("ab", "a", "b", False, 1.0, -1.0),)},
            "links[0]: expected length_m >= 0, got -1.0",
        ),
    ],
)
def test_a_city_with_a_fault_cannot_be_made(changes: dict[str, Any], fault: str) -> None:
    """Each fault is found when the city is constructed, is named by its place, and brings no others about.

    The faults that a folder can have as well are among the broken ones (`test_files.py`).
    """
    assert faults_with(**changes) == (fault,)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"busy_minutes": "30"}, "expected busy_minutes > 0, got '30'"),
        ({"busy_minutes": None}, "expected busy_minutes > 0, got None"),
        ({"name": 7}, "expected name without control characters, got 7"),
        ({"trucks_per_incident": 2.0}, "expected trucks_per_incident to be a whole number from 1 to 4, got 2.0"),
        ({"driving": Driving("gamma", cv="wide")}, "expected driving.cv from 0 to 10, got 'wide'"),
        (
            {"nodes": (Node("a", "west", 0.0), Node("b", 1.0, 0.0))},
            "nodes[0]: expected x_coord to be a number, got 'west'",
        ),
        (
            {"links": (Link("ab", "a", "b", "no", 1.0),)},
            "links[0]: expected directed to be true or false, got 'no'",
        ),
        (
            {"demand": (DemandPoint("b", 1e10),)},
            "demand[0]: expected incidents_per_day from 0 to 1e+09, got 10000000000.0",
        ),
    ],
)
def test_values_of_another_type_or_size_are_faults(changes: dict[str, Any], fault: str) -> None:
    """What cannot be compared with a number, or is far out of any range, is a fault and no crash."""
    assert faults_with(**changes) == (fault,)


def test_all_faults_are_reported_at_once() -> None:
    """Faults of the settings, of several tables and of references come in one error."""
    faults = faults_with(busy_minutes=-1.0, stations=(Station("s", "z", 0),), demand=(DemandPoint("b", -1.0),))
    assert len(faults) == 4


def test_a_sound_city_has_no_faults() -> None:
    """A valid city can be made, copied with a change, pickled and hashed."""
    city = two_houses()
    assert pickle.loads(pickle.dumps(city)) == copy.deepcopy(city) == replace(city, name="Two Houses") == city
    assert hash(city) == hash(replace(city))


def test_the_sums_of_a_city() -> None:
    """Two trucks, four incidents a day and half an hour each make a load of 4 x 30 / (1440 x 2)."""
    city = two_houses()
    assert (city.num_trucks, city.incidents_per_day) == (2, 4.0)
    assert city.load == pytest.approx(4 * 30 / 2880, rel=1e-15)
