"""The law of turnout, and whether units leave together."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import optimize, stats

from runcard.calibrate.turnout import TogetherFit, TurnoutFit, fit_together, fit_turnout, without_strays

MEAN, CV = 1.3, 0.5
SIGMA = np.sqrt(np.log1p(CV**2))
SECOND, MINUTE = 1.0 / 60.0, 1.0

Floats = NDArray[np.float64]


def times_of(model: str, rng: np.random.Generator, num: int) -> Floats:
    """Turnout times of a law."""
    if model == "exponential":
        return rng.exponential(MEAN, num)
    if model == "gamma":
        return rng.gamma(CV**-2, MEAN * CV**2, num)
    return MEAN * np.exp(SIGMA * rng.standard_normal(num) - SIGMA**2 / 2.0)


def counted(rng: np.random.Generator, times: Floats, step: float, begin: Floats | None = None) -> NDArray[np.int64]:
    """How often a clock goes on in each of some times, which begin anywhere between two of its steps."""
    return np.floor(times / step + (rng.random(times.shape) if begin is None else begin)).astype(np.int64)


def fit_of(rng: np.random.Generator, times: Floats, step: float = SECOND) -> TurnoutFit:
    """The fit to times that a clock counted, each of an incident of its own."""
    return fit_turnout(counted(rng, times, step), step, np.arange(len(times)))


def aic_of_scipy(model: str, steps: NDArray[np.int64], step: float) -> tuple[float, Floats]:
    """The AIC of a law of scipy, and its likeliest mean and variation, for times that a clock counted.

    A time between d - s and d + s is counted as d with a chance that falls in a straight line from 1 at d; that is
    integrated over the density.
    """
    nodes, weights = np.polynomial.legendre.leggauss(24)
    part, weights = ((nodes + 1.0) / 2.0) ** 3, 1.5 * ((nodes + 1.0) / 2.0) ** 2 * weights  # dense near 0
    begin = np.arange(steps.max() + 1)[:, None] * step
    times = np.stack([begin - step * (1.0 - part), begin + step * part])
    heights = np.stack([part, 1.0 - part])[:, None]

    def cost(numbers: Floats) -> float:
        mean, cv = np.exp(numbers[0]), np.exp(numbers[-1])
        law = {
            "exponential": stats.expon(scale=mean),
            "gamma": stats.gamma(cv**-2, scale=mean * cv**2),
            "lognormal": stats.lognorm(np.sqrt(np.log1p(cv**2)), scale=mean / np.sqrt(1.0 + cv**2)),
        }[model]
        chance = step * (law.pdf(times) * heights @ weights).sum(axis=0)
        return -2.0 * float(np.log(np.maximum(chance, 1e-300))[steps].sum())

    num = 1 if model == "exponential" else 2
    found = optimize.minimize(
        cost, np.log([MEAN, CV][:num]), method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-6}
    )
    return 2.0 * num + found.fun, np.exp(found.x)


@pytest.mark.parametrize("model", ["exponential", "gamma", "lognormal"])
def test_the_law_is_found_and_its_numbers_are_those_of_scipy(model: str) -> None:
    """Of 3000 times the law is the one that they were drawn from, with the likeliest parameters and AIC of scipy."""
    rng, step = np.random.default_rng(3), 20.0 * SECOND
    steps = counted(rng, times_of(model, rng, 3000), step)
    found = fit_turnout(steps, step, np.arange(3000))
    assert found.model == model
    aic, expected = aic_of_scipy(model, steps, step)
    assert found.mean_minutes == pytest.approx(expected[0], rel=1e-4)
    assert found.cv is None if len(expected) == 1 else found.cv == pytest.approx(expected[1], rel=1e-4)
    for other, more in found.better_than:
        assert more == pytest.approx(aic_of_scipy(other, steps, step)[0] - aic, abs=1e-3)
        assert more > 0.0


@pytest.mark.slow
@pytest.mark.parametrize("step", [6.0 * SECOND, MINUTE])
@pytest.mark.parametrize("model", ["exponential", "gamma", "lognormal"])
def test_intervals_cover_the_truth(model: str, step: float) -> None:
    """Over 150 samples of 400 times, on a fine and a coarse clock, the intervals of mean and variation hold the truth
    about 95 % of the time, and are no wider than that takes."""
    rng, fits = np.random.default_rng(8), []
    for _ in range(150):
        found = fit_of(rng, times_of(model, rng, 400), step)
        if found.model == model:
            fits.append(found)
    assert len(fits) > (110 if step < MINUTE else 75)
    for values, halves, truth in (
        ([one.mean_minutes for one in fits], [one.mean_half for one in fits], MEAN),
        ([one.cv or CV for one in fits], [one.cv_half for one in fits], CV),
    ):
        inside = np.abs(np.array(values) - truth) <= halves
        assert inside.sum() >= stats.binom.ppf(0.0005, len(fits), 0.94)
        assert np.mean(halves) <= 1.2 * 1.96 * np.std(values)


def test_intervals_of_a_wide_lognormal_law_are_those_of_the_textbook() -> None:
    """Cox: s² being the variance of the logarithms, that of log mean is (s² + s^4/2) / n, and that of s² 2 s^4 / n."""
    num, mean, cv = 10_000, MEAN, np.sqrt(np.e - 1.0)  # s = 1
    found = fit_of(rng := np.random.default_rng(4), mean * np.exp(rng.standard_normal(num) - 0.5), 6.0 * SECOND)
    assert found.model == "lognormal"
    assert found.mean_half == pytest.approx(1.96 * mean * np.sqrt(1.5 / num), rel=0.05)
    assert found.cv_half == pytest.approx(1.96 * np.e / (2.0 * cv) * np.sqrt(2.0 / num), rel=0.06)


@pytest.mark.slow
def test_units_that_leave_together_widen_the_intervals() -> None:
    """Three times of one incident that are the same say no more than one: intervals count that."""
    rng, inside = np.random.default_rng(5), np.zeros(2)
    for _ in range(100):
        steps = np.repeat(counted(rng, times_of("gamma", rng, 150), 6.0 * SECOND), 3)
        for way, incident in enumerate((np.repeat(np.arange(150), 3), np.arange(450))):
            found = fit_turnout(steps, 6.0 * SECOND, incident)
            inside[way] += abs(found.mean_minutes - MEAN) <= found.mean_half
    assert inside[0] >= stats.binom.ppf(0.001, 100, 0.93)
    assert inside[1] < 85


def test_clocks_of_seconds_and_minutes_tell_the_same() -> None:
    """5000 times, cut or rounded to seconds, tens of seconds and minutes, have the truth inside the interval."""
    rng = np.random.default_rng(1)
    begin, times = rng.random(5000) * 600.0, times_of("lognormal", rng, 5000)
    for step in (SECOND, 10.0 * SECOND, MINUTE):
        for shown in (np.floor, np.round):
            steps = (shown((begin + times) / step) - shown(begin / step)).astype(np.int64)
            found = fit_turnout(steps, step, np.arange(5000))
            assert found.model == "lognormal"
            assert found.cv is not None
            assert abs(found.mean_minutes - MEAN) <= found.mean_half < 0.03
            assert abs(found.cv - CV) <= found.cv_half < 0.025


def test_times_that_are_all_the_same() -> None:
    """Turnouts of 0 seconds do no harm; the same times all over are no error."""
    rng = np.random.default_rng(1)
    found = fit_of(rng, np.where(np.arange(2000) % 10, times_of("exponential", rng, 2000), 0.0))
    assert found.mean_minutes == pytest.approx(0.9 * MEAN, rel=0.1)
    same = fit_turnout(np.full(40, 90), SECOND, np.arange(40))
    assert same.mean_minutes == pytest.approx(1.5)
    assert same.cv is not None
    assert 0.0 <= same.cv < 0.01


def test_a_log_without_turnout_has_none() -> None:
    """Where units are on the road at the moment of dispatch, always, turnout is 0 for sure."""
    found = fit_turnout(np.zeros(40, np.int64), SECOND, np.arange(40))
    assert (found.model, found.mean_minutes, found.mean_half, found.cv) == ("exponential", 0.0, 0.0, None)


def together_of(rng: np.random.Generator, part: float, step: float, num: int = 300) -> TogetherFit:
    """The fit to pairs of which this part leave together; both are sent at one moment."""
    times = times_of("gamma", rng, 2 * num).reshape(num, 2)
    times[:, 1] = np.where(rng.random(num) < part, times[:, 0], times[:, 1])
    steps = counted(rng, times, step, rng.random((num, 1)))
    pairs = np.arange(2 * num).reshape(num, 2)
    return fit_together(steps.ravel() * step, pairs, np.ones(num, np.bool_), step, np.repeat(np.arange(num), 2))


@pytest.mark.parametrize("step", [SECOND, MINUTE])
@pytest.mark.parametrize("part", [0.0, 0.3, 1.0])
def test_whether_units_leave_together(part: float, step: float) -> None:
    """Of pairs that leave together never, sometimes or always the correlation is that part, on any clock: its interval
    holds it as often as it says and is no wider than that takes."""
    rng = np.random.default_rng(6)
    fits = [together_of(rng, part, step) for _ in range(200)]
    values, ends = np.array([one.correlation for one in fits]), np.array([(one.low, one.high) for one in fits])
    assert {one.num_pairs for one in fits} == {300}
    if part == 1.0:
        assert ends == pytest.approx(1.0)
        return
    assert values.mean() == pytest.approx(part, abs=4.0 * values.std() / np.sqrt(200) + 0.01)
    assert ((ends[:, 0] <= part) & (part <= ends[:, 1])).sum() >= stats.binom.ppf(0.0005, 200, 0.94)
    assert np.ptp(ends, axis=1).mean() <= 1.15 * 2.0 * 1.96 * values.std()


def test_a_button_pressed_an_hour_late_says_nothing_of_leaving_together() -> None:
    """One time of an hour among 300 pairs leaves the answer as it is."""
    rng = np.random.default_rng(2)
    for part in (0.0, 1.0):
        times = times_of("gamma", rng, 600).reshape(300, 2)
        times[:, 1] = times[:, int(part == 0.0)]
        times[17, 0] = 60.0
        pairs = np.arange(600).reshape(300, 2)
        found = fit_together(times.ravel(), pairs, np.ones(300, np.bool_), SECOND, np.repeat(np.arange(300), 2))
        assert found.correlation == pytest.approx(part, abs=0.15)
        assert found.high - found.low < 0.3


def test_few_pairs_and_times_that_do_not_vary_say_nothing() -> None:
    """Then the correlation is unknown and its interval everything."""
    pairs = np.arange(80).reshape(40, 2)
    for num, times in ((29, np.arange(80.0)), (40, np.ones(80))):
        found = fit_together(times, pairs[:num], np.ones(num, np.bool_), SECOND, np.arange(80) // 2)
        assert np.isnan(found.correlation)
        assert (found.low, found.high, found.num_pairs) == (-1.0, 1.0, num)


@pytest.mark.parametrize("model", ["gamma", "lognormal"])
def test_units_that_leave_at_once_from_elsewhere(model: str) -> None:
    """Of 3000 units 5 in a hundred were elsewhere and leave at once: the law of all holds the truth in no interval, and
    with what those from home say it does: they lose more than half of its error. Nobody knows more than a chance."""
    inside, before, off, without = (np.zeros((3, 2)) for _ in range(4))
    for seed in range(3):
        rng = np.random.default_rng(seed)
        home = rng.uniform(0.9, 1.0, 3000)
        times = np.where(rng.random(3000) < home, times_of(model, rng, 3000), rng.uniform(0.05, 0.3, 3000))
        steps = counted(rng, times, SECOND)
        found = fit_turnout(steps, SECOND, np.arange(3000))
        of_home = without_strays(found, steps, SECOND, home)
        assert of_home is not None
        assert found.cv is not None
        of_all, halves = np.array([found.mean_minutes, found.cv]), np.array([found.mean_half, found.cv_half])
        low, high = np.minimum(of_all, of_home) - halves, np.maximum(of_all, of_home) + halves
        off[seed], without[seed] = of_all - (MEAN, CV), of_home - np.array([MEAN, CV])
        before[seed] = np.abs(of_all - (MEAN, CV)) <= halves
        inside[seed] = (low <= (MEAN, CV)) & (high >= (MEAN, CV))
    assert before.mean() <= 0.1
    assert inside.mean() >= 0.95
    assert (np.abs(without.mean(axis=0)) < 0.5 * np.abs(off.mean(axis=0))).all()


@pytest.mark.slow
@pytest.mark.parametrize("model", ["exponential", "gamma", "lognormal"])
def test_where_all_leave_alike_nothing_is_said_of_those_from_home(model: str) -> None:
    """Units that were elsewhere and leave as the others do change nothing, and neither do turnouts of 0 seconds."""
    rng = np.random.default_rng(1)
    steps, home = counted(rng, times_of(model, rng, 1000), SECOND), rng.uniform(0.7, 1.0, 1000)
    assert without_strays(fit_turnout(steps, SECOND, np.arange(1000)), steps, SECOND, home) is None
    none = np.zeros(50, np.int64)
    assert without_strays(fit_turnout(none, SECOND, np.arange(50)), none, SECOND, np.full(50, 0.9)) is None
