"""The laws of times: drawn times, numerical integration, and what a city folder keeps."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from tests.response.oracles import draw, fork, words

from runcard.city import Driving, Turnout, read_city, write_city
from runcard.response.laws import driving_laws

LAWS = [
    Driving(),
    Driving("gamma", cv=0.5),
    Driving("gamma", cv=2.0),
    Driving("lognormal", cv=1.2),
    Driving("hyperexponential", cv=1.5),
    Driving("pareto", tail_index=2.5),
    Driving("pareto", tail_index=2.0),
    Driving("pareto", tail_index=1.2),
    Driving("gamma", cv=0.8, fixed_part=0.4),
    Driving("gamma", cv=0.0, fixed_part=0.4),
]


@pytest.mark.parametrize("driving", LAWS, ids=words)
def test_the_excess_of_a_law(driving: Driving) -> None:
    """The expected excess at 0 is the mean, and between two times it falls by what drawn times have there."""
    law, mean = driving_laws(driving, 1.0).alone, np.array([1.7])
    assert float(law.excess(np.zeros(1), mean)[0, 0]) == pytest.approx(1.7)
    times = draw(driving, 1.7, np.random.default_rng(1), 400_000) if driving.cv != 0.0 else np.full(9, 1.7)
    for low, high in ((0.0, 0.5), (0.5, 2.0), (2.0, 6.0), (6.0, 40.0)):
        drawn = np.clip(times - low, 0.0, high - low)
        found = -float(np.diff(law.excess(np.array([low, high]), mean)[0])[0])
        assert found == pytest.approx(drawn.mean(), abs=4.0 * drawn.std() / np.sqrt(len(drawn)) + 1e-9)


@pytest.mark.parametrize("driving", LAWS, ids=words)
def test_the_integral_of_the_excess(driving: Driving) -> None:
    """The integral from 0 to x is what numerical integration gives, before and after the fixed part."""
    law = driving_laws(driving, 1.0).alone
    for mean in (0.3, 2.0):
        for end in (0.05, 0.5, 1.0, 3.0, 20.0):

            def excess(x: float, mean: float = mean) -> float:
                return float(law.excess(np.array([x]), np.array([mean]))[0, 0])

            kinks = [one for one in (law.fixed * mean, mean) if one < end]
            expected = quad(excess, 0.0, end, points=kinks or None, limit=200)[0]
            found = float(law.excess_integral(np.array([end]), np.array([mean]))[0, 0])
            assert found == pytest.approx(expected, rel=1e-9)


def test_a_coupled_branch_is_part_of_its_law() -> None:
    """Met together with one branch and apart with the other, a link has the law of a truck alone."""
    times, means = np.linspace(0.0, 9.0, 40), np.array([0.4, 1.3])
    for branch in ("short", "long"):
        laws = driving_laws(Driving("hyperexponential", cv=1.7, coupled_branch=branch), 1.0)
        mixed = laws.chance * laws.together.excess(times, means) + (1 - laws.chance) * laws.apart.excess(times, means)
        np.testing.assert_allclose(mixed, laws.alone.excess(times, means), rtol=1e-12)
        assert laws.mixed


def test_laws_are_kept_in_a_city_folder(make_city: Any, tmp_path: Path) -> None:
    """A city with a law and a turnout time is read back as it was written."""
    for driving in LAWS:
        city = fork(make_city, driving=driving, turnout=Turnout(0.5, "gamma", 0.3, shared=False))
        folder = tmp_path / words(driving)
        write_city(city, folder)
        assert read_city(folder) == city
