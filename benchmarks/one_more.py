"""Where one more engine should stand: 13 engines, 400 demand points and all 400 nodes as places, exactly."""

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from benchmarks.cases import Row
from runcard.city import generate_grid
from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.solve import solve_optimal
from runcard.outputs.whatif.candidates import OneMoreCity
from runcard.outputs.whatif.one_more import rank_one_more
from runcard.outputs.whatif.places import OneMore

CASES = ((2, 1.0, 0.1, 0.3), (2, 0.0, 0.02, 0.3), (2, 0.0, 0.2, 0.3), (2, 1.0, 0.1, 0.6), (1, 0.0, 0.1, 0.3))
"""Trucks of an incident, shared delay, load, and the target as a part of the longest route; the default is 0.6."""
CHECKED = 5
"""Places of each sort that are solved afresh."""


def one_more_cases(*, quick: bool = False) -> Iterator[Row]:
    """Seconds to rank all nodes; the answer is asserted against fresh solves."""
    rank_one_more(generate_grid(side=4, num_stations=3, load=0.1, seed=1), anywhere=True)
    for trucks, shared, load, gamma in CASES[: 1 if quick else None]:
        city = generate_grid(side=20, num_stations=13, load=load, seed=1, gamma=gamma, shared_delay=shared)
        city = replace(city, trucks_per_incident=trucks)
        began, used = time.perf_counter(), time.process_time()
        found = rank_one_more(city, anywhere=True)
        seconds, used = time.perf_counter() - began, time.process_time() - used
        assert found.sure
        assert len(found.places) == 400
        check(found, OneMoreCity(city, "truck"))
        counts = found.counts
        yield Row(
            f"one more engine, 13 x 400, all 400 nodes; k = {trucks}, q = {shared:g}, load {load:g}, target {gamma:g}",
            f"{seconds:.1f} s ({used:.1f} s of processors), {counts['solved']} solved, {counts['ruled_out']} ruled out",
            "< 60 s",
            seconds < 60.0,
        )


def check(found: OneMore, ground: OneMoreCity) -> None:
    """Assert the bounds of the best places and of some that are ruled out against fresh solves."""
    rng = np.random.default_rng(1)
    out = [place for place in found.places if place.pruned_by is not None]
    some = [*found.best[:CHECKED], *(out[n] for n in rng.choice(len(out), CHECKED, replace=False))]
    for place in some:
        problem = dispatch_problem(ground.with_unit_at(place), minutes=False)
        fresh = solve_optimal(problem, tolerance=1e-9)
        assert place.lower is not None
        assert place.upper is not None
        assert place.lower <= fresh.upper
        assert place.upper >= fresh.lower
        assert place.pruned_by is None or fresh.lower > place.pruned_by
