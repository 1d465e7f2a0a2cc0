"""Cities with periods of the week, for tests."""

from dataclasses import replace

from runcard.city import City, Period
from runcard.city.periods import parse_hours

DAY, NIGHT = parse_hours("mon-sun 7-22"), parse_hours("mon-sun 22-7")
ALL_WEEK = tuple(range(168))


def with_days(city: City, day: float = 1.4, night: float = 0.4) -> City:
    """A city with days from 7 to 22 and nights."""
    return replace(city, periods=(Period("day", DAY, day), Period("night", NIGHT, night)))


def with_days_by_type(city: City, types: tuple[str, ...] = ("fire", "medical")) -> City:
    """A city with days and nights whose types swing differently, and a weekend that has one rate for all."""
    weekend = parse_hours("sat-sun 0-24")
    day, night = (tuple(sorted(set(hours) - set(weekend))) for hours in (DAY, NIGHT))
    rates = {name: 1.0 + number for number, name in enumerate(types)}
    return replace(
        city,
        periods=(
            Period("day", day, rates),
            Period("night", night, {name: 0.8 / rate for name, rate in rates.items()}),
            Period("weekend", weekend, 1.1),
        ),
    )
