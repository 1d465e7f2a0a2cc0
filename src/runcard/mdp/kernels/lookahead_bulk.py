"""Decisions that look one event ahead, many of them: the teams of `lookahead.prices_ahead`, in a tenth of the time.

Prices are computed as in `lookahead`, to the last bit, from rows that are found once for every state of a table: the
increments of p_G, and those of q_G, which has the part of returns and a bound d_G (see `lookahead_rows`).

**The bound.** If team b reaches V_j(f-a) and is also looked at from f, then V_j(f-a) - V_j(f) >= h(f-a-b) - h(f-b), and
table by table that is at least h(f-a) - h(f) - Σ_G d_G. So with B busy trucks in f, and P(a) = h(f-a) - h(f),

    (Λ + μ (B + |a|)) price(a) >= (Λ + μ B) P(a) + Σ_G q_G(a) + μ Σ_{i in a} P(a-e_i) - lost(a),

where lost(a) is for demand points whose table is too short of idle trucks for that (`_find_lost`). All but lost(a) is a
sum over the parts of a, from increments. Prices nearly always rise when other trucks leave, so that d is small.

The cheapest idle team is looked at first. Then teams are gone through from the smallest cost up, until none of the rest
can be better. Those whose cost + bound is not above its total are looked at, too, from the smallest bound up. Few are:
with 44 trucks, of which 9 are busy, on average 1.2 of 35 single trucks, 2.3 of 600 pairs, 8.4 of 6,800 teams of three.
"""

from typing import Any, NamedTuple

import numpy as np

from runcard.mdp.arrays import Floats, Ints
from runcard.mdp.kernels.bare import bare_kernel
from runcard.mdp.kernels.lookahead import ROUNDING, enter, price_of, returns_of, taken_from
from runcard.mdp.kernels.team_codes import first_idle_team


class DecisionScratch(NamedTuple):
    """What one decision after another is computed in; each thread has its own."""

    place: Ints
    increment: Floats
    price: Floats
    total: Floats
    """As in `lookahead.StatePrices`, of the listed teams."""
    after_increment: Floats
    after_price: Floats
    after_total: Floats
    """The same after a team has left."""
    cheapest: Floats
    """[k + 1] the smallest price of a team of each size that demand points of one table choose from."""
    part: Floats
    """[L] what each listed team adds to the bounds of those that it is part of."""
    short: Any
    """[G] whether a table has too few idle trucks for one of its demand points."""
    lost: Floats
    """[I] lost(a) of each truck of a."""
    team_price: Floats
    """[T] P(a), of a few teams at a time."""
    candidate: Ints
    bound: Floats
    """Teams that may be the best, and the bounds on their totals."""


@bare_kernel
def _find_prices(increment: Floats, price: Floats, bulk: Any) -> None:
    """Set the price of every listed team: its increment and those of its parts, as `lookahead` adds them up."""
    parts, first = bulk.parts, bulk.first_listed
    for n in range(first[1], first[2]):
        price[n] = increment[n]
    for size in range(2, len(first) - 1):
        if size == 2:
            for n in range(first[2], first[3]):
                price[n] = increment[n] + increment[parts[n, 0]] + increment[parts[n, 1]]
        elif size == 3:  # written out: a third of the time
            for n in range(first[3], first[4]):
                total = increment[n] + increment[parts[n, 0]] + increment[parts[n, 1]] + increment[parts[n, 2]]
                price[n] = total + increment[parts[n, 3]] + increment[parts[n, 4]] + increment[parts[n, 5]]
        else:
            for n in range(first[size], first[size + 1]):
                total = increment[n]
                for r in range(2**size - 2):
                    total += increment[parts[n, r]]
                price[n] = total


