"""The best teams by prices that look one event ahead, with the prices of few teams found.

**The bound.** If team b reaches V_j(f-a) and is also looked at from f, then V_j(f-a) - V_j(f) >= h(f-a-b) - h(f-b), and
table by table that is at least h(f-a) - h(f) - Σ_G d_G (see `lookahead_rows`). So with B busy trucks in f, and P(a) =
h(f-a) - h(f),

    (Λ + μ (B + |a|)) price(a) >= (Λ + μ B) P(a) + Σ_G q_G(a) + μ Σ_{i in a} P(a-e_i) - lost(a),

where lost(a) is for demand points whose table is too short of idle trucks for that (`_find_lost`). All but lost(a) is a
sum over the parts of a, from increments. Prices nearly always rise when other trucks leave, so that d is small. If any
team may be chosen, f-a must have k idle trucks for that, or there is no bound.

Teams are looked at from the smallest cost + bound up, until the next one is above the totals that are wanted. Few are:
with 44 trucks, of which 9 are busy, the best one takes on average 1.2 of 35 single trucks, 2.3 of 600 pairs, 8.4 of
6,800 teams of three. For one decision, the cheapest idle team is looked at first. Then teams are gone through from the
smallest cost up, until none of the others can be better, and only those whose cost + bound is not above its total stay.
"""

from typing import Any

import numpy as np
from numba import njit

from runcard.mdp.arrays import Floats, Ints
from runcard.mdp.kernels.bare import bare_kernel
from runcard.mdp.kernels.lookahead import look_at_state, price_ahead
from runcard.mdp.kernels.team_codes import first_idle_team

ROUNDING = 1e-12
"""A bound counts as above a total only by more than this, so that teams that are equally good are all looked at."""


@bare_kernel
def _least_of_parts(size: int, part: Floats, teams: Any) -> float:
    """A bound on the sum over the parts of any team of `size` trucks: the least of each size, as often as there are."""
    total, times = 0.0, 1.0
    for of in range(1, size + 1):
        times = times * (size - of + 1) / of
        least = np.inf if of == 1 else 0.0  # teams that are not listed add nothing, and single trucks all are
        for n in range(teams.first_listed[of], teams.first_listed[of + 1]):
            least = min(least, part[n])
        total += times * least
    return total


@bare_kernel
def _find_lost(size: int, idle: Ints, scratch: Any, teams: Any, tables: Any) -> float:
    """Set lost[i], what a truck of station i takes off the bound for teams of some size; returns the largest.

    For demand point j that is λ_j max(0, V_j(f) - h(f) - e_j) with e_j at most the cost + price of any team of the city
    there. If the table of j has n idle trucks in f, enough for k_j, it is too short in f-a only if a has n - k_j + 1 of
    them: each takes that part. If the table has too few in f, those of the first idle trucks b in the order of j take
    all of it: unless a has one of these, b is first in f-a, too.
    """
    lost, most = scratch.lost, 0.0
    for i in range(len(idle)):
        lost[i] = 0.0
    if teams.any_team:
        return most
    lowest = min(0.0, _least_of_parts(teams.most_needed, scratch.increment, teams))
    for g in range(len(tables.stride)):
        num_idle = 0
        for i in range(len(idle)):
            if tables.stride[g, i] > 0:
                num_idle += idle[i]
        for m in range(teams.first_point[g], teams.first_point[g + 1]):
            j = teams.point[m]
            spare = num_idle - teams.needed[j]
            if spare >= size:
                continue
            excess = teams.rate[m] * max(0.0, scratch.total[m] - teams.least_cost[j] - lowest)
            if spare < 0:
                for i in teams.members[first_idle_team(teams.order, j, idle, teams.needed[j], teams.number_of_code)]:
                    if i >= 0:
                        lost[i] += excess
            else:
                for i in range(len(idle)):
                    if tables.stride[g, i] > 0:
                        lost[i] += excess / (spare + 1)
    for i in range(len(idle)):
        most = max(most, lost[i])
    return most


@bare_kernel
def bound_of(t: int, size: int, scratch: Any, teams: Any) -> float:
    """The bound on the price of team t of `size` trucks, times its weight; inf if it is not idle."""
    own = teams.number_listed[t]
    bound = scratch.part[own] if own >= 0 else 0.0
    for r in range(2**size - 2):
        part = teams.number_listed[teams.parts[t, r]]
        if part >= 0:
            bound += scratch.part[part]
    for r in range(size):
        bound -= scratch.lost[teams.members[t, r]]
    return float(bound)


@bare_kernel
def _limit_of(total: float) -> float:
    """The largest bound that is not above a total."""
    return total + ROUNDING * max(1.0, abs(total))


@bare_kernel
def _find_best(
    candidate: Ints, cost: Floats, bound: Floats, count: int, best: Floats, busy: int, idle: Ints, scratch: Any,
    teams: Any, tables: Any,
) -> int:  # fmt: skip
    """Find the prices of `count` candidates, from the smallest bound up, until the next is above the last of `best`.

    Those whose prices were found stand first; returns how many. `best` are the smallest totals so far, rising, and
    scratch.ahead is nan for candidates whose prices are not known.
    """
    for place in range(count):
        n = place
        for m in range(place + 1, count):
            if bound[m] < bound[n]:
                n = m
        if bound[n] > _limit_of(best[len(best) - 1]):
            return place
        candidate[place], candidate[n] = candidate[n], candidate[place]
        cost[place], cost[n] = cost[n], cost[place]
        bound[place], bound[n] = bound[n], bound[place]
        t = candidate[place]
        if np.isnan(scratch.ahead[t]):
            scratch.ahead[t] = price_ahead(t, busy, idle, scratch, teams, tables)
        total, at = cost[place] + scratch.ahead[t], len(best) - 1
        while at >= 0 and total < best[at]:
            if at + 1 < len(best):
                best[at + 1] = best[at]
            best[at] = total
            at -= 1
    return count


