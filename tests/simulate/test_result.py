"""What a simulation found: intervals, quantiles and paired differences."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from runcard.city.model import Standard
from runcard.errors import InputError
from runcard.policy.solve import evaluate
from runcard.simulate.kernels.run import BIN_WIDTH, LEAST_MINUTES, NUM_BINS, bin_of
from runcard.simulate.result import (
    Batch,
    Interval,
    KindSimulation,
    Misses,
    SimulatedPolicy,
    Simulation,
    all_misses,
    difference_interval,
    interval_of,
    quantile,
)
from runcard.simulate.scenario import Scenario

from .cases import policies_of, records_of, simulated, small_city


def binned(minutes: np.ndarray) -> np.ndarray:
    """Arrivals in bins."""
    return np.bincount([bin_of(float(arrival)) for arrival in minutes], minlength=NUM_BINS)


@pytest.mark.parametrize("level", [0.9, 0.95, 0.999])
def test_an_interval_is_that_of_student(level: float) -> None:
    """The interval of a mean is Student's, as scipy has it."""
    values = np.random.default_rng(1).normal(3.0, 2.0, 12)
    found = interval_of(values, level)
    low, high = stats.t.interval(level, 11, loc=values.mean(), scale=stats.sem(values))
    assert (found.value, found.low, found.high) == pytest.approx((values.mean(), low, high))
    assert found.half == pytest.approx((high - low) / 2.0)


def test_one_value_says_nothing_about_its_error() -> None:
    """The interval of a single batch is everything."""
    assert interval_of([0.25]) == Interval(0.25, -np.inf, np.inf)


@pytest.mark.parametrize("chance", [0.01, 0.5, 0.9, 0.999])
def test_quantiles_are_those_of_the_arrivals(chance: float) -> None:
    """The quantile of arrivals in bins is theirs but for half a per cent."""
    minutes = np.random.default_rng(3).lognormal(1.5, 1.0, 20_000)
    expected = float(np.quantile(minutes, chance, method="inverted_cdf"))
    assert quantile(binned(minutes), chance) == pytest.approx(expected, rel=1.01 * BIN_WIDTH)


def test_quantiles_at_the_ends() -> None:
    """Arrivals at once and after years are at the ends of the bins, and none at all have no quantile."""
    assert 0.0 <= quantile(binned(np.zeros(10)), 0.5) <= LEAST_MINUTES
    longest = LEAST_MINUTES * np.exp(BIN_WIDTH * (NUM_BINS - 1))
    assert 20.0 * 1440.0 < quantile(binned(np.full(10, 1e12)), 0.5) <= longest
    assert np.isnan(quantile(np.zeros(NUM_BINS, np.int64), 0.5))


def test_quantiles_agree_with_records() -> None:
    """Median and 90th percentile of the first and of the last truck are those of the records."""
    city = small_city()
    policies = policies_of(city)
    batches: list[np.ndarray] = []

    found = simulated(
        city, policies, incidents=32_000, threads=1, keep_records=lambda *given: batches.append(given[2].copy())
    )
    whole = np.concatenate(batches)
    for truck in ("first", "last"):
        for name, chance in (("median", 0.5), ("p90", 0.9)):
            expected = float(np.quantile(whole[truck], chance, method="inverted_cdf"))
            minutes = found.policies[0].minutes(f"{truck}_{name}")
            assert minutes.value == pytest.approx(expected, rel=2 * BIN_WIDTH, abs=LEAST_MINUTES)
            assert minutes.low < minutes.value < minutes.high < 1.1 * minutes.value
        for batch, records in zip(found.policies[0].batches, batches, strict=True):
            assert getattr(batch, f"{truck}_mean") == pytest.approx(float(records[truck].mean()), rel=1e-12)


def test_few_arrivals_say_nothing_about_the_error_of_a_quantile() -> None:
    """With less than 200 incidents in a section the median is told and its interval is not; a typo is an error."""
    city = small_city()
    result = simulated(city, policies_of(city), incidents=320).policies[0]
    assert result.minutes("first_p90").value > result.minutes("first_median").value > 0.0
    assert result.minutes("first_p90").half == np.inf
    assert result.minutes("first_mean").half < np.inf
    with pytest.raises(InputError, match="expected one of first_mean"):
        result.minutes("incidents")


