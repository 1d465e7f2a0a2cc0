"""Properties that must hold for every city, tried on small random grids."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runcard.city import City, generate_grid
from runcard.mdp.from_city import dispatch_problem
from runcard.policy.solve import POLICY_NAMES, evaluate, solve_problem


@st.composite
def cities(draw: st.DrawFn) -> City:
    """Small grids with 1 to 4 stations of 1 to 3 trucks and any shared delay."""
    city = generate_grid(
        side=draw(st.integers(2, 4)),
        num_stations=draw(st.integers(1, 4)),
        load=draw(st.sampled_from([0.01, 0.1, 0.4, 1.5])),
        seed=draw(st.integers(0, 10_000)),
        shared_delay=draw(st.sampled_from([0.0, 0.3, 1.0])),
    )
    stations = tuple(replace(station, trucks=draw(st.integers(1, 3))) for station in city.stations)
    needed = draw(st.lists(st.integers(1, 2), min_size=len(city.demand), max_size=len(city.demand)))
    demand = tuple(replace(point, trucks=k) for point, k in zip(city.demand, needed, strict=True))
    return replace(city, stations=stations, demand=demand)


def late_fraction(city: City, name: str) -> float:
    """The late fraction of a policy, evaluated."""
    found = evaluate(solve_problem(dispatch_problem(city), name, threads=1), threads=1)
    assert found.converged
    return found.late_fraction


@settings(max_examples=40)
@given(cities())
def test_the_order_of_the_policies(city: City) -> None:
    """The optimum is never worse than one-step, and one step of improvement never worse than closest-first."""
    first, one_step, optimal = (late_fraction(city, name) for name in ("closest-first", "one-step", "optimal"))
    slack = 1e-9 * first + 1e-14
    assert optimal <= one_step + slack
    assert one_step <= first + slack


@settings(max_examples=30)
@given(cities(), st.randoms(use_true_random=False))
def test_relabelling_stations_changes_nothing(city: City, random: Random) -> None:
    """Listing the stations in another order changes no late fraction (closest-first: but for its ties)."""
    order = list(range(len(city.stations)))
    random.shuffle(order)
    turned = replace(city, stations=tuple(city.stations[i] for i in order))
    problem, other = dispatch_problem(city), dispatch_problem(turned)
    same_order = np.array_equal(np.array(order)[other.order], problem.order)
    optimal = [evaluate(solve_problem(p, "optimal")) for p in (problem, other)]
    assert optimal[1].late_fraction == pytest.approx(optimal[0].late_fraction, rel=2e-9, abs=1e-14)
    if same_order:
        first = [evaluate(solve_problem(p, "closest-first")) for p in (problem, other)]
        assert first[1].late_fraction == pytest.approx(first[0].late_fraction, rel=1e-10, abs=1e-14)
        np.testing.assert_allclose(first[1].busy_fractions, first[0].busy_fractions[order], rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(first[1].dispatch_share, first[0].dispatch_share[order], rtol=1e-8, atol=1e-10)


@settings(max_examples=30)
@given(cities(), st.sampled_from([0.01, 0.5, 3.0, 60.0]), st.sampled_from(POLICY_NAMES))
def test_scaling_time_changes_nothing(city: City, factor: float, name: str) -> None:
    """With every time multiplied and every rate divided by one factor, the late fraction is the same."""
    slower = replace(
        city,
        busy_minutes=city.busy_minutes * factor,
        target_minutes=city.target_minutes * factor,
        links=tuple(replace(link, mean_minutes=link.mean_minutes * factor) for link in city.links),
        demand=tuple(replace(point, incidents_per_day=point.incidents_per_day / factor) for point in city.demand),
    )
    fast, slow = (evaluate(solve_problem(dispatch_problem(c), name)) for c in (city, slower))
    assert slow.late_fraction == pytest.approx(fast.late_fraction, rel=1e-8, abs=1e-14)
    if name == "closest-first":  # rounding may turn a near tie of two teams, equally late but not equally fast
        assert fast.mean_response_minutes is not None
        assert slow.mean_response_minutes == pytest.approx(fast.mean_response_minutes * factor, rel=1e-8)


@settings(max_examples=30)
@given(cities(), st.sampled_from([("closest-first", 1e-10), ("optimal", 2e-9)]))
def test_shared_delays_make_all_later(city: City, policy: tuple[str, float]) -> None:
    """The more a delay is shared by trucks on the same link, the later every team is, and so is the best policy."""
    (name, slack) = policy
    late = [late_fraction(replace(city, shared_delay=q), name) for q in (0.0, 0.4, 1.0)]
    assert late[0] <= late[1] * (1 + slack) + 1e-14
    assert late[1] <= late[2] * (1 + slack) + 1e-14


@settings(max_examples=30)
@given(cities(), st.sampled_from(POLICY_NAMES))
def test_what_every_evaluation_must_say(city: City, name: str) -> None:
    """Fractions lie in [0, 1], the trucks sent add up, and the busy trucks are those that Little's law asks for."""
    problem = dispatch_problem(city)
    found = evaluate(solve_problem(problem, name))
    assert 0.0 <= found.lower <= found.late_fraction <= found.upper <= 1.0
    assert found.dispatch_share.sum() + found.outside_share == pytest.approx(1.0, abs=1e-12)
    assert (found.busy_fractions > -1e-12).all()
    assert (found.busy_fractions < 1.0).all()
    assert found.probability.sum() == pytest.approx(1.0, abs=1e-12)
    idle = found.idle_distribution @ np.arange(problem.num_trucks + 1)
    assert found.busy_fractions @ problem.trucks == pytest.approx(problem.num_trucks - idle, rel=1e-8)
