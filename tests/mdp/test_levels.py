"""Tests of the distribution of idle trucks and of the bounds that rest on it; test_bounds.py has what they prove."""

import numpy as np
import pytest
from tests.seeds import each_seed

from runcard.mdp.bounds import Residuals
from runcard.mdp.cpu import cpu_backend

from .problems import make_problem, random_problem, random_values
from .reference import Dense, erlang_loss, level_distribution


@each_seed(20)
def test_the_distribution_solves_its_balance_equations(seed: int) -> None:
    """The recursion agrees with the linear equations of the number of idle trucks, for mixed needs."""
    problem = random_problem(seed)
    np.testing.assert_allclose(problem.levels.idle_distribution, level_distribution(problem), rtol=1e-8, atol=1e-15)


@pytest.mark.parametrize("load", [1e-6, 0.01, 0.5, 1.0, 7.0])
def test_distributions_by_hand(load: float) -> None:
    """With one truck to an incident, b trucks are busy with a chance in proportion to ρ^b / b!, Erlang's loss formula.

    Of two trucks that go together, ρ = λ/μ, both, one and none idle are as 1 : ρ : ρ (1 + ρ) / 2.
    """
    found = make_problem([3, 2, 2], [1, 1], load=load).levels.idle_distribution
    np.testing.assert_allclose(found, erlang_loss(load * 7, 7), rtol=1e-12)
    rho = 2 * load
    weights = np.array([rho * (1 + rho) / 2, rho, 1.0])
    together = make_problem([1, 1], [2], load=load).levels.idle_distribution
    np.testing.assert_allclose(together, weights / weights.sum(), rtol=1e-13)


@each_seed(10)
def test_weights_add_up_both_ends_of_every_change(seed: int) -> None:
    """Rounding is weighed by w: the sizes of the values before and after each change of level, as often as it comes."""
    levels = random_problem(seed).levels
    sizes = np.random.default_rng(seed).random(levels.num_trucks + 1)
    by_hand = 0.0
    for n, chance in enumerate(levels.idle_distribution):
        for m, rate in enumerate(levels.generator[n]):
            by_hand += chance * rate * (sizes[n] + sizes[m]) if m != n else 0.0
    assert levels.weights @ sizes == pytest.approx(by_hand, rel=1e-12)


@pytest.mark.parametrize("load", [1e-9, 1e3])
def test_loads_beyond_what_a_float_spans(load: float) -> None:
    """With 300 trucks at a load of a billionth or a thousand, the distribution is still one, without a warning."""
    distribution = make_problem([100, 100, 100], [1], load=load * (1.0 - 1e-9)).levels.idle_distribution
    assert distribution.sum() == pytest.approx(1.0, abs=1e-14)
    assert distribution.min() >= 0.0
    assert distribution.argmax() == (300 if load < 1 else 0)


@pytest.mark.parametrize("level", range(5))
def test_rounding_counts_the_values_that_an_incident_leads_to(level: int) -> None:
    """A residual of level 4 is a sum of values down to level 0: however large one is, bounds allow for its rounding."""
    largest = np.zeros(5)
    largest[level] = 1e3
    problem = make_problem([4], [4, 3, 2, 1], load=0.5)
    bounds = problem.bounds(Residuals(np.zeros(5), np.zeros(5), largest))
    all_idle, rarest = problem.levels.idle_distribution[4], problem.levels.rates.min()
    assert bounds.upper >= np.finfo(float).eps * 1e3 * all_idle * rarest
    assert bounds.lower == -bounds.upper


@each_seed(6)
def test_the_bounds_are_the_extreme_residuals_of_each_level(seed: int) -> None:
    """The bounds are Σ P(n) min v and Σ P(n) max v, with v the residual of the Bellman equation, state by state."""
    problem = random_problem(seed)
    dense = Dense(problem)
    value = random_values(problem, seed)
    table, h = dense.greedy_table(value), value[: problem.num_states]
    residual = dense.rate_of(problem.cost, table) + dense.tau * (dense.matrix(table) @ h - h)
    levels, weights = np.array(dense.states).sum(axis=1), level_distribution(problem)
    expected = [
        sum(weight * extreme(residual[levels == n]) for n, weight in enumerate(weights)) for extreme in (np.min, np.max)
    ]
    found = problem.bounds(cpu_backend(problem, 1).improve(value).residuals)
    np.testing.assert_allclose([found.lower, found.upper], expected, rtol=1e-9)
