"""Errors travel between processes as they are."""

import copy
import pickle
from collections.abc import Iterator

import pytest

from runcard import errors
from runcard.errors import CityError, MissingExtraError, RuncardError


def every_class(root: type[RuncardError]) -> Iterator[type[RuncardError]]:
    """An error and all that come from it, anywhere in the package."""
    yield root
    for branch in root.__subclasses__():
        yield from every_class(branch)


MADE = {CityError: ("my-city", ["one fault", "another"]), MissingExtraError: ("runcard serve", "fastapi", "service")}
"""What errors are made from that are not made from their message."""


@pytest.mark.parametrize("kind", list(every_class(RuncardError)))
def test_an_error_comes_back_as_it_was(kind: type[RuncardError]) -> None:
    """Pickled, and copied, an error has its type, message, exit code, attributes and notes."""
    error = kind(*MADE.get(kind, ("something is wrong",)))
    error.add_note("while reading")
    pickled = [pickle.loads(pickle.dumps(error, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
    for again in (*pickled, copy.copy(error), copy.deepcopy(error)):
        assert type(again) is kind
        assert (str(again), again.args, again.exit_code) == (str(error), error.args, error.exit_code)
        assert vars(again) == vars(error)


def test_a_city_error_keeps_its_faults() -> None:
    """The list of faults is there, each once, not only the message that was made of it."""
    again = pickle.loads(pickle.dumps(CityError("my-city", ["one fault", "another"])))
    assert (again.where, again.faults) == ("my-city", ("one fault", "another"))
    assert str(again) == "my-city: 2 faults: one fault; another"


def test_every_error_of_the_module_is_tried() -> None:
    """The tree of the module is what the test above walks."""
    listed = {kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, RuncardError)}
    assert listed <= set(every_class(RuncardError))
