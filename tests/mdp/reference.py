"""A second implementation of the dispatch problem: dense, slow, and written from the Bellman equation alone.

With τ = Σλ_j + μ ΣC_i, the policy that sends team a(f, j) to demand point j in state f satisfies

    τ h(f) = -g + μ Σ_i (C_i - f_i) h(f+e_i) + μ Σ_i f_i h(f) + Σ_j λ_j { cost(a(f, j), j) + h(f - a(f, j)) }.

Divided by τ that is h = c/τ - g/τ + P h with P a matrix of probabilities, one row for each state. Everything here makes
that matrix and hands it to numpy's solver. States are listed with the last station counting fastest, which is the order
of the values and probabilities of the package; nothing else is taken from it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import factorial

import mpmath as mp
import numpy as np
from numpy.typing import NDArray

from runcard.mdp.problem import DispatchProblem
from runcard.mdp.rows import PolicyRows

mp.mp.dps = 40

Table = NDArray[np.int64]
"""A policy: the team number of every state and demand point [S, J]."""


@dataclass(frozen=True, eq=False)
class Exact:
    """What a policy achieves, by linear algebra; arrays as in `runcard.mdp.evaluate.Evaluation`, without padding."""

    late_fraction: float
    value: NDArray[np.float64]
    probability: NDArray[np.float64]
    mean_response_minutes: float | None
    dispatch_share: NDArray[np.float64]
    outside_share: float
    busy_fractions: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Dense:
    """A problem with its states and, in each state, the teams that each demand point may get."""

    problem: DispatchProblem

    @cached_property
    def states(self) -> list[tuple[int, ...]]:
        """Every state f."""
        return list(product(*(range(trucks + 1) for trucks in self.problem.trucks)))

    @cached_property
    def number(self) -> dict[tuple[int, ...], int]:
        """The place of each state in `states`."""
        return {state: place for place, state in enumerate(self.states)}

    @cached_property
    def team_number(self) -> dict[tuple[int, ...], int]:
        """The number of each team."""
        return {tuple(team): number for number, team in enumerate(self.problem.teams.counts.tolist())}

    @cached_property
    def choices(self) -> list[list[list[int]]]:
        """[S][J] the teams of exactly min(k_j, |f|) idle trucks."""
        teams = self.problem.teams.counts.astype(int)
        sizes = teams.sum(axis=1)
        chosen = []
        for state in self.states:
            idle = (teams <= state).all(axis=1)
            of_size = {k: np.flatnonzero(idle & (sizes == min(k, sum(state)))).tolist() for k in (1, 2, 3, 4)}
            chosen.append([of_size[k] for k in self.problem.trucks_needed.tolist()])
        return chosen

    def after(self, state: tuple[int, ...], team: int) -> int:
        """The number of the state f - a."""
        return self.number[tuple(f - a for f, a in zip(state, self.problem.teams.counts[team].tolist(), strict=True))]

    @cached_property
    def tau(self) -> float:
        """τ."""
        problem = self.problem
        return float(problem.incidents_per_day.sum() + problem.returns_per_day * problem.trucks.sum())

    def matrix(self, table: Table) -> NDArray[np.float64]:
        """[S, S] the uniformised chain P of a policy."""
        problem, mu = self.problem, self.problem.returns_per_day
        rates = np.zeros((len(self.states), len(self.states)))
        for place, state in enumerate(self.states):
            for i, (idle, trucks) in enumerate(zip(state, problem.trucks.tolist(), strict=True)):
                rates[place, place] += mu * idle
                if idle < trucks:
                    rates[place, self.number[*state[:i], idle + 1, *state[i + 1 :]]] += mu * (trucks - idle)
            for j, rate in enumerate(problem.incidents_per_day):
                rates[place, self.after(state, table[place, j])] += rate
        return rates / self.tau

    def rate_of(self, numbers: NDArray[np.float64], table: Table) -> NDArray[np.float64]:
        """[S] Σ_j λ_j numbers[a(f, j), j]."""
        return (numbers[table, np.arange(self.problem.num_points)] * self.problem.incidents_per_day).sum(axis=1)

    def values(self, table: Table) -> tuple[float, NDArray[np.float64]]:
        """g per day, and h [S] with h = 0 where every truck is idle: the last column of the unknowns stands for g."""
        system = np.eye(len(self.states)) - self.matrix(table)
        system[:, -1] = 1.0
        solution = np.linalg.solve(system, self.rate_of(self.problem.cost, table) / self.tau)
        gain = float(solution[-1]) * self.tau
        solution[-1] = 0.0
        return gain, solution

    def probabilities(self, table: Table) -> NDArray[np.float64]:
        """[S] the p with p P = p and total 1."""
        system = (np.eye(len(self.states)) - self.matrix(table)).T
        system[-1] = 1.0
        right = np.zeros(len(self.states))
        right[-1] = 1.0
        return np.linalg.solve(system, right)

    def evaluate(self, table: Table) -> Exact:
        """What a policy achieves."""
        problem, probability = self.problem, self.probabilities(table)
        gain, value = self.values(table)
        total = problem.incidents_per_day.sum()
        busy = problem.trucks - probability @ np.array(self.states)
        sent = np.einsum(
            "s,j,sji->i", probability, problem.incidents_per_day, problem.teams.counts[table].astype(float)
        )
        asked = problem.incidents_per_day @ problem.trucks_needed
        minutes = None
        if "minutes" in problem.measures:
            minutes = float(probability @ self.rate_of(problem.measures["minutes"], table) / total)
        return Exact(
            late_fraction=gain / total,
            value=value,
            probability=probability,
            mean_response_minutes=minutes,
            dispatch_share=sent / asked,
            outside_share=float(1.0 - sent.sum() / asked),
            busy_fractions=busy / problem.trucks,
        )

    def first_table(self) -> Table:
        """The policy that sends the team listed first."""
        return np.array([[teams[0] for teams in row] for row in self.choices])

    def random_table(self, rng: np.random.Generator) -> Table:
        """A policy that sends any team to any demand point in any state."""
        return np.array([[rng.choice(teams) for teams in row] for row in self.choices])

    def order_table(self, order: NDArray[np.int64]) -> Table:
        """The policy that takes every idle truck along the stations of `order` [J, I] until there are k_j."""
        table = np.empty((len(self.states), self.problem.num_points), np.int64)
        for (place, state), j in product(enumerate(self.states), range(self.problem.num_points)):
            trucks = [i for i in order[j] for _ in range(state[i])][: self.problem.trucks_needed[j]]
            table[place, j] = self.team_number[tuple(trucks.count(i) for i in range(len(state)))]
        return table

    def sent_by_table(self, table: Table) -> NDArray[np.float64]:
        """[S, T] the rate at which a policy sends each team."""
        rates = np.zeros((len(self.states), self.problem.num_teams))
        for state, row in enumerate(table):
            np.add.at(rates[state], row, self.problem.incidents_per_day)
        return rates

    def sent_by_rows(self, rows: PolicyRows) -> NDArray[np.float64]:
        """[S, T] the same of rows of every state."""
        rates = np.zeros((len(self.states), self.problem.num_teams))
        np.add.at(rates, (np.searchsorted(rows.end, np.arange(len(rows.team)), side="right"), rows.team), rows.rate)
        return rates

    def totals(self, value: NDArray[np.float64]) -> Iterator[tuple[int, int, list[int], NDArray[np.float64]]]:
        """For each state and demand point: its teams, and cost(a, j) + h(f-a) of each of them."""
        for place, state in enumerate(self.states):
            for j, teams in enumerate(self.choices[place]):
                after = [self.after(state, team) for team in teams]
                yield place, j, teams, self.problem.cost[teams, j] + value[after]

    def greedy_table(self, value: NDArray[np.float64], *, keep: Table | None = None) -> Table:
        """The policy that is greedy for h [S]; with `keep`, that one wherever no team is clearly better."""
        table = np.empty((len(self.states), self.problem.num_points), np.int64)
        for place, j, teams, totals in self.totals(value):
            table[place, j] = teams[int(totals.argmin())]
            if keep is not None and totals[teams.index(keep[place, j])] <= totals.min() + 1e-11:
                table[place, j] = keep[place, j]
        return table

    def optimum(self) -> tuple[Table, Exact]:
        """The optimal policy by Howard's policy iteration, and what it achieves."""
        table = self.first_table()
        while True:
            better = self.greedy_table(self.values(table)[1], keep=table)
            if np.array_equal(better, table):
                return table, self.evaluate(table)
            table = better

    def num_policies(self) -> int:
        """The number of policies that differ in some state."""
        count = 1
        for row in self.choices:
            for teams in row:
                count *= len(teams)
        return count

    def best_of_all(self) -> float:
        """The smallest late fraction of all policies, each of them tried."""
        shape = (len(self.states), self.problem.num_points)
        teams = [teams for row in self.choices for teams in row]
        tables = (np.array(chosen).reshape(shape) for chosen in product(*teams))
        return min(self.values(table)[0] for table in tables) / float(self.problem.incidents_per_day.sum())


