"""The first guess at one more unit: against exhaustive enumeration, and against what is exact."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.stats import spearmanr

import runcard
from runcard.assess.first_guess import FirstGuess, inserted
from runcard.city import Driving, Outside, demo_city, generate_grid
from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.solve import solve_optimal
from runcard.outputs.whatif.candidates import OneMoreCity


def nodes_of(ground: OneMoreCity) -> list[str]:
    """The node of every place."""
    return [place.node_id for place in ground.candidates(anywhere=True)]


def miss_by_enumeration(p_late: list[float], busy: list[float], outside: float, trucks: int, arrivals: int) -> float:
    """The chance of a miss, summed over every set of busy units and every set of late ones."""
    total = 0.0
    for away in product([True, False], repeat=len(busy)):
        chance = float(np.prod([b if one else 1.0 - b for one, b in zip(away, busy, strict=True)]))
        sent = [p for p, one in zip(p_late, away, strict=True) if not one][:trucks]
        sent += [outside] * (trucks - len(sent))
        for late in product([True, False], repeat=trucks):
            if trucks - sum(late) < arrivals:
                total += chance * float(np.prod([p if one else 1.0 - p for one, p in zip(late, sent, strict=True)]))
    return total


@pytest.mark.parametrize(("trucks", "arrivals"), [(1, 1), (2, 1), (2, 2), (3, 2), (4, 1)])
def test_a_unit_put_in_anywhere_is_as_by_enumeration(trucks: int, arrivals: int) -> None:
    """Behind none, some or all of the units of today, the chance of a miss is that of the longer list."""
    rng = np.random.default_rng(trucks * 10 + arrivals)
    p_late, busy = rng.random((2, 4))
    outside, new_late, new_busy = rng.random(3)
    found = inserted(p_late[:, None], busy[:, None], np.array([outside]), trucks, arrivals)
    for rank in range(5):
        longer = [np.insert(one, rank, new).tolist() for one, new in ((p_late, new_late), (busy, new_busy))]
        expected = miss_by_enumeration(longer[0], longer[1], outside, trucks, arrivals)
        got = found.with_unit(np.array([[rank]]), float(new_busy), np.array([[new_late]]))
        assert got[0, 0] == pytest.approx(expected, rel=1e-12)
    today = miss_by_enumeration(p_late.tolist(), busy.tolist(), outside, trucks, arrivals)
    assert (found.settled + found.not_sent)[0, 0] == pytest.approx(today, rel=1e-12)


def test_the_guess_is_exact_for_one_truck_and_hardly_any_incidents() -> None:
    """Then units are busy independently and no delay is shared: today's misses are those of closest-first."""
    city = generate_grid(side=4, num_stations=3, load=1e-6, seed=1, gamma=0.3)
    ground = OneMoreCity(replace(city, trucks_per_incident=1), "truck")
    exact = runcard.evaluate(runcard.solve_problem(dispatch_problem(ground.base), "closest-first"))
    guess = FirstGuess(ground.base, exact.busy_fractions)
    assert guess.today() == pytest.approx(exact.cost, rel=1e-5)
    place = ground.candidates(anywhere=True)[-1]
    changed = runcard.evaluate(runcard.solve_problem(dispatch_problem(ground.with_unit_at(place)), "closest-first"))
    assert guess.costs([place.node_id])[0] == pytest.approx(changed.cost, rel=1e-5)


def test_the_new_unit_takes_over_its_part_of_the_work() -> None:
    """Where only who is from outside is late, the guess is that all are busy, each N/(N + 1) times as much as now."""
    city = replace(generate_grid(side=3, num_stations=3, load=0.3, seed=1), driving=Driving("gamma", cv=0.0))
    city = replace(city, target_minutes=100.0, outside=Outside(200, 1.0), trucks_per_incident=1)
    ground, busy = OneMoreCity(city, "truck"), np.array([0.2, 0.5, 0.6])
    guess = FirstGuess(ground.base, busy)
    assert guess.today() == pytest.approx(busy.prod(), rel=1e-12)
    shrunk = 0.75 * np.append(busy, busy.mean())
    assert guess.costs(nodes_of(ground)) == pytest.approx(shrunk.prod(), rel=1e-12)


@pytest.mark.parametrize("kind", ["engine", "ladder"])
def test_the_guess_puts_the_places_of_a_department_in_about_the_right_order(kind: str) -> None:
    """Ranks by the guess and by the exact optimum agree but for a few places, with standards and kinds."""
    ground = OneMoreCity(demo_city(), kind)
    places = ground.candidates(anywhere=True)[:30]
    busy = runcard.evaluate(runcard.solve_problem(dispatch_problem(ground.base))).busy_fractions
    guesses = FirstGuess(ground.base, busy).costs([place.node_id for place in places])
    exact = [solve_optimal(dispatch_problem(ground.with_unit_at(one), minutes=False)).upper for one in places]
    assert spearmanr(guesses, exact).statistic > 0.9


def test_batches_and_threads_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Places in batches of three on two threads get the same guesses as all at once."""
    ground = OneMoreCity(generate_grid(side=4, num_stations=3, load=0.1, seed=2), "truck")
    places, busy = nodes_of(ground), np.full(3, 0.1)
    together = FirstGuess(ground.base, busy).costs(places)
    monkeypatch.setattr("runcard.assess.first_guess.BATCH", 3)
    parts: list[float] = []
    apart = FirstGuess(ground.base, busy, 2).costs(places, parts.append)
    assert apart == pytest.approx(together, rel=1e-12)
    assert max(parts) == 1.0
