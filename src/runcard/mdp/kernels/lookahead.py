"""Prices that look one event ahead, from values that are a sum of small tables.

With h the sum of the tables, V_j(f) = min_b { cost(b, j) + h(f-b) } and B busy trucks in f, both f and f-a are followed
to their next event, side by side: an incident at j, the return of a truck that is busy in both, or of a truck of a,

    (Λ + μ (B + |a|)) price(a) = Σ_j λ_j (V_j(f-a) - V_j(f)) + μ Σ_i (C_i - f_i) (h(f-a+e_i) - h(f+e_i))
                                 + μ Σ_{i in a} (h(f-a+e_i) - h(f)).

Every part is a sum of prices P(b) = h(g-b) - h(g). The prices of all teams in a state come at once, from increments:
what a team costs more than its parts do together, m(a) = P(a) - Σ m(s) over the parts s of a, neither empty nor all of
it. So the price of a team is the sum of the increments of its parts and its own. An increment is a sum over tables,

    m(a) = Σ_{G with all of a} m_G(a),    m_G(a) = H_G(g-a) - H_G(g) - Σ_{parts s of a} m_G(s),

and those of every state of a table are found once, as rows (see `lookahead_rows`). Only tables that have the trucks
concerned take part, and nothing is of the size of the state space.

The cheapest team b of V_j is sought among the teams that are listed for j's table: all of them where they are few, else
those of its own stations. If none of these is idle, it is the first idle trucks in the order of j.

Only demand points that would ever ask for the trucks concerned can change: increments are the same in f-a as in f but
for tables that have a truck of a, and so are prices but for teams that have a station near a, that is, in one of those
tables. A table of demand points none of whose teams does is left out (unless it is short of idle trucks, so that its
points go further): there V_j(f-a) - h(f-a) = V_j(f) - h(f).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from runcard.mdp.arrays import Floats, Ints
from runcard.mdp.kernels.bare import bare_kernel
from runcard.mdp.kernels.team_codes import first_idle_team


class AheadScratch(NamedTuple):
    """What prices are computed in, state after state; each thread has its own."""

    place: Ints
    """[G] where the state stands in each table."""
    increment: Floats
    price: Floats
    """[L] the increment and the price of each listed team; inf, or no number at all, if it is not idle."""
    total: Floats
    """V_j(f) - h(f) of the demand points of each table."""
    after_increment: Floats
    after_price: Floats
    after_total: Floats
    """The same after a team has left."""
    cheapest: Floats
    """[k + 1] the smallest price of a team of each size that demand points of one table choose from."""
    short: NDArray[np.bool_]
    """[G] whether a table has too few idle trucks for one of its demand points."""
    part: Floats
    """[L] what each listed team adds to the bounds of those that it is part of."""
    lost: Floats
    """[I] lost(a) of each truck of a (see `lookahead_best`)."""
    team_price: Floats
    """[T] P(a), of a few teams at a time."""
    ahead: Floats
    """[T] the prices that look one event ahead, of a few teams at a time."""
    best: Floats
    """[1] the smallest cost + price so far."""
    candidate: Ints
    cost: Floats
    bound: Floats
    """Teams that may be the best, what they cost now, and the bounds on their totals."""


@bare_kernel
def taken_from(g: int, members: NDArray[np.int32], tables: Any) -> int:
    """What the trucks of a team take from the state of table g; 0 if it has none of them."""
    taken = 0
    for r in range(len(members)):
        if members[r] >= 0:
            taken += tables.stride[g, members[r]]
    return taken


@bare_kernel
def _value_price(members: NDArray[np.int32], place: Ints, tables: Any) -> float:
    """P(b) of a team in the state of `place`, table by table."""
    price = 0.0
    for g in range(len(place)):
        taken = taken_from(g, members, tables)
        if taken > 0:
            price += tables.value[place[g] - taken] - tables.value[place[g]]
    return price


@bare_kernel
def _find_prices(increment: Floats, price: Floats, teams: Any) -> None:
    """Set the price of every listed team: its increment and those of its parts."""
    parts, first = teams.listed_parts, teams.first_listed
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
    g: int, idle: Ints, place: Ints, price: Floats, total: Floats, scratch: Any, teams: Any, tables: Any
) -> bool:
    """Set V_j(f) - h(f), the smallest cost + price, for the demand points of table g; whether it is short for one.

    The teams of a point stand from the smallest cost up: with the smallest price of all, those that are left cost more.
    """
    short = False
    for size in range(1, teams.first_choice.shape[1]):
        start, stop = teams.first_choice[g, size - 1], teams.first_choice[g, size]
        cheapest = np.inf
        for n in range(start, stop):
            cheapest = min(cheapest, price[teams.choice[n]])
        scratch.cheapest[size] = cheapest
    for m in range(teams.first_point[g], teams.first_point[g + 1]):
        j = teams.point[m]
        least, cheapest = np.inf, scratch.cheapest[teams.needed[j]]
        for n in range(teams.first_cost[m], teams.first_cost[m + 1]):
            if teams.choice_cost[n] + cheapest > least:
                break
            sum_here = teams.choice_cost[n] + price[teams.team_of_cost[n]]
            least = sum_here if sum_here < least else least
        if least == np.inf:
            short = True
            t = first_idle_team(teams.order, j, idle, teams.needed[j], teams.number_of_code)
            least = teams.cost[t, j] + _value_price(teams.members[t], place, tables)
        total[m] = least
    return short


@bare_kernel
def _leave_out_busy(i: int, idle: Ints, increment: Floats, teams: Any) -> None:
    """Make teams with more trucks of station i than are idle cost infinitely much."""
    if idle[i] < teams.trucks[i] and idle[i] < teams.of_station.shape[1]:
        increment[teams.of_station[i, idle[i]]] = np.inf


@bare_kernel
def look_at_state(size: int, busy: int, idle: Ints, scratch: Any, teams: Any, tables: Any) -> None:
    """Find what the prices of teams in a state need to know of it, and for bounds on those of `size` trucks."""
    increment, part, mu = scratch.increment, scratch.part, teams.returns_per_day
    for n in range(len(increment)):
        increment[n] = part[n] = 0.0
    for g in range(len(scratch.place)):
        scratch.place[g] = tables.first_value[g]
        for i in range(len(idle)):
            scratch.place[g] += tables.stride[g, i] * idle[i]
        first = tables.first_local[g]
        number = tables.first_local[g + 1] - first
        row = teams.first_row[g] + (scratch.place[g] - tables.first_value[g]) * number
        for n in range(number):
            increment[teams.local[first + n]] += teams.increment[row + n]
            part[teams.local[first + n]] += teams.slack[row + n]
    for i in range(len(idle)):
        _leave_out_busy(i, idle, increment, teams)
    # A part of s trucks is in size - s of the teams that lack one truck.
    for of in range(1, size + 1):
        weight = teams.total_rate + mu * (busy + size - of)
        for n in range(teams.first_listed[of], teams.first_listed[of + 1]):
            part[n] += weight * increment[n]
    _find_prices(increment, scratch.price, teams)
    for g in range(len(scratch.place)):
        scratch.short[g] = _find_totals(g, idle, scratch.place, scratch.price, scratch.total, scratch, teams, tables)


@bare_kernel
def price_here(t: int, scratch: Any, teams: Any) -> float:
    """P(a) of team t, listed or not; inf if it is not idle."""
    own = teams.number_listed[t]
    price = scratch.increment[own] if own >= 0 else 0.0
    for r in range(teams.parts.shape[1]):
        if teams.parts[t, r] < 0:
            break
        part = teams.number_listed[teams.parts[t, r]]
        if part >= 0:
            price += scratch.increment[part]
    return float(price)


@bare_kernel
def _move(members: NDArray[np.int32], sign: int, idle: Ints, place: Ints, tables: Any) -> None:
    """Move the state by the trucks of a team: they leave (-1) or come back (1)."""
    for r in range(len(members)):
        if members[r] >= 0:
            idle[members[r]] += sign
    for g in range(len(place)):
        place[g] += sign * taken_from(g, members, tables)


@bare_kernel
def _returns(a: int, size: int, idle: Ints, scratch: Any, teams: Any, tables: Any) -> float:
    """The part of returns in the price of team a of `size` trucks, over μ."""
    total, members, place = 0.0, teams.members[a], scratch.place
    for i in range(len(idle)):
        busy = teams.trucks[i] - idle[i]
        if busy > 0:
            price = scratch.team_price[a]
            for n in range(tables.first_group[i], tables.first_group[i + 1]):
                g = tables.group[n]
                taken, here, there = taken_from(g, members, tables), place[g], place[g] + tables.stride[g, i]
                price += tables.value[there - taken] - tables.value[there]
                price -= tables.value[here - taken] - tables.value[here]
            total += busy * price
    # The parts that lack one truck of the team are its last ones.
    for r in range(2**size - 2 - size if size > 1 else 0, 2**size - 2):
        total += scratch.team_price[teams.parts[a, r]]
    return total


@bare_kernel
def _incidents(a: int, idle: Ints, scratch: Any, teams: Any, tables: Any) -> float:
    """Σ_j λ_j (V_j(f-a) - V_j(f)) for team a."""
    members, place, increment = teams.members[a], scratch.place, scratch.after_increment
    total = teams.total_rate * scratch.team_price[a]
    for n in range(len(increment)):  # an assignment of a slice would allocate
        increment[n] = scratch.increment[n]
    for g in range(len(place)):
        taken = taken_from(g, members, tables)
        if taken > 0:
            first = tables.first_local[g]
            number = tables.first_local[g + 1] - first
            here = teams.first_row[g] + (place[g] - tables.first_value[g]) * number
            there = here - taken * number
            for n in range(number):
                increment[teams.local[first + n]] += teams.increment[there + n] - teams.increment[here + n]
    _move(members, -1, idle, place, tables)
    for r in range(len(members)):
        if members[r] >= 0:
            _leave_out_busy(members[r], idle, increment, teams)
    _find_prices(increment, scratch.after_price, teams)
    for g in range(len(place)):
        concerned = scratch.short[g]
        for r in range(len(members)):
            concerned = concerned or (members[r] >= 0 and teams.near[members[r], g])
        if concerned:
            _find_totals(g, idle, place, scratch.after_price, scratch.after_total, scratch, teams, tables)
            for m in range(teams.first_point[g], teams.first_point[g + 1]):
                total += teams.rate[m] * (scratch.after_total[m] - scratch.total[m])
    _move(members, 1, idle, place, tables)
    return float(total)


@bare_kernel
def price_ahead(a: int, busy: int, idle: Ints, scratch: Any, teams: Any, tables: Any) -> float:
    """The price of team a in the state that was entered, with `busy` busy trucks."""
    size = 0
    for r in range(teams.members.shape[1]):
        size += teams.members[a, r] >= 0
    scratch.team_price[a] = price_here(a, scratch, teams)
    for r in range(2**size - 2):
        scratch.team_price[teams.parts[a, r]] = price_here(teams.parts[a, r], scratch, teams)
    returns = teams.returns_per_day * _returns(a, size, idle, scratch, teams, tables)
    incidents = _incidents(a, idle, scratch, teams, tables)
    return float((incidents + returns) / (teams.total_rate + teams.returns_per_day * (busy + size)))
