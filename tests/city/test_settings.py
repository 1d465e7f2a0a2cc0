"""The settings of a city: what is written to `city.toml`, and what is read from it."""

from dataclasses import replace

import pytest

from runcard.city import City, Driving, Objective, Outside, Turnout
from runcard.city.settings import format_settings, parse_settings

PLAIN = """\
schema = 1
name = "Two Houses"
busy_minutes = 30.0
target_minutes = 1.5
trucks_per_incident = 2
shared_delay = 1.0

[driving]
model = "exponential"
route_seed = 0
"""

EVERYTHING = """\
schema = 1
name = "Zwei \\"Häuser\\""
busy_minutes = 30.0
target_minutes = 1.5
trucks_per_incident = 3
arrivals_per_incident = 2
shared_delay = 1.0

[driving]
model = "hyperexponential"
route_seed = 7
cv = 2.0
fixed_part = 0.25
coupled_branch = "long"
second_route = "disjoint"

[turnout]
mean_minutes = 1.5
model = "gamma"
cv = 0.5
shared = false

[outside]
links = 9
link_minutes = 2.0

[objective]
minimise = "late+minutes"
weight = 0.125
"""


def everything(city: City) -> City:
    """A city that differs in every setting from one that states none, as far as they go together."""
    return replace(
        city,
        name='Zwei "Häuser"',
        trucks_per_incident=3,
        arrivals_per_incident=2,
        driving=Driving("hyperexponential", 7, 2, None, 0.25, "long", "disjoint"),
        turnout=Turnout(1.5, "gamma", 0.5, shared=False),
        outside=Outside(9, 2),
        objective=Objective("late+minutes", 0.125),
    )


def test_a_plain_city_has_plain_settings(small_city: City) -> None:
    """What a city does not state is not written."""
    assert format_settings(small_city) == PLAIN


def test_every_setting_is_written_in_its_section(small_city: City) -> None:
    """Keys stand in their sections, in one order, numbers as numbers of their type."""
    assert format_settings(everything(small_city)) == EVERYTHING


@pytest.mark.parametrize("law", [Driving("gamma", scale_minutes=1), Driving(), None])
def test_what_is_written_is_read(small_city: City, law: Driving | None) -> None:
    """The text gives the same settings back, with no faults."""
    city = replace(small_city, driving=law) if law else everything(small_city)
    settings, faults = parse_settings(format_settings(city))
    tables = {name: getattr(city, name) for name in ("nodes", "links", "stations", "demand")}
    assert not faults
    assert City(**tables, **settings) == city


def test_a_setting_that_cannot_be_read_brings_no_other_faults_about() -> None:
    """A cv of the wrong type is one fault, not also a law that lacks its cv."""
    _, faults = parse_settings(PLAIN.replace('"exponential"', '"gamma"') + 'cv = "wide"\n')
    assert faults == ["expected driving.cv to be a number, got 'wide'"]
