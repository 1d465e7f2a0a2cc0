"""The same optimum from general solvers, each on the best encoding we found for it.

A general solver knows states, actions and transition probabilities. With a state for each demand point and each set of
idle trucks every action leads to one state, and nothing is repeated:

    event state f           something happens: a truck returns, nothing does, or an incident starts at j
    passing state f         nothing to decide: on to the event state f
    decision state (f, j)   each team a of min(2, |f|) idle trucks, at the cost cost(a, j), leads to the event state f-a

Every way back to an event state takes two steps, a period that value iteration cannot stand, so an event state stays
where it is with chance LAZY. A round then takes 1/(1-LAZY) + 1 steps on average and 1/τ of a day.
"""

import time
import warnings
from dataclasses import dataclass

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from runcard.mdp.problem import DispatchProblem

LAZY = 0.15
PARTIAL_SWEEPS = 60  # of QuantEcon's modified policy iteration: its best of 20, 30, 50, 60 and 100 at 12 x 400


@dataclass(frozen=True)
class Encoding:
    """The pairs of state and action, sorted by state, with their rewards and transitions."""

    state: NDArray[np.int64]
    action: NDArray[np.int64]
    reward: NDArray[np.float64]
    transitions: scipy.sparse.csr_array
    late_per_day: float
    """Late incidents per day for each unit of reward per step."""


def encode(problem: DispatchProblem) -> Encoding:
    """A problem with one truck per station and two per incident as pairs of state and action."""
    num_sets, num_points, num_trucks = problem.num_states, problem.num_points, problem.num_trucks
    returns = problem.returns_per_day
    rate = problem.total_incidents_per_day + returns * num_trucks
    team_bits = problem.teams.counts.astype(np.int64) @ (1 << np.arange(num_trucks)[::-1])
    incident = (1 - LAZY) * problem.incidents_per_day / rate
    state, action, reward = [np.arange(2 * num_sets)], [np.zeros(2 * num_sets, np.int64)], [np.zeros(2 * num_sets)]
    chances, targets, lengths = [], [], []
    next_state = [np.arange(num_sets)]
    for f in range(num_sets):
        first_decision = 2 * num_sets + f * num_points
        busy = [1 << i for i in range(num_trucks) if not f >> i & 1]
        returning = (1 - LAZY) * returns / rate
        nothing = (1 - LAZY) * returns * (num_trucks - len(busy)) / rate
        chances.append(np.concatenate([[LAZY], [returning] * len(busy), [nothing], incident]))
        passing = num_sets + f + np.array([*busy, 0])
        targets.append(np.concatenate([[f], passing, first_decision + np.arange(num_points)]))
        lengths.append(len(targets[-1]))
        idle = (team_bits & ~f == 0) & (problem.teams.sizes == min(2, f.bit_count()))
        teams = np.flatnonzero(idle)
        state.append(np.repeat(first_decision + np.arange(num_points), len(teams)))
        action.append(np.tile(np.arange(len(teams)), num_points))
        next_state.append(np.tile(f - team_bits[teams], num_points))
        reward.append(-problem.cost[teams].T.ravel())
    single = np.concatenate(next_state)
    ends = np.cumsum(np.concatenate([[0], lengths, np.ones(len(single), np.int64)]))
    transitions = scipy.sparse.csr_array(
        (
            np.concatenate([*chances, np.ones(len(single))]),
            np.concatenate([*targets, single]).astype(np.int32),
            ends.astype(np.int32),
        ),
        shape=(len(ends) - 1, num_sets * (2 + num_points)),
    )
    per_day = -rate * (1 / (1 - LAZY) + 1)
    return Encoding(np.concatenate(state), np.concatenate(action), np.concatenate(reward), transitions, per_day)


def solve_with_quantecon(encoding: Encoding, span: float) -> tuple[float, float]:
    """The late rate that QuantEcon's modified policy iteration finds, and the seconds that it takes."""
    from quantecon.markov import DiscreteDP

    discount = 1 - 1e-13  # there is no undiscounted form; this close to 1 it changes nothing at 1e-9
    ddp = DiscreteDP(encoding.reward, encoding.transitions, discount, encoding.state, encoding.action)
    began = time.perf_counter()
    result = ddp.solve(
        "modified_policy_iteration",
        v_init=np.zeros(ddp.num_states),
        epsilon=span * discount / (1 - discount),
        max_iter=10_000,
        k=PARTIAL_SWEEPS,
    )
    seconds = time.perf_counter() - began
    return float(result.v[0]) * (1 - discount) / discount * encoding.late_per_day, seconds


def solve_with_pymdptoolbox(encoding: Encoding, span: float) -> tuple[float, float]:
    """The late rate that pymdptoolbox's relative value iteration finds, and the seconds that it takes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import mdptoolbox.mdp

        # Its check of the input makes a dense matrix of all states by all states; without it far larger problems fit.
        mdptoolbox.util.check = lambda _transitions, _reward: None
        num_states, num_actions = encoding.transitions.shape[1], int(encoding.action.max()) + 1
        rewards = np.full((num_states, num_actions), -10.0)
        rewards[encoding.state, encoding.action] = encoding.reward
        transitions = [_of_action(encoding, action) for action in range(num_actions)]
        solver = mdptoolbox.mdp.RelativeValueIteration(transitions, rewards, epsilon=span, max_iter=100_000)
        began = time.perf_counter()
        solver.run()
        seconds = time.perf_counter() - began
    return float(solver.average_reward) * encoding.late_per_day, seconds


def _of_action(encoding: Encoding, action: int) -> scipy.sparse.csr_matrix:
    """The transitions of one action; a state that does not have it stays where it is."""
    num_states = encoding.transitions.shape[1]
    pairs = np.flatnonzero(encoding.action == action)
    stay = np.setdiff1d(np.arange(num_states), encoding.state[pairs])
    staying = scipy.sparse.csr_array(
        (np.ones(len(stay)), stay, np.arange(len(stay) + 1)), shape=(len(stay), num_states)
    )
    order = np.argsort(np.concatenate([encoding.state[pairs], stay]))
    return scipy.sparse.csr_matrix(scipy.sparse.vstack([encoding.transitions[pairs], staying]).tocsr()[order])