@pytest.mark.slow
def test_the_first_incidents_of_a_batch_are_like_the_others() -> None:
    """Over many short batches the late fraction is the exact one: where counting begins does not matter."""
    city = small_city(load=0.4)
    policy = policies_of(city)[0]
    found = [simulated(city, [policy], incidents=32 * 6, seed=seed).policies[0] for seed in range(150)]
    late = interval_of(np.concatenate([one.late / one.incidents for one in found]), level=0.9999)
    assert late.low < evaluate(policy).late_fraction < late.high
    assert late.half < 0.06 * late.value


NO_BINS = np.zeros((1, 2, NUM_BINS), np.int64)


def batch_with(late: int, incidents: int, **given: Any) -> Batch:
    """A batch with some late incidents."""
    zeros = dict.fromkeys(("first_mean", "last_mean"), 0.0)
    return Batch(
        **{"incidents": incidents, "late": late, "outside": 0, "turned": 0, "minutes": 100.0} | zeros | given,
        busy_minutes=np.array([25.0, 50.0]),
        dispatches=np.array([1, 2]),
        idle_minutes=np.array([10.0, 20.0, 70.0]),
    )


def of_late(*late: tuple[int, ...]) -> KindSimulation:
    """Policies with these late incidents in each batch of 100."""
    results = tuple(
        SimulatedPolicy(f"p{number}", tuple(batch_with(count, 100) for count in counts), NO_BINS)
        for number, counts in enumerate(late)
    )
    return KindSimulation(results, ("s0", "s1"))


def with_standards(*missed: tuple[int, int]) -> SimulatedPolicy:
    """Batches of 100 incidents with these misses of a standard of weight 2, and of one of weight 1."""
    rules = (Standard("fire", "engine", 2, 1, 4.0, weight=2.0), Standard("fire", "engine", 2, 2, 8.0))
    batches = tuple(
        batch_with(
            max(one, two), 100, missed=2.0 * one + two, of_city=200, standards=np.array([[100, one], [100, two]])
        )
        for one, two in missed
    )
    return SimulatedPolicy("p", batches, NO_BINS, rules, 3.0)


def test_standards_count_by_their_weights() -> None:
    """Missed standards are a weighted sum per incident, and each has its own part of the incidents it applies to."""
    first, other = with_standards((10, 5), (20, 15)), with_standards((9, 3), (19, 13))
    assert first.missed.value == pytest.approx((20 + 5 + 40 + 15) / 200)
    assert [part.value for _, part in first.standards] == pytest.approx([30 / 200, 20 / 200])
    assert first.standards[0][1] == Misses(np.array([10.0, 20.0]), np.array([100.0, 100.0])).per_incident
    found = Simulation(Scenario(), {"engine": KindSimulation((first, other), ())}, 1, True, first.rules, 3.0)
    fewer = found.fewer_missed(1)  # by the incidents of the city, twice as many
    assert (fewer.value, fewer.low, fewer.high) == pytest.approx((0.02, 0.02, 0.02))
    assert found.improvement(1).value == pytest.approx(8 / 80)
    assert found.standards(1) == other.standards
    # Of two kinds together, by the incidents of the city.
    both = all_misses([first, other], 6.0)
    assert both.weights.tolist() == [25.0 + 21.0, 55.0 + 51.0]
    assert both.per_incident.value == pytest.approx(152.0 / 400.0)


def test_weights_have_the_interval_of_what_they_are_part_of() -> None:
    """Where all incidents miss the same, or none misses any, the interval is the binomial's times the most weight."""
    none, every = with_standards((0, 0), (0, 0)).missed, with_standards((100, 100), (100, 100)).missed
    assert (none.value, none.low, every.value, every.high) == pytest.approx((0.0, 0.0, 3.0, 3.0))
    assert (1.0 - none.high / 3.0) ** 200 == pytest.approx(0.025)
    assert every.low == pytest.approx(3.0 - none.high)
    wide = with_standards((10, 50), (40, 50)).missed
    assert (wide.low, wide.value, wide.high) == (0.0, 1.0, 3.0)


