"""The built-in town as it would be with one kind of trucks: a plain city for tests."""

from tests.conftest import DATA

from runcard.city import City, read_city


def plain_town() -> City:
    """Two Bridges without a roster and without standards."""
    return read_city(DATA / "town")
