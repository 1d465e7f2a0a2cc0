"""The tables of P(late) and of mean minutes against arrivals that are drawn link by link: two independent ways."""

from dataclasses import replace

import numpy as np
import pytest
from tests.simulate.cases import simulated

from runcard.city import generate_grid
from runcard.city.model import City, Driving, Turnout
from runcard.mdp.from_city import dispatch_problem
from runcard.policy.solve import evaluate, solve_problem
from runcard.simulate.result import interval_of, ratio_interval

LEVEL = 0.9999
CASES = {
    "first of three, gamma": {"trucks_per_incident": 3, "driving": Driving("gamma", cv=0.6)},
    "second of three, lognormal": {
        "trucks_per_incident": 3,
        "arrivals_per_incident": 2,
        "driving": Driving("lognormal", cv=0.8),
    },
    "third of four": {"trucks_per_incident": 4, "arrivals_per_incident": 3},
    "first of four, pareto, turnout": {
        "trucks_per_incident": 4,
        "driving": Driving("pareto", tail_index=2.5),
        "turnout": Turnout(0.8, "lognormal", 0.5, shared=True),
    },
    "first of three, coupled branch": {
        "trucks_per_incident": 3,
        "shared_delay": 1.0,
        "driving": Driving("hyperexponential", cv=2.0, coupled_branch="long"),
    },
    "second of two, roads of their own": {
        "arrivals_per_incident": 2,
        "driving": Driving("gamma", cv=0.6, second_route="disjoint"),
    },
}


def unequal_city(**settings: object) -> City:
    """Four stations, of two trucks where roads differ, on links of unequal means, half of them met together."""
    city = generate_grid(side=4, num_stations=4, load=0.15, seed=3, shared_delay=0.5)
    rng = np.random.default_rng(0)
    links = tuple(replace(link, mean_minutes=float(rng.uniform(0.4, 1.6))) for link in city.links)
    city = replace(city, links=links, **settings)  # type: ignore[arg-type]
    trucks = 1 if city.driving.second_route == "same" else 2
    return replace(city, stations=tuple(replace(station, trucks=trucks) for station in city.stations))


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_tables_are_what_is_drawn(name: str) -> None:
    """The exact late fraction and mean minutes of closest-first lie in the 99.99 % intervals of a million incidents."""
    city = unequal_city(**CASES[name])
    policy = solve_problem(dispatch_problem(city), "closest-first")
    exact = evaluate(policy)
    found = simulated(city, [policy], incidents=1_000_000, seed=7).policies[0]
    late = ratio_interval(found.late, found.incidents, level=LEVEL)
    assert late.low <= exact.late_fraction <= late.high
    assert late.half < 0.06 * late.value
    assert exact.mean_response_minutes is not None
    minutes = interval_of([batch.first_mean for batch in found.batches], level=LEVEL)
    assert minutes.low - 1e-3 * minutes.value <= exact.mean_response_minutes <= minutes.high + 1e-3 * minutes.value