def level_distribution(problem: DispatchProblem) -> NDArray[np.float64]:
    """[N + 1] the chance that n trucks are idle, from the generator of that number alone."""
    num_trucks = int(problem.trucks.sum())
    generator = np.zeros((num_trucks + 1, num_trucks + 1))
    for n in range(num_trucks + 1):
        if n < num_trucks:
            generator[n, n + 1] += problem.returns_per_day * (num_trucks - n)
        for rate, needed in zip(problem.incidents_per_day, problem.trucks_needed, strict=True):
            generator[n, n - min(n, needed)] += rate
        generator[n, n] -= generator[n].sum()
    system = generator.T.copy()
    system[-1] = 1.0
    return np.linalg.solve(system, np.eye(num_trucks + 1)[-1])


def erlang_loss(offered: float, num_trucks: int) -> NDArray[np.float64]:
    """[N + 1] the chance that n trucks are idle if each incident takes one: (ρ^b / b!) / Σ, with b = N - n busy."""
    weights = np.array([offered**busy / factorial(busy) for busy in range(num_trucks, -1, -1)])
    return weights / weights.sum()


def value_error(value: NDArray[np.float64], exact: Exact, problem: DispatchProblem) -> float:
    """The largest error of the relative values h of a policy, relative to their size.

    h is known up to a constant, so both are set to 0 in the likeliest state. An error counts by the square root of the
    chance of that many idle trucks: bounds on g, and so every stopping rule, see little of what hardly ever happens.
    """
    likeliest = int(exact.probability.argmax())
    levels = np.indices(tuple(problem.trucks + 1)).sum(axis=0).ravel()
    found = value[: len(exact.value)]
    error = (found - found[likeliest]) - (exact.value - exact.value[likeliest])
    size = 1.0 + np.abs(exact.value).max()
    return float((np.abs(error) * np.sqrt(level_distribution(problem)[levels].clip(0.0))).max() / size)


