"""Stated errors of lattices: they hold what closed forms say, and not much more."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import gammaincc
from scipy.stats import binom, lognorm
from tests.response.conftest import CityMaker
from tests.response.oracles import delta, fork, line
from tests.response.test_tree import engines

from runcard.city import Driving, Outside
from runcard.response import differences
from runcard.response.arrivals import find_arrivals
from runcard.response.engine import engine_for
from runcard.response.lattice import refined
from runcard.response.laws import branches
from runcard.response.plane import Plane
from runcard.response.table import response_table
from runcard.response.teams import Teams
from runcard.response.travel import travel_of
from runcard.response.tree import Found, Tree, by_target


def late_of(make_city: CityMaker, links: int, driving: Driving, target: float) -> tuple[float, float]:
    """P(late) of one truck on so many links of mean 1, and the stated error."""
    city = line(make_city, (1.0,) * links, driving=driving, target_minutes=target, trucks_per_incident=1)
    table = response_table(city, minutes=False)
    return float(table.p_late[1, 0]), table.late_error


def closed_forms(num: int) -> Iterator[tuple[int, Driving, float, float]]:
    """Roads of gamma links, which add up to a gamma time, and single lognormal links: links, law, target, P(late)."""
    rng = np.random.default_rng(30)
    for case in range(num):
        links, cv = int(rng.integers(1, 91)), float(np.exp(rng.uniform(np.log(0.05), np.log(3.0))))
        part = float(rng.uniform(0.5, 1.8))
        if case % 4 == 0:
            s = np.sqrt(np.log1p(cv**2))
            yield 1, Driving("lognormal", cv=cv), part, lognorm.sf(part, s, scale=np.exp(-(s**2) / 2.0))
        else:
            target = part * links
            yield links, Driving("gamma", cv=cv), target, gammaincc(links / cv**2, target / cv**2)


@pytest.mark.slow
def test_stated_errors_of_closed_forms_hold_and_are_tight(make_city: CityMaker) -> None:
    """The errors of P(late) of 300 random roads are at most those stated, which are at most 1e-5, and mostly 1e-7."""
    stated = []
    for links, driving, target, exact in closed_forms(300):
        late, error = late_of(make_city, links, driving, target)
        assert abs(late - exact) <= error, (links, driving, target)
        stated.append(error)
    assert max(stated) < 1e-5
    assert np.median(stated) < 1.5e-7


@pytest.mark.parametrize(
    ("links", "cv", "target"),
    [(40, 1.5, 28.0), (40, 0.1, 40.0), (40, 3.0, 42.0), (60, 0.8, 57.0), (84, 0.666, 102.9), (70, 0.749, 89.2)],
)
def test_differences_that_are_small_by_chance(make_city: CityMaker, links: int, cv: float, target: float) -> None:
    """Where two extrapolations lie on either side of the truth, or fall by another power, the error is still stated."""
    late, error = late_of(make_city, links, Driving("gamma", cv=cv), target)
    assert abs(late - gammaincc(links / cv**2, target / cv**2)) <= error < 1e-5


def test_one_small_difference_is_not_enough() -> None:
    """Three lattices that agree by chance are not believed where four are asked for."""
    asked: list[int] = []
    truth, agreed = 0.30001, 0.3
    off = {48: 4e-4, 96: 1e-4, 192: 2.5e-5, 384: 1.4e-5}

    def at(num_steps: int, points: NDArray[np.int64]) -> NDArray[np.float64]:
        asked.append(num_steps)
        return np.full((1, len(points)), agreed + off[num_steps])

    found, error = refined(at, np.array([0]), np.array([1e-6]), least=4)
    assert asked == [48, 96, 192, 384]
    assert abs(found[0, 0] - truth) <= error[0] < 5e-6
    three, too_small = refined(at, np.array([0]), np.array([1e-6]))
    assert abs(three[0, 0] - truth) > 100.0 * too_small[0]


def test_a_difference_counts_for_no_less_than_the_one_before_lets_expect() -> None:
    """Where the last two extrapolations agree by chance, what was between the two before them is still stated."""
    off = {48: 1e-3, 96: 2e-4, 192: 5e-5, 384: 1.25e-5}
    found, error = refined(
        lambda steps, points: np.full((1, len(points)), 0.3 + off[steps]), np.array([0]), np.array([1e-6]), least=4
    )
    assert found[0, 0] == pytest.approx(0.3, abs=1e-12)
    before, now = (4.0 * 2e-4 - 1e-3) / 3.0, 0.0
    assert error[0] == pytest.approx(3.0 * abs(now - before) / 15.0 / 16.0, abs=2e-8)


@pytest.mark.parametrize("cv", [1.5, 3.0])
def test_a_density_that_is_infinite_at_once_has_its_own_power(make_city: CityMaker, cv: float) -> None:
    """P(late) of a road of gamma links of a shape below 1 is off by less than a tenth of what is stated."""
    for links, part in ((8, 0.9), (20, 1.2), (40, 1.05), (60, 0.8)):
        late, error = late_of(make_city, links, Driving("gamma", cv=cv), part * links)
        assert abs(late - gammaincc(links / cv**2, part * links / cv**2)) <= max(0.1 * error, 3e-8), (links, part)


def test_what_a_short_lattice_leaves_out_is_stated(make_city: CityMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a lattice ends before many times do, what is wrong with the minutes of a pair is in their stated error."""
    city = fork(make_city, shared_delay=0.7)
    travel, teams, points = travel_of(city), Teams.of(city.trucks, 2), np.arange(len(city.demand))
    whole = differences.later_together(travel, teams, points)
    for name in ("DEVIATIONS", "DEVIATIONS_APART"):
        monkeypatch.setattr(differences, name, 0.75)
    short = differences.later_together(travel, teams, points)
    assert 20.0 * whole.error < np.abs(short.mixed - whole.mixed).max() < short.error