@bare_kernel
def _find_totals(
    g: int, idle: Ints, place: Ints, price: Floats, total: Floats, scratch: Any, bulk: Any, teams: Any, tables: Any
) -> bool:
    """Set V_j(f) - h(f) for the demand points of table g, as `lookahead.best_totals` does; whether it is short.

    The teams of a point stand from the smallest cost up: with the smallest price of all, those that are left cost more.
    """
    short = False
    for size in range(1, bulk.first_choice.shape[1]):
        start, stop = bulk.first_choice[g, size - 1], bulk.first_choice[g, size]
        cheapest = np.inf
        for n in range(start, stop):
            cheapest = min(cheapest, price[bulk.choice[n]])
        scratch.cheapest[size] = cheapest
    for m in range(teams.first_point[g], teams.first_point[g + 1]):
        j = teams.point[m]
        least, cheapest = np.inf, scratch.cheapest[teams.needed[j]]
        for n in range(bulk.first_cost[m], bulk.first_cost[m + 1]):
            if bulk.cost[n] + cheapest > least:
                break
            one = bulk.cost[n] + price[bulk.team_of_cost[n]]
            least = one if one < least else least
        if least == np.inf:
            short = True
            t = first_idle_team(teams.order, j, idle, teams.needed[j], teams.number_of_code)
            least = teams.cost[t, j] + price_of(teams.members[t], place, tables)
        total[m] = least
    return short


@bare_kernel
def _leave_out_busy(i: int, idle: Ints, increment: Floats, bulk: Any, teams: Any) -> None:
    """Make teams with more trucks of station i than are idle cost infinitely much."""
    if idle[i] < teams.trucks[i] and idle[i] < bulk.of_station.shape[1]:
        increment[bulk.of_station[i, idle[i]]] = np.inf


@bare_kernel
def _enter_state(size: int, busy: int, idle: Ints, scratch: Any, bulk: Any, teams: Any, tables: Any) -> None:
    """Find what a decision on teams of some size needs to know of the state."""
    increment, part, mu = scratch.increment, scratch.part, teams.returns_per_day
    for n in range(len(increment)):
        increment[n] = part[n] = 0.0
    for g in range(len(scratch.place)):
        scratch.place[g] = tables.first_value[g]
        for i in range(len(idle)):
            scratch.place[g] += tables.stride[g, i] * idle[i]
        first = tables.first_local[g]
        number = tables.first_local[g + 1] - first
        row = bulk.first_row[g] + (scratch.place[g] - tables.first_value[g]) * number
        for n in range(number):
            increment[bulk.local[first + n]] += bulk.increment[row + n]
            part[bulk.local[first + n]] += bulk.slack[row + n]
    for i in range(len(idle)):
        _leave_out_busy(i, idle, increment, bulk, teams)
    # A part of s trucks is in size - s of the teams that lack one truck.
    for of in range(1, size + 1):
        weight = teams.total_rate + mu * (busy + size - of)
        for n in range(bulk.first_listed[of], bulk.first_listed[of + 1]):
            part[n] += weight * increment[n]
    _find_prices(increment, scratch.price, bulk)
    for g in range(len(scratch.place)):
        scratch.short[g] = _find_totals(
            g, idle, scratch.place, scratch.price, scratch.total, scratch, bulk, teams, tables
        )


@bare_kernel
def _least_of_parts(size: int, part: Floats, bulk: Any) -> float:
    """A bound on the sum over the parts of any team of `size` trucks: the least of each size, as often as there are."""
    total, times = 0.0, 1.0
    for of in range(1, size + 1):
        times = times * (size - of + 1) / of
        least = np.inf if of == 1 else 0.0  # teams that are not listed add nothing, and single trucks all are
        for n in range(bulk.first_listed[of], bulk.first_listed[of + 1]):
            least = min(least, part[n])
        total += times * least
    return total


