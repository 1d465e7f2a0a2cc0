"""Units, and speeds as maps write them."""

import pytest

from runcard.city.importers.measures import KILOMETRES_PER_HOUR, METRES, factor, first_word, speed_kph, usual_kph
from runcard.errors import InputError


@pytest.mark.parametrize(
    ("text", "kph"),
    [
        ("50", 50.0),
        (50, 50.0),
        ("30 mph", 48.28032),
        ("30mph", 48.28032),
        ("50 km/h", 50.0),
        ("['30 mph', '40 mph']", 56.32704),
        (["30", "50"], 40.0),
        ("30;50", 40.0),
        ("none", None),
        ("RO:urban", None),
        ("['none', '30']", 30.0),
        ("[broken", None),
        (float("nan"), None),
        (None, None),
        ("0", None),
    ],
)
def test_speeds_are_understood(text: object, kph: float | None) -> None:
    """Numbers, units and lists, of which the mean counts; words that are no number are no speed."""
    assert speed_kph(text) == (None if kph is None else pytest.approx(kph))


def test_units_have_many_names() -> None:
    """What GMNS files call their units is known; others are named with a suggestion."""
    assert factor(METRES, "Miles", "here") == 1609.344
    assert factor(KILOMETRES_PER_HOUR, "kph", "here") == 1.0
    with pytest.raises(InputError, match=r"config: expected one of km/h, mph, m/s, got 'mpg' \(did you mean mph\?\)"):
        factor(KILOMETRES_PER_HOUR, "mpg", "config")


def test_a_road_without_a_speed_has_that_of_its_class() -> None:
    """A class of OpenStreetMap has a usual speed; another class has the middle one of those that are known."""
    assert usual_kph("residential", [90.0]) == 30.0
    assert usual_kph("boulevard", [20.0, 30.0, 70.0]) == 30.0
    assert usual_kph("boulevard") == 40.0
    assert first_word("['primary', 'secondary']") == "primary"
    assert first_word(None) == ""