def coupled_minutes(links: int, mean: float, driving: Driving, trucks: int) -> float:
    """The mean minutes until the first truck of one station: over how many links have the coupled branch."""
    kinds = branches(driving.cv or 0.0)
    (chance, together), (_, apart) = kinds if driving.coupled_branch == "short" else kinds[::-1]
    total, u = 0.0, np.linspace(0.0, 1.0, 20_001) ** 2
    for met in range(links + 1):
        own = links - met
        t = u * mean * apart * (own + 40.0 * np.sqrt(own) + 40.0)
        nobody = gammaincc(own, t / (mean * apart)) ** trucks if own else np.zeros_like(t)
        total += binom.pmf(met, links, chance) * (met * mean * together + np.trapezoid(nobody, t))
    return float(total)


@pytest.mark.parametrize("branch", ["short", "long"])
@pytest.mark.parametrize("cv", [1.2, 2.0, 4.0, 6.0])
def test_minutes_of_a_coupled_branch_hold_and_are_tight(make_city: CityMaker, cv: float, branch: str) -> None:
    """The first of two to four trucks on one road comes when a sum over branches says, within 0.3 % and as stated.

    One link of 6 minutes with a coupled branch takes the first of two trucks 4.5 minutes: half of the mean is met
    together, half apart.
    """
    driving = Driving("hyperexponential", cv=cv, coupled_branch=branch)
    for links, trucks in ((1, 2), (2, 2), (4, 2), (8, 2), (20, 2), (1, 3), (5, 4)):
        settings = {"trucks": [trucks], "trucks_per_incident": trucks, "target_minutes": 8.0}
        city = line(make_city, (6.0 / links,) * links, driving=driving, outside=Outside(2, 3.0), **settings)
        table = response_table(city)
        exact = coupled_minutes(links, 6.0 / links, driving, trucks)
        if (links, trucks) == (1, 2):
            assert exact == pytest.approx(4.5, abs=1e-4)
        assert abs(table.mean_minutes[-1, 0] - exact) <= table.minutes_error + 1e-5, (links, trucks)
        assert table.minutes_error < (2e-3 if trucks == 2 else 5e-3) * exact, (links, trucks)


@pytest.mark.parametrize(
    ("alone", "together", "sure", "part"),
    [(1e-3, 0.0, 1e-7, 0.95), (0.0, 1e-3, 1e-7, 0.95), (1e-3, 1e-3, 1e-7, 0.95), (0.0, 0.0, 0.01, 0.1)],
)
def test_errors_of_pairs_are_those_of_all_that_they_come_from(
    make_city: CityMaker, alone: float, together: float, sure: float, part: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where chances of single trucks, covariances or what is left out are off, P(late) is as stated, or nearly."""
    (engine,) = engines(fork(make_city, driving=Driving("gamma", cv=0.7), shared_delay=0.5, target_minutes=1.5), Plane)
    late, _ = engine.late(np.arange(2))
    offs = iter((-alone, together))

    def shifted(*arguments: Any, **options: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        (found, error), off = by_target(*arguments, **options), next(offs)
        return found + off, np.full_like(error, abs(off))

    monkeypatch.setattr("runcard.response.plane.by_target", shifted)
    monkeypatch.setattr("runcard.response.plane.SURE", sure)
    found, error = engine.late(np.arange(2))
    assert part * error <= np.abs(found - late)[np.isfinite(late)].max() <= error


@pytest.mark.parametrize("trucks", [2, 3, 4])
def test_errors_of_the_last_arrival_are_those_of_all_first_ones(
    make_city: CityMaker, trucks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the first of two, of three, ... is off by this or that, the last is off by as much as is stated."""
    (tree,) = engines(delta(make_city, driving=Driving("gamma", cv=0.7), trucks_per_incident=trucks), Tree)
    monkeypatch.setattr("runcard.response.arrivals._Group.later", lambda *_: iter(()))

    def last(size: float) -> Found:
        def means(points: NDArray[np.int64], few: int, found: Found) -> Found:
            off = size * few
            return found[0] + (-1) ** few * off, off

        def shifted(travel: Any, teams: Any, needs: Any, points: Any) -> Any:
            found = engine_for(travel, teams, needs, points).means(points)
            return SimpleNamespace(means=lambda points: means(points, teams.max_size, found))

        monkeypatch.setattr("runcard.response.arrivals.engine_for", shifted)
        first = means(np.arange(2), trucks, tree.means(np.arange(2)))
        arrivals = find_arrivals(tree.travel, tree.teams, tree.needs, np.arange(2), *first, lambda _: None)
        return arrivals.means["last"], arrivals.errors["last"]

    (exact, none), (found, error) = last(0.0), last(1e-3)
    assert none == 0.0
    assert np.abs(found - exact).max() == pytest.approx(error, rel=1e-9)