@bare_kernel
def _find_lost(size: int, idle: Ints, scratch: Any, bulk: Any, teams: Any, tables: Any) -> float:
    """Set lost[i], what a truck of station i takes off the bound for teams of some size; returns the largest.

    For demand point j that is λ_j max(0, V_j(f) - h(f) - e_j) with e_j at most the cost + price of any team of the city
    there. If the table of j has n idle trucks in f, enough for k_j, it is too short in f-a only if a has n - k_j + 1 of
    them: each takes that part. If the table has too few in f, those of the first idle trucks b in the order of j take
    all of it: unless a has one of these, b is first in f-a, too.
    """
    lost = scratch.lost
    lost[:] = 0.0
    lowest = min(0.0, _least_of_parts(teams.most_needed, scratch.increment, bulk))
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
    most = 0.0
    for i in range(len(idle)):
        most = max(most, lost[i])
    return most


@bare_kernel
def _price_here(t: int, scratch: Any, bulk: Any, teams: Any) -> float:
    """P(a) of team t, listed or not; inf if it is not idle."""
    own = bulk.number_listed[t]
    price = scratch.increment[own] if own >= 0 else 0.0
    for r in range(teams.parts.shape[1]):
        if teams.parts[t, r] < 0:
            break
        part = bulk.number_listed[teams.parts[t, r]]
        if part >= 0:
            price += scratch.increment[part]
    return float(price)


@bare_kernel
def _incidents(a: int, idle: Ints, scratch: Any, bulk: Any, teams: Any, tables: Any) -> float:
    """Σ_j λ_j (V_j(f-a) - V_j(f)) for team a, as in `lookahead`."""
    members, place, increment = teams.members[a], scratch.place, scratch.after_increment
    total = teams.total_rate * scratch.team_price[a]
    for n in range(len(increment)):  # an assignment of a slice would allocate
        increment[n] = scratch.increment[n]
    for g in range(len(place)):
        taken = taken_from(g, members, tables)
        if taken > 0:
            first = tables.first_local[g]
            number = tables.first_local[g + 1] - first
            here = bulk.first_row[g] + (place[g] - tables.first_value[g]) * number
            there = here - taken * number
            for n in range(number):
                increment[bulk.local[first + n]] += bulk.increment[there + n] - bulk.increment[here + n]
    enter(members, -1, idle, place, tables)
    for r in range(len(members)):
        if members[r] >= 0:
            _leave_out_busy(members[r], idle, increment, bulk, teams)
    _find_prices(increment, scratch.after_price, bulk)
    for g in range(len(place)):
        concerned = scratch.short[g]
        for r in range(len(members)):
            concerned = concerned or (members[r] >= 0 and teams.near[members[r], g])
        if concerned:
            _find_totals(g, idle, place, scratch.after_price, scratch.after_total, scratch, bulk, teams, tables)
            for m in range(teams.first_point[g], teams.first_point[g + 1]):
                total += teams.rate[m] * (scratch.after_total[m] - scratch.total[m])
    enter(members, 1, idle, place, tables)
    return float(total)


@bare_kernel
def _total_of(
    a: int, j: int, weight: float, size: int, idle: Ints, scratch: Any, bulk: Any, teams: Any, tables: Any
) -> float:
    """Cost now + price of team a at demand point j."""
    scratch.team_price[a] = _price_here(a, scratch, bulk, teams)
    for r in range(2**size - 2):
        scratch.team_price[teams.parts[a, r]] = _price_here(teams.parts[a, r], scratch, bulk, teams)
    returns = teams.returns_per_day * returns_of(a, size, idle, scratch.place, scratch.team_price, teams, tables)
    incidents = _incidents(a, idle, scratch, bulk, teams, tables)
    return float(teams.cost[a, j] + (incidents + returns) / weight)


@bare_kernel
def _bound_of(t: int, size: int, scratch: Any, bulk: Any, teams: Any) -> float:
    """The bound on the price of team t, times its weight; inf if it is not idle."""
    own = bulk.number_listed[t]
    bound = scratch.part[own] if own >= 0 else 0.0
    for r in range(2**size - 2):
        part = bulk.number_listed[teams.parts[t, r]]
        if part >= 0:
            bound += scratch.part[part]
    for r in range(size):
        bound -= scratch.lost[teams.members[t, r]]
    return float(bound)


