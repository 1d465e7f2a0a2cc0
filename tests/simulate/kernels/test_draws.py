"""Random numbers by key are uniform and unrelated, and times have the laws of `simulate/sampling.py`."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from runcard.city import Driving
from runcard.response.laws import branches, driving_laws
from runcard.simulate.engine import batch_key
from runcard.simulate.kernels.draws import BUSY, EVERYBODY, LINK, draw_key, draw_time, incident_key, uniform
from runcard.simulate.sampling import SampledLaw, link_laws, sampled_law

NUM_DRAWS = 20_000
KEY = np.uint64(incident_key(batch_key(1, 0), 0))


def uniforms(keys: Sequence[int]) -> NDArray[np.float64]:
    """Uniform numbers from hashes."""
    return np.array([uniform(np.uint64(key)) for key in keys])


def draws(law: SampledLaw, mean: float = 1.0) -> NDArray[np.float64]:
    """Times of a law, one for each of some links."""
    return np.array([draw_time(law, mean, np.uint64(draw_key(KEY, LINK, 0, link))) for link in range(NUM_DRAWS)])


FAMILIES = {
    "links": [draw_key(KEY, LINK, 0, link) for link in range(NUM_DRAWS)],
    "links met together": [draw_key(KEY, LINK, EVERYBODY, link) for link in range(NUM_DRAWS)],
    "trucks": [draw_key(KEY, LINK, truck, 0) for truck in range(NUM_DRAWS)],
    "purposes": [draw_key(KEY, what, 0, 0) for what in range(NUM_DRAWS)],
    "incidents": [incident_key(batch_key(1, 0), number) for number in range(NUM_DRAWS)],
    "busy times": [
        draw_key(np.uint64(incident_key(batch_key(1, 0), number)), BUSY, 0, 0) for number in range(NUM_DRAWS)
    ],
    "batches": [int(batch_key(1, number)) for number in range(NUM_DRAWS)],
    "seeds": [int(batch_key(seed, 0)) for seed in range(NUM_DRAWS)],
}
"""Hashes whose keys differ by one each."""


@pytest.mark.parametrize("name", FAMILIES)
def test_neighbouring_keys_give_uniform_and_unrelated_numbers(name: str) -> None:
    """Hashes of keys that differ by one are uniform in every part, each differs, and neighbours are not correlated."""
    hashes = FAMILIES[name]
    assert len(set(hashes)) == NUM_DRAWS
    found = uniforms(hashes)
    assert found.min() > 0.0
    assert found.max() < 1.0
    assert stats.chisquare(np.bincount((found * 100).astype(int), minlength=100)).pvalue > 1e-4
    for lag in (1, 2, 7):
        assert abs(np.corrcoef(found[lag:], found[:-lag])[0, 1]) < 4.0 / np.sqrt(NUM_DRAWS)
    pairs = np.bincount((found[1:] * 16).astype(int) * 16 + (found[:-1] * 16).astype(int), minlength=256)
    assert stats.chisquare(pairs).pvalue > 1e-4


def test_families_of_keys_do_not_meet() -> None:
    """No two draws with other purposes, trucks, links or incidents have the same hash, and families are unrelated."""
    different = {name: hashes[2:] for name, hashes in FAMILIES.items() if name not in ("batches", "seeds")}
    assert len({key for hashes in different.values() for key in hashes}) == len(different) * (NUM_DRAWS - 2)
    numbers = {name: uniforms(hashes) for name, hashes in different.items()}
    for one in numbers:
        for other in numbers:
            if one != other:
                assert abs(np.corrcoef(numbers[one], numbers[other])[0, 1]) < 4.5 / np.sqrt(NUM_DRAWS)


def test_the_extremes_of_a_hash_are_inside() -> None:
    """A uniform number is never 0 or 1, so that its logarithm is finite and below 0."""
    assert 0.0 < uniform(np.uint64(0)) < 1e-15
    assert 1.0 - 1e-15 < uniform(np.uint64(2**64 - 1)) < 1.0


def hyperexponential_cdf(cv: float) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """The distribution function of a hyperexponential time of mean 1."""
    (short, short_mean), (long, long_mean) = branches(cv)
    return lambda y: 1.0 - short * np.exp(-y / short_mean) - long * np.exp(-y / long_mean)


LAWS = {
    "exponential": (sampled_law("exponential"), 1.0, stats.expon.cdf),
    "gamma, shape above 1": (sampled_law("gamma", 0.4), 0.4, stats.gamma(6.25, scale=0.16).cdf),
    "gamma, shape 1": (sampled_law("gamma", 1.0), 1.0, stats.expon.cdf),
    "gamma, shape below 1": (sampled_law("gamma", 1.6), 1.6, stats.gamma(1.6**-2, scale=1.6**2).cdf),
    "gamma, shape far below 1": (sampled_law("gamma", 4.0), 4.0, stats.gamma(1.0 / 16.0, scale=16.0).cdf),
    "lognormal": (
        sampled_law("lognormal", 0.8),
        0.8,
        stats.lognorm(np.sqrt(np.log1p(0.64)), scale=1.0 / np.sqrt(1.64)).cdf,
    ),
    "hyperexponential": (sampled_law("hyperexponential", 1.7), 1.7, hyperexponential_cdf(1.7)),
    "hyperexponential, one branch": (sampled_law("hyperexponential", 1.0), 1.0, stats.expon.cdf),
    "pareto": (sampled_law("pareto", tail_index=5.0), np.sqrt(5.0 / 3.0), stats.lomax(5.0, scale=4.0).cdf),
    "pareto, no variance": (sampled_law("pareto", tail_index=1.8), None, stats.lomax(1.8, scale=0.8).cdf),
}


@pytest.mark.parametrize("name", LAWS)
def test_times_have_their_law(name: str) -> None:
    """Times have the mean, the variation and the distribution function of their law."""
    law, cv, cdf = LAWS[name]
    found = draws(law, 3.0) / 3.0
    assert found.min() >= 0.0
    assert stats.kstest(found, cdf).pvalue > 1e-3
    if cv is not None:
        assert found.mean() == pytest.approx(1.0, abs=4.0 * cv / np.sqrt(NUM_DRAWS))
        assert found.std() == pytest.approx(cv, rel=0.25 if cv > 2.0 else 0.08)


@pytest.mark.parametrize("model", ["fixed", "gamma", "lognormal"])
def test_no_variation_is_no_randomness(model: str) -> None:
    """A variation of 0, like a fixed time, is the mean itself."""
    law = sampled_law(model, None if model == "fixed" else 0.0)
    assert set(draws(law, 3.0)[:100]) == {3.0}


def test_the_fixed_part_is_not_random() -> None:
    """Of a time with a fixed part, the rest has the law, and the mean stays."""
    law = sampled_law("exponential", fixed=0.25)
    found = draws(law, 2.0)
    assert found.min() >= 0.5
    assert stats.kstest((found - 0.5) / 1.5, stats.expon.cdf).pvalue > 1e-3
    assert set(draws(sampled_law("lognormal", 0.5, fixed=1.0), 2.0)[:100]) == {2.0}


@pytest.mark.parametrize("branch", ["short", "long"])
def test_a_coupled_branch_is_met_together(branch: str) -> None:
    """With a coupled branch, links are met together as often and as long as the lateness mathematics has it."""
    driving = Driving(model="hyperexponential", cv=1.5, fixed_part=0.2, coupled_branch=branch)
    laws, exact = link_laws(driving, 0.3), driving_laws(driving, 0.3)
    assert laws.chance == exact.chance
    assert draws(laws.together).mean() == pytest.approx(exact.together.mean, rel=0.04)
    assert draws(laws.apart).mean() == pytest.approx(exact.apart.mean, rel=0.04)
    mean = laws.chance * exact.together.mean + (1.0 - laws.chance) * exact.apart.mean
    assert mean == pytest.approx(exact.alone.mean)
