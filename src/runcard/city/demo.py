"""The built-in city, a made-up town on both banks of a river, kept as a city folder inside the package."""

from importlib.resources import as_file, files

from runcard.city.files import read_city
from runcard.city.model import City


def demo_city() -> City:
    """The town of Two Bridges: an old centre and suburbs in the north, a harbour and newer quarters in the south."""
    with as_file(files("runcard.city") / "two_bridges") as folder:
        return read_city(folder)
