"""Lattices: moments of what they hold, sums against closed forms, and when they stop."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import gammaincc
from tests.response.oracles import words

from runcard.city import Driving
from runcard.errors import NotConvergedError
from runcard.response.lattice import PAD, Lattice, refined
from runcard.response.laws import driving_laws

LAWS = [Driving(), Driving("gamma", cv=0.5), Driving("lognormal", cv=1.2), Driving("gamma", cv=0.8, fixed_part=0.4)]


@pytest.mark.parametrize("driving", LAWS, ids=words)
def test_short_links_keep_their_mean_and_variance(driving: Driving) -> None:
    """A link far shorter than a step has its mean on the lattice, and its variance, not that of the rounding."""
    lattice, law = Lattice(20.0, 160), driving_laws(driving, 1.0).alone
    times = lattice.step * (np.arange(lattice.size) - PAD)
    for mean in (0.001, 0.02, 0.1):
        masses = lattice.masses(lattice.transforms(law, np.array([mean])))[0]
        assert masses.sum() == pytest.approx(1.0, abs=1e-7)
        assert masses @ times == pytest.approx(mean, abs=1e-6)
        variance = float(masses @ times**2) - mean**2
        assert variance == pytest.approx((law.deviation * mean) ** 2, abs=1e-5)


@pytest.mark.parametrize("links", [1, 5, 60, 400])
def test_how_finely_a_road_is_cut_hardly_matters_to_the_lattice(links: int) -> None:
    """P(S > T) of gamma links that add up to the same gamma time is right to 5e-5 on 192 steps, however many."""
    shape = 36.0
    law = driving_laws(Driving("gamma", cv=float(np.sqrt(links / shape))), 1.0).alone
    lattice = Lattice(7.0, 192)
    product = lattice.transforms(law, np.array([6.0 / links]))[0] ** links
    arrived = lattice.arrived(product * lattice.delay)
    late = 1.0 - 0.5 * (arrived[lattice.end] + arrived[lattice.end - 1])
    assert late == pytest.approx(gammaincc(shape, 7.0 * shape / 6.0), abs=5e-5)


def test_arrivals_and_transforms_are_inverse() -> None:
    """What has arrived gives back the transforms that it came from, up to the end of the lattice."""
    lattice, law = Lattice(20.0, 96), driving_laws(Driving("gamma", cv=0.6), 1.0).alone
    product = lattice.transforms(law, np.array([1.5]))[0] ** 2 * lattice.delay
    arrived = lattice.arrived(product)
    again = lattice.arrived(lattice.transforms_of(arrived))
    np.testing.assert_allclose(again, arrived, rtol=0, atol=1e-7)


def test_refining_finds_the_limit_and_states_its_error() -> None:
    """Numbers with an error in h² and h⁴ settle at their limit, each demand point with as few steps as it takes."""
    asked: list[tuple[int, int]] = []

    def at(num_steps: int, points: NDArray[np.int64]) -> NDArray[np.float64]:
        asked.append((num_steps, len(points)))
        h = 1.0 / num_steps
        return np.array([0.3 + 0.5 * h**2 * (points + 1.0) + 10.0 * points**4 * h**4 + points * h**6])

    points = np.array([0, 4, 9])
    found, error = refined(at, points, np.array([1e-9]))
    assert np.abs(found - 0.3).max() <= error[0] < 1e-7
    assert asked[:4] == [(48, 3), (96, 3), (192, 3), (384, 2)]
    assert asked[-1][1] == 1


def test_what_does_not_settle_is_said() -> None:
    """A step function that a lattice never resolves is an error and not a number."""
    with pytest.raises(NotConvergedError, match="did not settle"):
        refined(lambda steps, points: np.full((1, len(points)), float(steps % 5)), np.array([0]), np.array([1e-6]))
