"""Prices that look one event ahead, from values that are a sum of small tables.

With h the sum of the tables, V_j(f) = min_b { cost(b, j) + h(f-b) } and B busy trucks in f, both f and f-a are followed
to their next event, side by side: an incident at j, the return of a truck that is busy in both, or of a truck of a,

    (Λ + μ (B + |a|)) price(a) = Σ_j λ_j (V_j(f-a) - V_j(f)) + μ Σ_i (C_i - f_i) (h(f-a+e_i) - h(f+e_i))
                                 + μ Σ_{i in a} (h(f-a+e_i) - h(f)).

Every part is a sum of prices h(g-b) - h(g). The prices of all teams in a state come at once, from increments: what a
team costs more than its parts do together, m(a) = price(a) - Σ m(s) over the parts s of a, neither empty nor all of it.
So the price of a team is the sum of the increments of its parts and its own. An increment is a sum over tables,

    m(a) = Σ_{G with all of a} m_G(a),    m_G(a) = H_G(g-a) - H_G(g) - Σ_{parts s of a} m_G(s):

only tables that have the trucks concerned take part, and nothing is of the size of the state space.

The cheapest team b of V_j is sought among the teams that are listed for j's table: all of them where they are few, else
those of its own stations. If none of these is idle, it is the first idle trucks in the order of j.

Only demand points that would ever ask for the trucks concerned can change: increments are the same in f-a as in f but
for tables that have a truck of a, and so are prices but for teams that have a station near a, that is, in one of those
tables. A table of demand points none of whose teams does is left out (unless it is short of idle trucks, so that its
points go further): there V_j(f-a) - h(f-a) = V_j(f) - h(f).
"""

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

from runcard.mdp.arrays import Floats, Ints
from runcard.mdp.kernels.bare import bare_kernel
from runcard.mdp.kernels.team_codes import first_idle_team

Members: TypeAlias = NDArray[np.int32]

ROUNDING = 1e-12
"""A bound counts as above a total only by more than this, so that teams that are equally good are all looked at."""


class StatePrices(NamedTuple):
    """What is known of the prices in one state."""

    local: Floats
    """The increments within each table, as `local_team` lists them."""
    increment: Floats
    price: Floats
    """[T] the increment and the price of each team."""
    total: Floats
    """V_j(f) - h(f) of the demand points of each table."""


@njit(nogil=True, cache=True)
def no_prices(teams: Any, tables: Any) -> StatePrices:
    """Arrays for the prices of one state, to be filled."""
    num_teams = len(teams.members)
    return StatePrices(
        np.empty(len(tables.local_team)), np.empty(num_teams), np.empty(num_teams), np.empty(len(teams.point))
    )


@bare_kernel
def is_idle(members: NDArray[np.integer[Any]], idle: Ints) -> bool:
    """Whether every truck of a team, given by its stations in rising order, is idle."""
    same = 0
    for r in range(len(members)):
        i = members[r]
        if i < 0:
            break
        same = same + 1 if r > 0 and members[r - 1] == i else 1
        if idle[i] < same:
            return False
    return True


@bare_kernel
def taken_from(g: int, members: Members, tables: Any) -> int:
    """What the trucks of a team take from the state of table g; 0 if it has none of them."""
    taken = 0
    for r in range(len(members)):
        if members[r] >= 0:
            taken += tables.stride[g, members[r]]
    return taken


@bare_kernel
def price_of(members: Members, place: Ints, tables: Any) -> float:
    """h(f-b) - h(f) of a team in the state of `place`."""
    price = 0.0
    for g in range(len(place)):
        taken = taken_from(g, members, tables)
        if taken > 0:
            price += tables.value[place[g] - taken] - tables.value[place[g]]
    return price


@njit(nogil=True, cache=True)
def _first_in_order(j: int, idle: Ints, teams: Any) -> int:
    """The number of the team of the first idle trucks in the order of j."""
    return int(first_idle_team(teams.order, j, idle, teams.needed[j], teams.number_of_code))


@bare_kernel
def _find_increments(g: int, place: Ints, known: Floats, local: Floats, increment: Floats, tables: Any) -> None:
    """Bring local[n] to m_G of the teams of table g, and increment[t] to what follows, from what they are elsewhere.

    Teams whose known[t] is inf are left out. What comes out for others that are not idle is part of no price.
    """
    first, here = tables.first_local[g], tables.value[place[g]]
    for n in range(first, tables.first_local[g + 1]):
        t = tables.local_team[n]
        if known[t] == np.inf:
            continue
        own = tables.value[place[g] - tables.local_offset[n]] - here
        for r in range(tables.local_parts.shape[1]):
            part = tables.local_parts[n, r]
            if part < 0:
                break
            own -= local[first + part]
        increment[t] += own - local[n]
        local[n] = own


@bare_kernel
def _sum_of_parts(t: int, increment: Floats, teams: Any) -> float:
    """The price of team t: the increments of its parts and its own."""
    price = increment[t]
    for r in range(teams.parts.shape[1]):
        if teams.parts[t, r] < 0:
            break
        price += increment[teams.parts[t, r]]
    return float(price)


