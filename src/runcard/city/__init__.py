"""What is there: the model of a city, its folder, the paper's random grids and a built-in town."""

from runcard.city.conditions import OUTSIDE_ID
from runcard.city.demo import demo_city
from runcard.city.files import read_city, write_city
from runcard.city.grid import generate_grid
from runcard.city.model import MINUTES_PER_DAY, City
from runcard.city.parts import (
    DemandPoint,
    Driving,
    Link,
    Node,
    Objective,
    Outside,
    Standard,
    Station,
    Turnout,
    Unit,
)
from runcard.city.periods import Period

__all__ = [
    "MINUTES_PER_DAY",
    "OUTSIDE_ID",
    "City",
    "DemandPoint",
    "Driving",
    "Link",
    "Node",
    "Objective",
    "Outside",
    "Period",
    "Standard",
    "Station",
    "Turnout",
    "Unit",
    "demo_city",
    "generate_grid",
    "read_city",
    "write_city",
]
