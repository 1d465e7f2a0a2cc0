"""Where one more unit should stand, proven.

Each place is a problem of its own. A solve gives at every step proven bounds lower <= optimum <= upper (see
`mdp/bounds.py`), so that few places have to be solved to the end. With U the `top`-th smallest upper bound so far,

    a place whose lower bound is above U is not among the best `top`: its solve gives up, after two or three steps.

Places come in the order of a first guess (see `assess/first_guess.py`), so that U is close to its last value early.
They are taken in rounds of `ROUND`, which share one U, so that the answer does not depend on the number of threads.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import inf
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from runcard.assess.first_guess import FirstGuess
from runcard.assess.steps import Steps
from runcard.mdp.evaluate import evaluate_rule
from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.memory import count_states
from runcard.mdp.rows import ValueRule
from runcard.mdp.solve import Solution, solve_optimal
from runcard.outputs.whatif.candidates import OneMoreCity, by_guess
from runcard.outputs.whatif.places import Place
from runcard.plan.words import counted
from runcard.threads import run_each

ROUND: Final = 8
SMALL_STATES: Final = 1 << 16
"""Problems of no more states are solved side by side, one on each thread; larger ones one after another."""
EVALUATED: Final = 1e-8
"""How exact the mean response minutes are, relatively."""


class BoundedPlace(NamedTuple):
    """What is proven of a place, and the values of its states while it may be among the best."""

    place: Place
    value: NDArray[np.float64] | None
    converged: bool
    proven: bool
    """Whether its bounds are; else they are estimated."""

    @property
    def rank(self) -> tuple[bool, float]:
        """Those that were solved come first, by cost, then the others, by lower bound."""
        place = self.place
        pruned = place.pruned_by is not None
        number = place.lower if pruned else place.cost
        assert number is not None
        return pruned, number


@dataclass(frozen=True, eq=False)
class ExactRanking:
    """Ranks places by solving each as far as it can be among the best `top`."""

    ground: OneMoreCity
    top: int
    tolerance: float
    threads: int
    steps: Steps

    def ranked(self, places: Sequence[Place], num_solved: int) -> tuple[list[Place], bool, bool]:
        """The city as it is, then every place, the best first; whether all of that is sure, and whether it is proven.

        Only the best `num_solved` by the first guess are solved.
        """
        self.steps.begin("the department as it is")
        problem = dispatch_problem(self.ground.base)
        solution = solve_optimal(problem, tolerance=self.tolerance, threads=self.threads, device="cpu")
        today = evaluate_rule(problem, ValueRule(solution.value), tolerance=EVALUATED, threads=self.threads)
        first = FirstGuess(self.ground.base, today.busy_fractions, self.threads)
        base = replace(
            _bounded(Place("", guess=first.today()), solution),
            misses=today.late_fraction,
            mean_response_minutes=today.mean_response_minutes,
        )
        order = by_guess(places, first, self.steps)
        found = self._all(order[:num_solved])
        sure = solution.converged and all(one.converged or one.place.pruned_by is not None for one in found)
        self.steps.begin("response times of the best places")
        best = run_each(self._with_minutes, found[: self.top], self._at_once)
        solved = [*best, *(one.place for one in found[self.top :])]
        rest = order[num_solved:]
        proven = problem.proven and all(one.proven for one in found)
        return [base, *(one.against(base) for one in solved), *rest], sure and not rest, proven

    @cached_property
    def _at_once(self) -> int:
        """How many places are solved side by side."""
        num_states = 2 * count_states(self.ground.base.trucks)
        return self.threads if num_states <= SMALL_STATES else 1

    def _all(self, order: Sequence[Place]) -> list[BoundedPlace]:
        """What is proven of every place, the best first."""
        found: list[BoundedPlace] = []
        limit = inf
        self.steps.begin(f"{counted(len(order), 'place')}, each solved until it is ruled out")
        for low in range(0, len(order), ROUND):
            some = order[low : low + ROUND]
            found += run_each(partial(self._solve, limit=limit), some, self._at_once)
            found.sort(key=lambda one: one.rank)
            found[self.top :] = [one._replace(value=None) for one in found[self.top :]]
            uppers = sorted(one.place.upper for one in found if one.place.upper is not None)
            limit = uppers[self.top - 1] if len(uppers) >= self.top else inf
            self.steps.part((low + len(some)) / len(order))
        return found

    def _solve(self, place: Place, limit: float) -> BoundedPlace:
        """What is proven of a place; the solve gives up above the limit."""
        problem = dispatch_problem(self.ground.with_unit_at(place), minutes=False)
        threads = self.threads // self._at_once
        # On the processor: several places are solved side by side.
        solution = solve_optimal(problem, tolerance=self.tolerance, give_up_above=limit, threads=threads, device="cpu")
        pruned = solution.lower > limit
        bounded, value = _bounded(place, solution, limit if pruned else None), None if pruned else solution.value
        return BoundedPlace(bounded, value, solution.converged, problem.proven)

    def _with_minutes(self, found: BoundedPlace) -> Place:
        """A place with its misses and mean response minutes."""
        assert found.value is not None
        problem, rule = dispatch_problem(self.ground.with_unit_at(found.place)), ValueRule(found.value)
        result = evaluate_rule(problem, rule, tolerance=EVALUATED, threads=self.threads // self._at_once)
        return replace(found.place, misses=result.late_fraction, mean_response_minutes=result.mean_response_minutes)


def _bounded(place: Place, solution: Solution, pruned_by: float | None = None) -> Place:
    """A place with what a solve proves of it."""
    cost = (solution.lower + solution.upper) / 2.0 if pruned_by is None else None
    return replace(place, cost=cost, lower=solution.lower, upper=solution.upper, pruned_by=pruned_by)
