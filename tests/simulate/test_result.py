"""Tests of what a simulation found: intervals, quantiles and paired differences."""

import numpy as np
import pytest
from scipy import stats

from runcard.simulate.engine import simulate
from runcard.simulate.kernels.run import BIN_WIDTH, LEAST_MINUTES, NUM_BINS, bin_of
from runcard.simulate.result import Batch, Interval, PolicyResult, Simulation, interval_of, quantile
from runcard.simulate.scenario import Scenario

from .cases import policies_of, records_of, small_city


def binned(minutes: np.ndarray) -> np.ndarray:
    """Arrivals in bins."""
    return np.bincount([bin_of(float(arrival)) for arrival in minutes], minlength=NUM_BINS)


@pytest.mark.parametrize("level", [0.9, 0.95, 0.999])
def test_an_interval_is_that_of_student(level: float) -> None:
    """The interval of a mean is Student's, as scipy has it."""
    values = np.random.default_rng(1).normal(3.0, 2.0, 12)
    found = interval_of(values, level)
    low, high = stats.t.interval(level, 11, loc=values.mean(), scale=stats.sem(values))
    assert (found.mean, found.low, found.high) == pytest.approx((values.mean(), low, high))
    assert found.half == pytest.approx((high - low) / 2.0)


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """Of many 90 % intervals of means of ten values, 90 % hold the true mean."""
    rng = np.random.default_rng(2)
    found = [interval_of(rng.normal(1.0, 1.0, 10), 0.9) for _ in range(2_000)]
    held = np.mean([interval.low <= 1.0 <= interval.high for interval in found])
    assert held == pytest.approx(0.9, abs=0.025)


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

    found = simulate(
        city, policies, incidents=32_000, threads=1, keep_records=lambda *given: batches.append(given[2].copy())
    )
    for batch, records in zip(found.policies[0].batches, batches, strict=True):
        for truck in ("first", "last"):
            for name, chance in (("median", 0.5), ("p90", 0.9)):
                expected = float(np.quantile(records[truck], chance, method="inverted_cdf"))
                assert getattr(batch, f"{truck}_{name}") == pytest.approx(
                    expected, rel=2 * BIN_WIDTH, abs=LEAST_MINUTES
                )
            assert getattr(batch, f"{truck}_mean") == pytest.approx(float(records[truck].mean()), rel=1e-12)


def batch_with(late: int, incidents: int, **given: float) -> Batch:
    """A batch with some late incidents."""
    zeros = dict.fromkeys(("first_mean", "last_mean", "first_median", "last_median", "first_p90", "last_p90"), 0.0)
    return Batch(
        **{"incidents": incidents, "late": late, "outside": 0, "turned": 0, "minutes": 100.0} | zeros | given,
        busy_minutes=np.array([25.0, 50.0]),
        dispatches=np.array([1, 2]),
        idle_minutes=np.array([10.0, 20.0, 70.0]),
    )


def simulation_of(*late: tuple[int, ...]) -> Simulation:
    """A simulation of policies with these late incidents in each batch of 100."""
    results = tuple(
        PolicyResult(f"p{number}", tuple(batch_with(count, 100) for count in counts))
        for number, counts in enumerate(late)
    )
    return Simulation(Scenario(), results, ("s0", "s1"), 1, True)


def test_differences_are_paired() -> None:
    """A policy that has two late incidents fewer in every batch has a difference without any error."""
    found = simulation_of((10, 20, 30), (8, 18, 28))
    fewer = found.fewer_late(1)
    assert (fewer.mean, fewer.low, fewer.high) == pytest.approx((0.02, 0.02, 0.02))
    assert found.policies[0].late_fraction.half > 0.2
    assert found.fewer_late(0).mean == found.fewer_late(0).half == 0.0


def test_a_gain_that_is_the_same_part_in_every_batch_has_no_error() -> None:
    """A policy with a tenth fewer late incidents in every batch improves by exactly a tenth."""
    gain = simulation_of((10, 20, 30), (9, 18, 27)).improvement(1)
    assert (gain.mean, gain.low, gain.high) == pytest.approx((0.1, 0.1, 0.1))


def test_no_late_incident_has_no_improvement() -> None:
    """Where the first policy is never late, nothing is known about a gain."""
    gain = simulation_of((0, 0), (0, 1)).improvement(1)
    assert (gain.mean, gain.low, gain.high) == (0.0, -np.inf, np.inf)


def test_fractions_stay_within_0_and_1() -> None:
    """The interval of a late fraction ends at 0 and 1, and that of minutes at 0."""
    late = simulation_of((0, 1, 0)).policies[0].late_fraction
    assert late.low == 0.0 < late.mean < late.high
    late = simulation_of((100, 99, 100)).policies[0].late_fraction
    assert late.high == 1.0 > late.mean > late.low


def test_sums_by_truck_are_by_time() -> None:
    """Busy fractions, dispatches a day and chances of idle trucks are sums over all batches by all their time."""
    result = simulation_of((1, 2)).policies[0]
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
