"""The fits that several tests look at, made once."""

from dataclasses import replace

import numpy as np
import pytest
from tests.calibrate.cities import known_fit, road_city

from runcard.calibrate.fit import Fit, fit_city
from runcard.calibrate.mapping import TIMES


@pytest.fixture(scope="session")
def fit_of_known_city(tmp_path_factory: pytest.TempPathFactory) -> Fit:
    """The fit of the known city to 4000 incidents."""
    return known_fit(tmp_path_factory.mktemp("known"))


@pytest.fixture(scope="session")
def coarse_fit(fit_of_known_city: Fit) -> Fit:
    """The fit to the same log with all times cut to whole minutes."""
    responses = fit_of_known_city.log.responses.copy()
    for name in TIMES:
        responses[name] = 60.0 * np.floor(responses[name] / 60.0)
    return fit_city(road_city(), replace(fit_of_known_city.log, responses=responses))