@njit(nogil=True, cache=True)
def all_prices(wanted: Ints, idle: Ints, place: Ints, now: StatePrices, teams: Any, tables: Any) -> None:
    """Set the increments and now.price[t] for the teams `wanted`, inf if one is not idle.

    With a team its parts, and every team of a table, must be wanted too, unless its price is inf and stays so.
    """
    local, increment, prices = now.local, now.increment, now.price
    for t in wanted:
        prices[t] = 0.0 if is_idle(teams.members[t], idle) else np.inf
        increment[t] = 0.0
    local[:] = 0.0
    for g in range(len(place)):
        _find_increments(g, place, prices, local, increment, tables)
    for t in wanted:
        if prices[t] == 0.0:
            prices[t] = _sum_of_parts(t, increment, teams)


@njit(nogil=True, cache=True)
def best_totals(g: int, idle: Ints, place: Ints, now: StatePrices, teams: Any, tables: Any) -> bool:
    """Set now.total[n] to V_j(f) - h(f), the smallest cost + price of a team, for the demand points of table g.

    now.price has those of the listed teams. Returns whether the table is short: a point has none of them.
    """
    prices, totals = now.price, now.total
    start, stop = teams.first_point[g], teams.first_point[g + 1]
    width = stop - start
    best = totals[start:stop]
    best[:] = np.inf
    first, row = teams.first_choice[g], teams.first_cost[g]
    for n in range(teams.first_choice[g + 1] - first):
        price = prices[teams.choice[first + n]]
        if price < np.inf:
            # The cost of a team that is too small or too large for a point is inf there.
            costs = teams.choice_cost[row + n * width : row + (n + 1) * width]
            for m in range(width):
                total = costs[m] + price
                # Not min(), whose care for nan costs the vector instructions.
                best[m] = total if total < best[m] else best[m]
    short = False
    for m in range(start, stop):
        if totals[m] == np.inf:
            short = True
            j = teams.point[m]
            t = _first_in_order(j, idle, teams)
            totals[m] = teams.cost[t, j] + price_of(teams.members[t], place, tables)
    return short


@bare_kernel
def enter(members: Members, sign: int, idle: Ints, place: Ints, tables: Any) -> None:
    """Move the state by the trucks of a team: they leave (-1) or come back (1)."""
    for r in range(len(members)):
        if members[r] >= 0:
            idle[members[r]] += sign
    for g in range(len(place)):
        place[g] += sign * taken_from(g, members, tables)


@bare_kernel
def returns_of(a: int, size: int, idle: Ints, place: Ints, known: Floats, teams: Any, tables: Any) -> float:
    """The part of returns in the price of team a of `size` trucks, over μ."""
    total, members = 0.0, teams.members[a]
    for i in range(len(idle)):
        busy = teams.trucks[i] - idle[i]
        if busy > 0:
            price = known[a]
            for n in range(tables.first_group[i], tables.first_group[i + 1]):
                g = tables.group[n]
                taken, here, there = taken_from(g, members, tables), place[g], place[g] + tables.stride[g, i]
                price += tables.value[there - taken] - tables.value[there]
                price -= tables.value[here - taken] - tables.value[here]
            total += busy * price
    # The parts that lack one truck of the team are its last ones.
    for r in range(2**size - 2 - size if size > 1 else 0, 2**size - 2):
        total += known[teams.parts[a, r]]
    return total


@njit(nogil=True, cache=True)
def _incidents(
    a: int, idle: Ints, place: Ints, now: StatePrices, short: Any, after: StatePrices, teams: Any, tables: Any
) -> float:
    """Σ_j λ_j (V_j(f-a) - V_j(f)) for team a, from what is known of f; `after` is scratch."""
    members, total = teams.members[a], teams.total_rate * now.price[a]
    after.local[:], after.increment[:], after.price[:] = now.local, now.increment, np.nan
    enter(members, -1, idle, place, tables)
    for g in range(len(place)):
        if taken_from(g, members, tables) > 0:
            _find_increments(g, place, now.price, after.local, after.increment, tables)
    for g in range(len(place)):
        concerned = short[g]
        for r in range(len(members)):
            concerned = concerned or (members[r] >= 0 and teams.near[members[r], g])
        if not concerned:
            continue
        for n in range(teams.first_choice[g], teams.first_choice[g + 1]):
            t = teams.choice[n]
            if np.isnan(after.price[t]):
                there = now.price[t] < np.inf and is_idle(teams.members[t], idle)
                after.price[t] = _sum_of_parts(t, after.increment, teams) if there else np.inf
        best_totals(g, idle, place, after, teams, tables)
        for m in range(teams.first_point[g], teams.first_point[g + 1]):
            total += teams.rate[m] * (after.total[m] - now.total[m])
    enter(members, 1, idle, place, tables)
    return float(total)