def test_differences_and_gains_are_paired() -> None:
    """What is the same in every batch has no error, and where nobody is late little is known about a gain."""
    found = of_late((10, 20, 30), (8, 18, 28), (9, 18, 27))
    for fewer, expected in ((found.fewer_late(1), 0.02), (found.fewer_late(0), 0.0), (found.improvement(2), 0.1)):
        assert (fewer.value, fewer.low, fewer.high) == pytest.approx((expected,) * 3)
    assert found.policies[0].late_fraction.half > 0.2
    nothing = of_late((0, 0), (0, 1)).improvement(1)
    assert (nothing.value, nothing.low, nothing.high) == (0.0, -np.inf, np.inf)
    everything = of_late((1, 1), (0, 0)).improvement(1)
    assert everything.value == everything.high == 1.0
    assert everything.low < 0.0


def test_what_was_found_cannot_be_overwritten() -> None:
    """Nobody changes a late fraction by working on the arrays that it comes from."""
    one = of_late((10, 20, 30)).policies[0]
    for values in (one.late, one.incidents):
        with pytest.raises(ValueError, match="read-only"):
            values *= 100.0
    city = small_city()
    batch = simulated(city, policies_of(city), incidents=64).policies[0].batches[0]
    for array in (batch.busy_minutes, batch.dispatches, batch.idle_minutes):
        with pytest.raises(ValueError, match="read-only"):
            array += 1


def test_fractions_stay_within_0_and_1() -> None:
    """The interval of a late fraction ends at 0 and 1."""
    late = of_late((0, 1, 0)).policies[0].late_fraction
    assert late.low == 0.0 < late.value < late.high
    late = of_late((100, 99, 100)).policies[0].late_fraction
    assert late.high == 1.0 > late.value > late.low


def test_batches_count_by_their_incidents() -> None:
    """A mean over batches is one over all their incidents, and a week without any changes nothing."""
    batches = batch_with(1, 10, first_mean=1.0), batch_with(0, 0), batch_with(1, 30, first_mean=3.0)
    result = SimulatedPolicy("p", batches, NO_BINS)
    assert result.minutes("first_mean").value == pytest.approx(2.5)
    assert result.late_fraction.value == pytest.approx(0.05)
    same = SimulatedPolicy("p", (batch_with(1, 10, first_mean=4.0), *batches[1:2]), NO_BINS).minutes("first_mean")
    assert (same.value, same.half) == (4.0, 0.0)


def test_sums_by_truck_are_by_time() -> None:
    """Busy fractions, dispatches a day and chances of idle trucks are sums over all batches by all their time."""
    result = of_late((1, 2)).policies[0]
    assert result.busy_fractions.tolist() == [0.25, 0.5]
    assert result.dispatches_per_day == pytest.approx([14.4, 28.8])
    assert result.idle_chances == pytest.approx([0.1, 0.2, 0.7])
    assert result.outside_per_incident == result.turned_per_incident == 0.0


def test_records_count_what_happened() -> None:
    """Each record has its team, the trucks from outside, arrivals in order, and whether it was late."""
    city = small_city(load=0.6)
    records = records_of(city, policies_of(city), incidents=3_200)["closest-first"]
    sent = (records["stations"] >= 0).sum(axis=1)
    assert np.array_equal(sent + records["outside"], np.full(len(records), 2))
    assert ((records["idle"] >= 0) & (records["idle"] + sent <= 4)).all()
    assert (records["first"] <= records["last"]).all()
    assert np.array_equal(records["late"], records["first"] > city.target_minutes)
    assert (records["minutes"] >= 0.0).all()
    assert not records["turned"].any()


def test_the_interval_of_a_difference_of_ratios_holds_it() -> None:
    """In about 95 of 100 made-up pairs of batches with much in common, and it is narrower than without."""
    rng, held, narrower = np.random.default_rng(4), 0, 0
    for _ in range(400):
        common, below = rng.normal(0.0, 3.0, 32), rng.integers(80, 120, (2, 32)).astype(float)
        above = np.array([0.1, 0.13])[:, None] * below + common + rng.normal(0.0, 0.5, (2, 32))
        found = difference_interval((above[0], below[0]), (above[1], below[1]))
        other = difference_interval((above[0], below[0]), (above[1][::-1], below[1][::-1]))
        assert found.value == pytest.approx(other.value)
        held += found.low <= 0.03 <= found.high
        narrower += found.half < other.half
    assert 365 <= held <= 395
    assert narrower > 390


def test_the_difference_of_the_same_batches_is_nothing() -> None:
    """Its interval has no width."""
    sums = np.arange(5.0), np.full(5, 10.0)
    assert difference_interval(sums, sums) == Interval(0.0, 0.0, 0.0)
