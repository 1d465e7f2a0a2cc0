"""The fit that several tests look at, made once."""

import pytest
from tests.calibrate.cities import known_fit

from runcard.calibrate.fit import Fit


@pytest.fixture(scope="session")
def fit_of_known_city(tmp_path_factory: pytest.TempPathFactory) -> Fit:
    """The fit of the known city to 4000 incidents."""
    return known_fit(tmp_path_factory.mktemp("known"))