@bare_kernel
def _is_bounded(idle: Ints, teams: Any) -> bool:
    """Whether there are bounds in a state: if any team may be chosen, only where enough trucks are left for that."""
    num_idle = 0
    for i in range(len(idle)):
        num_idle += idle[i]
    return not (teams.any_team and num_idle < 2 * teams.most_needed)


@njit(nogil=True, cache=True)
def prices_ahead(
    candidates: Ints, cost: Floats, keep: int, idle: Ints, scratch: Any, teams: Any, tables: Any
) -> Floats:
    """The price of each candidate; nan for those that cannot be among the `keep` best by cost + price (0: none).

    Candidates are idle, and of equally many trucks if some may be left out.
    """
    found, busy, size = np.full(len(candidates), np.nan), np.sum(teams.trucks - idle), 0
    if len(candidates) > 0:
        size = np.sum(teams.members[candidates[0]] >= 0)
    look_at_state(size, busy, idle, scratch, teams, tables)
    if keep == 0 or not _is_bounded(idle, teams):
        for n in range(len(candidates)):
            found[n] = price_ahead(candidates[n], busy, idle, scratch, teams, tables)
        return found
    _find_lost(size, idle, scratch, teams, tables)
    weight, bound = teams.total_rate + teams.returns_per_day * (busy + size), np.empty(len(candidates))
    for n in range(len(candidates)):
        bound[n] = cost[n] + bound_of(candidates[n], size, scratch, teams) / weight
        scratch.ahead[candidates[n]] = np.nan
    best = np.full(keep, np.inf)
    _find_best(candidates.copy(), cost.copy(), bound, len(candidates), best, busy, idle, scratch, teams, tables)
    for n in range(len(candidates)):
        found[n] = scratch.ahead[candidates[n]]
    return found


@bare_kernel
def _list_candidate(
    t: int, cost: float, size: int, weight: float, limit: float, count: int, scratch: Any, teams: Any
) -> int:
    """List team t if it is idle and its cost + bound is at most `limit`; returns how many are listed then."""
    bound = cost + bound_of(t, size, scratch, teams) / weight
    if bound <= limit and bound < np.inf:
        scratch.candidate[count], scratch.cost[count], scratch.bound[count], scratch.ahead[t] = t, cost, bound, np.nan
        count += 1
    return count


@bare_kernel
def _list_candidates(
    j: int, size: int, weight: float, limit: float, least: float, scratch: Any, ranked: Any, teams: Any
) -> int:
    """List the idle teams of `size` trucks whose bound on cost + price at j is at most `limit`; returns how many.

    `least` is a bound on every price, which ends the search. After the teams that are ranked by cost, if that has not
    ended it, come all teams.
    """
    count, first, last = 0, teams.first_team[size], teams.first_team[size + 1]
    for n in range(ranked.first[j], ranked.first[j + 1]):
        if ranked.cost[n] + least > limit:
            return count
        count = _list_candidate(ranked.team[n], ranked.cost[n], size, weight, limit, count, scratch, teams)
    if ranked.first[j + 1] - ranked.first[j] < last - first:
        count = 0
        for t in range(first, last):
            count = _list_candidate(t, teams.cost[t, j], size, weight, limit, count, scratch, teams)
    return count


@bare_kernel
def _first_idle(j: int, size: int, scratch: Any, ranked: Any, teams: Any) -> int:
    """The idle team with the smallest cost at j; -1 if none of those that are ranked is idle."""
    for n in range(ranked.first[j], ranked.first[j + 1]):
        if bound_of(ranked.team[n], size, scratch, teams) < np.inf:
            return int(ranked.team[n])
    return -1


@bare_kernel
def team_ahead(j: int, idle: Ints, scratch: Any, ranked: Any, teams: Any, tables: Any) -> int:
    """The number of the team that `decide` sends to demand point j."""
    num_idle, busy = 0, 0
    for i in range(len(idle)):
        num_idle += idle[i]
        busy += teams.trucks[i] - idle[i]
    size = min(teams.needed[j], num_idle)
    if size == num_idle:
        return int(first_idle_team(teams.order, j, idle, size, teams.number_of_code))
    look_at_state(size, busy, idle, scratch, teams, tables)
    most_lost = _find_lost(size, idle, scratch, teams, tables)
    weight = teams.total_rate + teams.returns_per_day * (busy + size)
    team, price, best, limit, least, bounded = -1, np.inf, scratch.best, np.inf, -np.inf, _is_bounded(idle, teams)
    best[0] = np.inf
    if bounded:
        team = _first_idle(j, size, scratch, ranked, teams)
    if team >= 0:
        price = price_ahead(team, busy, idle, scratch, teams, tables)
        best[0] = teams.cost[team, j] + price
        limit = _limit_of(best[0])
        least = (_least_of_parts(size, scratch.part, teams) - size * most_lost) / weight
    count = _list_candidates(j, size, weight, limit, least, scratch, ranked, teams)
    least_total = best[0]
    if team >= 0:
        scratch.ahead[team] = price
    for n in range(count if not bounded else 0):
        scratch.bound[n] = -np.inf
    count = _find_best(scratch.candidate, scratch.cost, scratch.bound, count, best, busy, idle, scratch, teams, tables)
    for n in range(count):
        t = scratch.candidate[n]
        total = scratch.cost[n] + scratch.ahead[t]
        if total < least_total or (total == least_total and t < team):
            team, least_total = int(t), total
    return team