@njit(nogil=True, cache=True)
def _least_truck_prices(idle: Ints, place: Ints, teams: Any, tables: Any) -> Floats:
    """[I] a bound on the price of a truck of each station, table by table, in every state that a price looks at.

    Up to 2k-1 other trucks have left, or one has returned and up to k-1 have left.
    """
    least = np.zeros(len(idle))
    for g in range(len(place)):
        for i in range(len(idle)):
            step = tables.stride[g, i]
            if step == 0 or idle[i] == 0:
                continue
            lowest = np.inf
            idle[i] -= 1
            for n in range(tables.first_removal[g], tables.first_removal[g + 1]):
                if is_idle(tables.removal_members[n], idle):
                    rest = place[g] - tables.removal_offset[n]
                    lowest = min(lowest, tables.value[rest - step] - tables.value[rest])
                    for s in range(len(idle) if tables.removal_members[n, teams.most_needed - 1] < 0 else 0):
                        if tables.stride[g, s] > 0 and idle[s] + (s == i) < teams.trucks[s]:
                            back = rest + tables.stride[g, s]
                            lowest = min(lowest, tables.value[back - step] - tables.value[back])
            idle[i] += 1
            least[i] += lowest
    return least


@njit(nogil=True, cache=True)
def _lost_with(idle: Ints, now: StatePrices, teams: Any, tables: Any) -> Floats:
    """[I] what has to be taken off a bound on the part of incidents for each truck of a team, as tables may be short.

    That is λ_j max(0, V_j(f) - h(f) - e_j) with e_j at most the cost + price of any team of the city at j. If the table
    of j has enough idle trucks in f, but may have too few in f-a, it counts for every station of the table; if it has
    too few in f, for those of the first idle trucks b in the order of j: unless a takes from one of these, b is first
    in f-a, too.
    """
    lost = np.zeros(len(idle))
    lowest = min(0.0, now.price.min())
    for g in range(len(tables.stride)):
        has = tables.stride[g] > 0
        num_idle = np.sum(idle[has])
        for m in range(teams.first_point[g], teams.first_point[g + 1]):
            j = teams.point[m]
            excess = teams.rate[m] * max(0.0, now.total[m] - teams.least_cost[j] - lowest)
            if num_idle < teams.needed[j]:
                for i in teams.members[_first_in_order(j, idle, teams)]:
                    if i >= 0:
                        lost[i] += excess
            elif num_idle < teams.needed[j] + teams.most_needed:
                lost[has] += excess
    return lost


@njit(nogil=True, cache=True)
def prices_ahead(
    candidates: Ints, p_late: Floats, keep: int, idle: Ints, place: Ints, teams: Any, tables: Any
) -> Floats:
    """The price of each candidate; nan for those that cannot be among the `keep` best by p_late + price (0: none).

    A bound spares most teams the part of incidents. Where V_j(f-a) is reached by team b, V_j(f) is at most what b costs
    from f, and therefore V_j(f-a) - V_j(f) >= h(f-a-b) - h(f-b): a sum of prices of single trucks with at most 2k-1
    others gone, and `_least_truck_prices` has the least of those. That asks for a team b that is also looked at from f,
    which is so if the table of j has k idle trucks in f-a. Where it has not, V_j(f) may exceed what b costs from f, but
    by no more than `_lost_with` says, and that is taken off. (If any team may be chosen, f-a has k idle trucks or
    nobody is left out.) A team whose p_late plus the price with that bound in it is above the `keep`-th best total so
    far cannot be among the best. Teams are looked at from the smallest p_late + h(f-a) - h(f) up, so that good totals
    come early.
    """
    now, after, short_tables = no_prices(teams, tables), no_prices(teams, tables), np.empty(len(place), np.bool_)
    all_prices(np.arange(len(teams.members)), idle, place, now, teams, tables)
    for g in range(len(place)):
        short_tables[g] = best_totals(g, idle, place, now, teams, tables)
    found = np.full(len(candidates), np.nan)
    best = np.full(max(keep, 1), np.inf)
    if teams.any_team and idle.sum() < 2 * teams.most_needed:
        keep = 0
    least, lost = np.zeros(len(idle)), np.zeros(len(idle))
    if keep > 0:
        least = _least_truck_prices(idle, place, teams, tables)
    if keep > 0 and not teams.any_team:
        lost = _lost_with(idle, now, teams, tables)
    mu, busy = teams.returns_per_day, np.sum(teams.trucks - idle)
    for n in np.argsort(p_late + now.price[candidates], kind="mergesort"):
        together, short, size = 0.0, 0.0, 0
        for i in teams.members[candidates[n]]:
            if i >= 0:
                together += least[i]
                short += lost[i]
                size += 1
        weight = teams.total_rate + mu * (busy + size)
        # Before that, with the same bound for returns, too; where a truck of the team returns, only the others count.
        if keep > 0 and p_late[n] + ((weight - mu) * together - short) / weight > best[-1] + ROUNDING:
            continue
        returns = mu * returns_of(candidates[n], size, idle, place, now.price, teams, tables)
        bound = p_late[n] + (teams.total_rate * together - short + returns) / weight
        if keep > 0 and bound > best[-1] + ROUNDING:
            continue
        incidents = _incidents(candidates[n], idle, place, now, short_tables, after, teams, tables)
        found[n] = (incidents + returns) / weight
        best[-1] = min(best[-1], p_late[n] + found[n])
        best.sort()
    return found