@bare_kernel
def _find_candidates(
    j: int, size: int, weight: float, limit: float, least: float, scratch: Any, bulk: Any, teams: Any
) -> int:
    """List the idle teams of `size` trucks whose bound on cost + price at j is at most `limit`; returns how many.

    `least` is a bound on every price, which ends the search. After the teams that are ranked by cost, if that has not
    ended it, come all teams: some for the second time, which does no harm.
    """
    found, ended = 0, False
    for n in range(bulk.first_ranked[j], bulk.first_ranked[j + 1]):
        if bulk.ranked_cost[n] + least > limit:
            ended = True
            break
        bound = bulk.ranked_cost[n] + _bound_of(bulk.ranked[n], size, scratch, bulk, teams) / weight
        if bound <= limit and bound < np.inf:
            scratch.candidate[found], scratch.bound[found] = bulk.ranked[n], bound
            found += 1
    if (
        not ended
        and bulk.first_ranked[j + 1] - bulk.first_ranked[j] < bulk.first_team[size + 1] - bulk.first_team[size]
    ):
        found = 0
        for t in range(bulk.first_team[size], bulk.first_team[size + 1]):
            bound = teams.cost[t, j] + _bound_of(t, size, scratch, bulk, teams) / weight
            if bound <= limit and bound < np.inf:
                scratch.candidate[found], scratch.bound[found] = t, bound
                found += 1
    return found


@bare_kernel
def _first_idle(j: int, size: int, scratch: Any, bulk: Any, teams: Any) -> int:
    """The idle team with the smallest cost at j; -1 if none of those that are ranked is idle."""
    for n in range(bulk.first_ranked[j], bulk.first_ranked[j + 1]):
        if _bound_of(bulk.ranked[n], size, scratch, bulk, teams) < np.inf:
            return int(bulk.ranked[n])
    return -1


@bare_kernel
def team_ahead(j: int, idle: Ints, scratch: Any, bulk: Any, teams: Any, tables: Any) -> int:
    """The number of the team that `decide` sends to demand point j."""
    num_idle, busy = 0, 0
    for i in range(len(idle)):
        num_idle += idle[i]
        busy += teams.trucks[i] - idle[i]
    size = min(teams.needed[j], num_idle)
    if size == num_idle:
        return int(first_idle_team(teams.order, j, idle, size, teams.number_of_code))
    _enter_state(size, busy, idle, scratch, bulk, teams, tables)
    weight, most_lost = teams.total_rate + teams.returns_per_day * (busy + size), 0.0
    scratch.lost[:] = 0.0
    if not teams.any_team:
        most_lost = _find_lost(size, idle, scratch, bulk, teams, tables)
    bounded = not (teams.any_team and num_idle < 2 * teams.most_needed)
    best, least_total, limit, least = -1, np.inf, np.inf, -np.inf
    first = _first_idle(j, size, scratch, bulk, teams) if bounded else -1
    if first >= 0:
        best, least_total = first, _total_of(first, j, weight, size, idle, scratch, bulk, teams, tables)
        limit = least_total + ROUNDING * max(1.0, abs(least_total))
        least = (_least_of_parts(size, scratch.part, bulk) - size * most_lost) / weight
    left = _find_candidates(j, size, weight, limit, least, scratch, bulk, teams)
    while left > 0:
        n = 0
        for m in range(1, left):
            if scratch.bound[m] < scratch.bound[n]:
                n = m
        if bounded and scratch.bound[n] > limit:
            break
        t = scratch.candidate[n]
        left -= 1
        scratch.candidate[n], scratch.bound[n] = scratch.candidate[left], scratch.bound[left]
        if t == first:
            continue
        total = _total_of(t, j, weight, size, idle, scratch, bulk, teams, tables)
        if total < least_total or (total == least_total and t < best):
            best, least_total = t, total
            limit = least_total + ROUNDING * max(1.0, abs(least_total))
    return best