class ManyDigits:
    """The same equations in forty digits, for bounds that claim to hold to the last of a double."""

    def __init__(self, problem: DispatchProblem) -> None:
        self.dense, self.problem = Dense(problem), problem
        self.rates = [mp.mpf(float(rate)) for rate in problem.incidents_per_day]

    def values(self, table: Table) -> tuple[mp.mpf, list[mp.mpf]]:
        """The mean cost of an incident under a policy, and h [S] with h = 0 where every truck is idle."""
        problem, dense = self.problem, self.dense
        num, returns = len(dense.states), mp.mpf(float(problem.returns_per_day))
        system, right = mp.zeros(num, num), mp.zeros(num, 1)
        for f, state in enumerate(dense.states):
            moves = [
                (dense.number[*state[:i], idle + 1, *state[i + 1 :]], returns * (trucks - idle))
                for i, (idle, trucks) in enumerate(zip(state, problem.trucks.tolist(), strict=True))
                if idle < trucks
            ]
            for j, rate in enumerate(self.rates):
                moves.append((dense.after(state, table[f, j]), rate))
                right[f] -= rate * mp.mpf(float(problem.cost[table[f, j], j]))
            for to, rate in moves:
                system[f, to] += rate
                system[f, f] -= rate
        for f in range(num):
            system[f, num - 1] = -1
        solution = mp.lu_solve(system, right)
        return solution[num - 1] / sum(self.rates), [*solution[: num - 1], mp.mpf(0)]

    def optimum(self) -> mp.mpf:
        """The smallest mean cost of an incident, by Howard's policy iteration."""
        table = self.dense.first_table()
        while True:
            mean, value = self.values(table)
            better = table.copy()
            for f, state in enumerate(self.dense.states):
                for j, teams in enumerate(self.dense.choices[f]):
                    totals = {
                        team: mp.mpf(float(self.problem.cost[team, j])) + value[self.dense.after(state, team)]
                        for team in teams
                    }
                    best = min(totals, key=totals.__getitem__)
                    if totals[table[f, j]] - totals[best] > mp.mpf(10) ** -30 * (abs(totals[best]) + mean):
                        better[f, j] = best
            if np.array_equal(better, table):
                return mean
            table = better
