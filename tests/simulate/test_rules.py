"""Policies that come from outside: what a simulation cannot follow is refused in words, before any kernel sees it."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.simulate.cases import policies_of, records_of, simulated, small_city

import runcard
from runcard.errors import InputError
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.rows import OrderRule
from runcard.policy.base import BulkRule, Certificate, Decision, Stored
from runcard.policy.run_card import make_run_cards
from runcard.simulate import engine
from runcard.simulate.rules import array_rule

CITY = runcard.generate_grid(side=3, num_stations=3, load=0.3, seed=5, trucks_per_station=2)
PROBLEM = runcard.dispatch_problem(CITY)
ORDER = PROBLEM.order


@dataclass(frozen=True, eq=False, kw_only=True)
class Outsider:
    """A policy that says what it is told to say."""

    bulk: BulkRule | None = None
    team: tuple[str, ...] = ()
    problem: DispatchProblem = PROBLEM
    name: str = "outsider"
    certificate: Certificate | None = None
    reason: str = ""

    @property
    def rule(self) -> OrderRule:
        """That of closest-first."""
        return OrderRule(ORDER)

    def in_bulk(self, decisions: float) -> BulkRule | None:
        """What it was told."""
        return self.bulk

    def stored(self) -> Stored:
        """Nothing."""
        return Stored()

    def prices(self, idle: NDArray[np.int64], teams: NDArray[np.int64]) -> NDArray[np.float64]:
        """It knows no prices."""
        return np.zeros(len(teams))

    def decide(self, idle: NDArray[np.int64], point: int) -> Decision:
        """The team it was told, whoever is idle."""
        return Decision(team=self.team, p_late=0.0, price=0.0, alternatives=())


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"order": ORDER + 1}, "every station once, from 0 to 2"),
        ({"order": ORDER.T}, r"\(9, 3\), got \(3, 9\)"),
        ({"order": ORDER[:, :2]}, r"\(9, 3\), got \(9, 2\)"),
        ({"value": np.zeros(5)}, "27 states, .* with 8 numbers of padding"),
        ({"value": np.full(35, np.nan)}, "a finite number for every state"),
        ({"table": np.full((27, 9), 999)}, r"team 999 of 0 to 9"),
        ({"table": np.full((27, 9), 5)}, r"team 5 \(s0, s1\)"),
        ({"order": ORDER, "lines": np.full((9, 2), 999)}, "a team of 2 trucks, or -1, got team 999 of 0 to 9"),
        ({"lines": np.full((9, 2), 5)}, "lines only beside an order; got lines"),
        ({"order": ORDER, "value": np.zeros(35)}, "expected one of order, value, table and ahead, .* order and value"),
        ({}, "got none of them"),
    ],
)
def test_arrays_that_cannot_be_followed_are_refused(arrays: dict[str, Any], words: str) -> None:
    """Each of these ended the process or was simulated as if it meant something: now it is an error that says what."""
    with pytest.raises(InputError, match=words):
        simulated(CITY, [Outsider(bulk=BulkRule(**arrays))], incidents=200)


@pytest.mark.parametrize(
    "team", [("s0", "s0"), ("s0", "s0", "s0"), ("s0",) * 7, ("s0",), ("s0", "outside"), ("elsewhere", "s0"), ()]
)
def test_a_team_that_cannot_go_is_refused(team: tuple[str, ...]) -> None:
    """Asked for each incident, a policy that sends busy, too many, too few or unknown trucks is an error."""
    got = ", ".join(team) or "nobody"
    with pytest.raises(InputError, match=f"outsider: expected a team that can go to demand point .*; got {got}$"):
        simulated(CITY, [Outsider(team=team)], incidents=200)


def test_a_line_with_two_trucks_of_a_station_needs_both_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """In kernels cards send what they send that are asked for each incident, where stations have two trucks."""
    monkeypatch.setattr(engine, "NUM_BATCHES", 2)
    city = small_city(load=0.6)
    city = replace(city, stations=tuple(replace(station, trucks=2) for station in city.stations))
    cards = make_run_cards(*policies_of(city), depth=3)
    stations = cards.problem.teams.stations[cards.lines]
    assert (stations[..., 0] == stations[..., 1]).any()
    compiled = records_of(city, [cards], incidents=400)[cards.name]
    monkeypatch.setattr(engine, "fleet_rule", lambda fleet, decisions: None)
    asked = records_of(city, [cards], incidents=400)[cards.name]
    for records in (compiled, asked):
        records["stations"].sort(axis=1)
    assert np.array_equal(compiled, asked)


def test_other_kinds_of_arrays_mean_the_same() -> None:
    """A list of the stations is the order that it stands for."""
    plain, listed = (array_rule(Outsider(bulk=BulkRule(order=order))) for order in (ORDER, ORDER.tolist()))
    np.testing.assert_array_equal(plain.order, listed.order)  # type: ignore[union-attr]
    assert plain.order.dtype == listed.order.dtype  # type: ignore[union-attr]
