"""Drives of a law with a scale: what each truck meets on a link, and what two of them meet there."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from runcard.city import Driving
from runcard.simulate.engine import batch_key
from runcard.simulate.kernels.draws import incident_key
from runcard.simulate.kernels.drive import drive_route, link_time
from runcard.simulate.model import LINK, RoadModel
from runcard.simulate.sampling import link_laws

NUM = 5_000
KEYS = [np.uint64(incident_key(batch_key(3, 0), number)) for number in range(NUM)]


def roads(means: list[float], q: float, theta: float, fixed: float = 0.0) -> RoadModel:
    """One route over links of these means."""
    links = np.array([(mean, 0, False) for mean in means], LINK)
    laws = link_laws(Driving("gamma", scale_minutes=theta, fixed_part=fixed), q)
    every = np.arange(len(means), dtype=np.int32)
    return RoadModel(links, laws, False, np.array([0, len(means)]), every)


def two_trucks(model: RoadModel) -> NDArray[np.float64]:
    """[truck, incident] what each of two trucks meets on the first link."""
    return np.array([[link_time(model, key, truck, 0) for key in KEYS] for truck in (4, 5)])


@pytest.mark.parametrize("q", [0.0, 0.05, 0.6, 1.0])
@pytest.mark.parametrize(("mean", "theta"), [(0.05, 0.5), (1.0, 0.5), (2.0, 0.05)])
def test_every_truck_has_the_law_of_the_link_and_two_the_correlation(q: float, mean: float, theta: float) -> None:
    """A time is gamma of the mean and the scale, shapes far below 1 included, and two on a link correlate by q."""
    first, second = two_trucks(roads([mean], q, theta))
    law = stats.gamma(mean / theta, scale=theta)
    for times in (first, second):
        assert stats.kstest(times, law.cdf).pvalue > 1e-3
        assert times.mean() == pytest.approx(mean, abs=4.0 * law.std() / np.sqrt(NUM))
    # The spread of an empirical covariance, from the sample itself
    products = (first - mean) * (second - mean) / law.var()
    assert products.mean() == pytest.approx(q, abs=4.0 * products.std() / np.sqrt(NUM) + 1e-12)
    assert (first == second).all() == (q == 1.0)


def test_the_fixed_part_is_everybodys() -> None:
    """Of a time with a fixed part, the rest is gamma with the mean and scale that are left."""
    first, _ = two_trucks(roads([2.0], 0.3, 0.4, fixed=0.25))
    assert first.min() >= 0.5
    assert stats.kstest(first - 0.5, stats.gamma(1.5 / 0.4, scale=0.4).cdf).pvalue > 1e-3


@pytest.mark.parametrize("means", [[3.0], [0.4, 1.6, 1.0], [0.05] * 60], ids=["one", "three", "sixty"])
def test_a_route_has_one_law_however_it_is_cut(means: list[float]) -> None:
    """A route of three minutes has the gamma law of its mean, in one, three and sixty links."""
    model = roads(means, 0.4, 0.5)
    times = np.array([drive_route(model, 0, key, 7) for key in KEYS])
    assert stats.kstest(times, stats.gamma(6.0, scale=0.5).cdf).pvalue > 1e-3
