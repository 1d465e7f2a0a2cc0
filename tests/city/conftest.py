"""What the tests of this folder share."""

from typing import Any

import pytest

from runcard.city import City, DemandPoint, Link, Node, Station


def two_houses(**changes: Any) -> City:
    """A city of two nodes, one link, one station and one demand point, with some of its fields changed."""
    fields: dict[str, Any] = {
        "name": "Two Houses",
        "busy_minutes": 30.0,
        "target_minutes": 1.5,
        "nodes": (Node("a", 0.0, 0.0), Node("b", 1.0, 0.0)),
        "links": (Link("ab", "a", "b", False, 1.0),),
        "stations": (Station("s", "a", 2),),
        "demand": (DemandPoint("b", 4.0),),
    }
    return City(**fields | changes)


@pytest.fixture
def small_city() -> City:
    """The city of two houses."""
    return two_houses()
