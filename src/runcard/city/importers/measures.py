"""Units of length, speed and time, and speeds as maps write them.

A link of ℓ metres and v km/h takes 0.06 ℓ / v minutes. A speed that nobody states is the usual one of the road's class.
"""

import ast
import re
from collections.abc import Iterable
from typing import Any, Final

from runcard.city.conditions import near, shown
from runcard.errors import InputError

METRES: Final = {"m": 1.0, "km": 1000.0, "mi": 1609.344, "ft": 0.3048}
KILOMETRES_PER_HOUR: Final = {"km/h": 1.0, "mph": 1.609344, "m/s": 3.6}
MINUTES: Final = {"seconds": 1.0 / 60.0, "minutes": 1.0, "hours": 60.0, "days": 1440.0}

_OTHER_NAMES: Final = {
    "meter": "m", "meters": "m", "metre": "m", "metres": "m", "kilometer": "km", "kilometers": "km", "kilometre": "km",
    "kilometres": "km", "mile": "mi", "miles": "mi", "foot": "ft", "feet": "ft", "kph": "km/h", "kmh": "km/h",
    "km/hr": "km/h", "mi/h": "mph", "miles per hour": "mph", "mps": "m/s", "s": "seconds", "second": "seconds",
    "sec": "seconds", "min": "minutes", "minute": "minutes", "h": "hours", "hour": "hours", "day": "days",
}  # fmt: skip

METRES_AND_KPH_TO_MINUTES: Final = 0.06

USUAL_KPH: Final = {
    "motorway": 100.0, "motorway_link": 60.0, "trunk": 80.0, "trunk_link": 50.0, "primary": 60.0, "primary_link": 45.0,
    "secondary": 50.0, "secondary_link": 40.0, "tertiary": 45.0, "tertiary_link": 35.0, "unclassified": 40.0,
    "residential": 30.0, "living_street": 15.0, "service": 20.0, "road": 40.0, "busway": 40.0, "track": 15.0,
}  # fmt: skip
"""By the highway class of OpenStreetMap: what free traffic usually drives in a city, for roads without a speed."""

UNKNOWN_KPH: Final = 40.0
"""For a road of no known class, where no other road has a speed either."""

_SPEED: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(mph|km/h|kmh|kph|knots)?", re.IGNORECASE)
_KNOTS: Final = 1.852


def factor(units: dict[str, float], name: str, where: str) -> float:
    """What one unit of this name is in metres, km/h or minutes."""
    known = _OTHER_NAMES.get(name.strip().lower(), name.strip().lower())
    if known not in units:
        raise InputError(f"{where}: expected one of {', '.join(units)}, got {shown(name)}{near(name, units)}")
    return units[known]


def values_in(value: Any) -> list[Any]:
    """The values of an attribute that may be a list, or the text of one: "['30 mph', '40 mph']" or "30;40"."""
    if isinstance(value, str):
        text = value.strip()
        if text.startswith("["):
            try:
                return list(ast.literal_eval(text))
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                return []
        return [one.strip() for one in re.split(r"[;|]", text) if one.strip()]
    if isinstance(value, list | tuple | set):
        return list(value)
    return [] if value is None or value != value else [value]


def speed_kph(value: Any) -> float | None:
    """The speed of an attribute such as "30 mph", 50 or ["30", "50"], the mean of several; None if it has none."""
    found: list[float] = []
    for one in values_in(value):
        if match := _SPEED.fullmatch(str(one).strip()):
            unit = (match[2] or "").lower()
            found.append(float(match[1]) * (_KNOTS if unit == "knots" else 1.609344 if unit == "mph" else 1.0))
    mean = sum(found) / len(found) if found else 0.0
    return mean if mean > 0.0 else None


def first_word(value: Any) -> str:
    """The first value of an attribute that may be a list, as text: the class of a road that joins several."""
    return next((str(one).strip() for one in values_in(value)), "")


def usual_kph(road_class: str, known: Iterable[float] = ()) -> float:
    """The usual speed of a class; where the class is not known, the middle of the speeds that are."""
    if road_class in USUAL_KPH:
        return USUAL_KPH[road_class]
    speeds = sorted(known)
    return speeds[len(speeds) // 2] if speeds else UNKNOWN_KPH
