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

from typing import Any, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

from runcard.mdp.arrays import Floats, Ints
from runcard.mdp.kernels.team_codes import first_in_order

Members: TypeAlias = NDArray[np.int32]

ROUNDING = 1e-12
"""A bound counts as above a total only by more than this, so that teams that are equally good are all looked at."""


@njit(nogil=True, cache=True)
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


@njit(nogil=True, cache=True)
def price_of(members: Members, without: int, place: Ints, tables: Any) -> float:
    """h(f-b) - h(f) of a team, less the truck at position `without` (-1: the whole team), in the state of `place`."""
    price = 0.0
    for r in range(len(members)):
        i = members[r]
        if i < 0:
            break
        if r == without:
            continue
        for n in range(tables.first_group[i], tables.first_group[i + 1]):
            g = tables.group[n]
            # A table is counted at the first truck of the team that it knows.
            taken, counted = tables.stride[g, i], False
            for s in range(len(members)):
                if members[s] >= 0 and s != without and s != r:
                    step = tables.stride[g, members[s]]
                    if step > 0 and s < r:
                        counted = True
                        break
                    taken += step
            if not counted:
                price += tables.value[place[g] - taken] - tables.value[place[g]]
    return price


@njit(nogil=True, cache=True)
def _first_in_order(j: int, idle: Ints, teams: Any) -> int:
    """The number of the team of the first idle trucks in the order of j."""
    return int(first_in_order(teams.order, j, idle, teams.needed[j], teams.number_of_code))


@njit(nogil=True, cache=True)
def all_prices(
    wanted: Ints, idle: Ints, place: Ints, local: Floats, increment: Floats, prices: Floats, teams: Any, tables: Any
) -> None:
    """Set prices[t] for the teams `wanted`, inf if one is not idle.

    With a team its parts, and every team of a table, must be wanted too, unless its price is inf and stays so. `local`,
    for the increments within each table, and `increment` are scratch.
    """
    for t in wanted:
        prices[t] = 0.0 if is_idle(teams.members[t], idle) else np.inf
        increment[t] = 0.0
    for g in range(len(place)):
        here = tables.value[place[g]]
        first = tables.first_local[g]
        for n in range(first, tables.first_local[g + 1]):
            t = tables.local_team[n]
            if prices[t] == np.inf:
                continue
            own = tables.value[place[g] - tables.local_offset[n]] - here
            for r in range(tables.local_parts.shape[1]):
                part = tables.local_parts[n, r]
                if part < 0:
                    break
                own -= local[first + part]
            local[n] = own
            increment[t] += own
    for t in wanted:
        if prices[t] == 0.0:
            prices[t] = increment[t]
            for r in range(teams.parts.shape[1]):
                if teams.parts[t, r] < 0:
                    break
                prices[t] += increment[teams.parts[t, r]]


@njit(nogil=True, cache=True)
def best_totals(g: int, idle: Ints, place: Ints, prices: Floats, teams: Any, tables: Any, totals: Floats) -> bool:
    """Set totals[n] to V_j(f) - h(f), the smallest cost + price of a team, for the demand points of table g.

    `prices` are those of the listed teams. Returns whether the table is short: a point has none of them.
    """
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
            totals[m] = teams.cost[t, j] + price_of(teams.members[t], -1, place, tables)
    return short


@njit(nogil=True, cache=True)
def _enter(members: Members, sign: int, idle: Ints, place: Ints, tables: Any) -> None:
    """Move the state by the trucks of a team: they leave (-1) or come back (1)."""
    for r in range(len(members)):
        i = members[r]
        if i >= 0:
            idle[i] += sign
            for n in range(tables.first_group[i], tables.first_group[i + 1]):
                g = tables.group[n]
                place[g] += sign * tables.stride[g, i]


@njit(nogil=True, cache=True)
def _returned(i: int, sign: int, place: Ints, tables: Any) -> None:
    """Move the state by a truck of station i that comes back (1) or is taken again (-1)."""
    for n in range(tables.first_group[i], tables.first_group[i + 1]):
        g = tables.group[n]
        place[g] += sign * tables.stride[g, i]


@njit(nogil=True, cache=True)
def _touches(g: int, members: Members, tables: Any) -> bool:
    """Whether table g has a truck of the team."""
    found = False
    for r in range(len(members)):
        found = found or (members[r] >= 0 and tables.stride[g, members[r]] > 0)
    return found


@njit(nogil=True, cache=True)
def _returns(members: Members, idle: Ints, place: Ints, teams: Any, tables: Any) -> tuple[float, float]:
    """The part of returns in the price of a team, and its weight: a truck that is busy anyway, or one of the team."""
    mu, total, weight = teams.returns_per_day, 0.0, 0.0
    whole = price_of(members, -1, place, tables)
    for i in range(len(idle)):
        busy = teams.trucks[i] - idle[i]
        if busy > 0:
            price = whole
            if _share_a_table(i, members, tables):
                _returned(i, 1, place, tables)
                price = price_of(members, -1, place, tables)
                _returned(i, -1, place, tables)
            total += mu * busy * price
            weight += mu * busy
    for r in range(len(members)):
        if members[r] >= 0:
            total += mu * price_of(members, r, place, tables)
            weight += mu
    return total, weight


@njit(nogil=True, cache=True)
def _share_a_table(i: int, members: Members, tables: Any) -> bool:
    """Whether a table has station i and a station of the team."""
    for n in range(tables.first_group[i], tables.first_group[i + 1]):
        if _touches(tables.group[n], members, tables):
            return True
    return False


@njit(nogil=True, cache=True)
def _find_concerned(members: Members, scratch: Any, teams: Any, tables: Any) -> tuple[int, int]:
    """List the tables with a truck of the team in scratch.touched, and those near it or short in scratch.concerned.

    Returns how many each are.
    """
    num_touched, num_concerned = 0, 0
    for g in range(len(scratch.short)):
        near = scratch.short[g]
        for r in range(len(members)):
            near = near or (members[r] >= 0 and teams.near[members[r], g])
        if near and teams.first_point[g] < teams.first_point[g + 1]:
            scratch.concerned[num_concerned] = g
            num_concerned += 1
        if _touches(g, members, tables):
            scratch.touched[num_touched] = g
            num_touched += 1
    return num_touched, num_concerned


@njit(nogil=True, cache=True)
def _price_concerned(
    touched: Ints, concerned: Ints, idle: Ints, place: Ints, scratch: Any, teams: Any, tables: Any
) -> int:
    """Set scratch.prices of the teams that points of the tables `concerned` choose from, after a team has left.

    scratch.local and scratch.increment are those of the state before, and change for the tables `touched`, which have a
    truck of the team. The teams are listed in scratch.changed; returns how many they are.
    """
    for g in touched:
        first, here = tables.first_local[g], tables.value[place[g]]
        for n in range(first, tables.first_local[g + 1]):
            t = tables.local_team[n]
            if scratch.known[t] == np.inf or not is_idle(teams.members[t], idle):
                continue
            own = tables.value[place[g] - tables.local_offset[n]] - here
            for r in range(tables.local_parts.shape[1]):
                if tables.local_parts[n, r] < 0:
                    break
                own -= scratch.local[first + tables.local_parts[n, r]]
            scratch.local[n] = own
            scratch.increment[t] += own - scratch.known_local[n]
    num_changed = 0
    for g in concerned:
        for n in range(teams.first_choice[g], teams.first_choice[g + 1]):
            t = teams.choice[n]
            if scratch.known[t] == np.inf or scratch.has_changed[t]:
                continue
            scratch.changed[num_changed], scratch.has_changed[t] = t, True
            num_changed += 1
            price = np.inf
            if is_idle(teams.members[t], idle):
                price = scratch.increment[t]
                for r in range(teams.parts.shape[1]):
                    if teams.parts[t, r] < 0:
                        break
                    price += scratch.increment[teams.parts[t, r]]
            scratch.prices[t] = price
    return num_changed


@njit(nogil=True, cache=True)
def _forget_concerned(touched: Ints, changed: Ints, scratch: Any, tables: Any) -> None:
    """Set what `_price_concerned` has changed back to the state before."""
    for g in touched:
        for n in range(tables.first_local[g], tables.first_local[g + 1]):
            t = tables.local_team[n]
            scratch.local[n], scratch.increment[t] = scratch.known_local[n], scratch.known_increment[t]
    for t in changed:
        scratch.prices[t], scratch.has_changed[t] = scratch.known[t], False


@njit(nogil=True, cache=True)
def _incidents(a: int, idle: Ints, place: Ints, scratch: Any, teams: Any, tables: Any) -> float:
    """Σ_j λ_j (V_j(f-a) - V_j(f)) for team a; scratch.before holds V_j(f) - h(f)."""
    members = teams.members[a]
    total = teams.total_rate * price_of(members, -1, place, tables)
    num_touched, num_concerned = _find_concerned(members, scratch, teams, tables)
    touched, concerned = scratch.touched[:num_touched], scratch.concerned[:num_concerned]
    _enter(members, -1, idle, place, tables)
    num_changed = _price_concerned(touched, concerned, idle, place, scratch, teams, tables)
    for g in concerned:
        best_totals(g, idle, place, scratch.prices, teams, tables, scratch.after)
        for m in range(teams.first_point[g], teams.first_point[g + 1]):
            total += teams.rate[m] * (scratch.after[m] - scratch.before[m])
    _forget_concerned(touched, scratch.changed[:num_changed], scratch, tables)
    _enter(members, 1, idle, place, tables)
    return float(total)


@njit(nogil=True, cache=True)
def _least_price(members: Members, idle: Ints, place: Ints, known: Floats, teams: Any, tables: Any) -> float:
    """A bound on the prices h(f-b-a) - h(f-b) of a team once any team b has left: table by table, the least.

    `known` are the prices of all teams in f.
    """
    bound = 0.0
    for g in range(len(place)):
        taken = 0
        for r in range(len(members)):
            if members[r] >= 0:
                taken += tables.stride[g, members[r]]
        if taken > 0:
            least = tables.value[place[g] - taken] - tables.value[place[g]]
            for n in range(tables.first_local[g], tables.first_local[g + 1]):
                t = tables.local_team[n]
                if known[t] < np.inf and _both_idle(teams.members[t], members, idle):
                    rest = place[g] - tables.local_offset[n]
                    least = min(least, tables.value[rest - taken] - tables.value[rest])
            bound += least
    return bound


@njit(nogil=True, cache=True)
def _least_truck_prices(idle: Ints, place: Ints, teams: Any, tables: Any, least: Floats) -> None:
    """Set least[i] to a bound on the price of a truck of station i, in every state that a price looks at.

    Up to 2k-1 other trucks have left, or one has returned and up to k-1 have left.
    """
    least[:] = 0.0
    possible = np.empty(len(tables.removal_offset), np.bool_)
    for n in range(len(possible)):
        possible[n] = is_idle(tables.removal_members[n], idle)
    for g in range(len(place)):
        first, last = tables.first_removal[g], tables.first_removal[g + 1]
        small = first  # removals of less than k trucks come first
        while small < last and tables.removal_members[small, teams.most_needed - 1] < 0:
            small += 1
        for i in range(len(idle)):
            step = tables.stride[g, i]
            if step == 0 or idle[i] == 0:
                continue
            lowest = np.inf
            idle[i] -= 1
            for n in range(first, last):
                if possible[n] and is_idle(tables.removal_members[n], idle):
                    rest = place[g] - tables.removal_offset[n]
                    lowest = min(lowest, tables.value[rest - step] - tables.value[rest])
            for s in range(len(idle)):
                if tables.stride[g, s] == 0 or idle[s] + (s == i) == teams.trucks[s]:
                    continue
                for n in range(first, small):
                    if possible[n] and is_idle(tables.removal_members[n], idle):
                        rest = place[g] + tables.stride[g, s] - tables.removal_offset[n]
                        lowest = min(lowest, tables.value[rest - step] - tables.value[rest])
            idle[i] += 1
            least[i] += lowest


@njit(nogil=True, cache=True)
def _find_short(
    idle: Ints, scratch: Any, teams: Any, tables: Any, spare: Ints, lost: Floats, lost_with: Floats
) -> None:
    """Set spare[g] to the idle trucks of table g less what its points need, and what being short may cost a bound.

    That is λ_j max(0, V_j(f) - h(f) - e_j) with e_j at most the cost + price of any team of the city at j. It counts in
    lost[g] if the table of j has enough idle trucks in f, to be taken off where too few are left in f-a; if it has not,
    in lost_with[i] of each station i of the first idle trucks b in the order of j: unless a takes from one of these, b
    is first in f-a, too.
    """
    spare[:] = 0
    lost[:] = 0.0
    lost_with[:] = 0.0
    for i in range(len(idle)):
        for n in range(tables.first_group[i], tables.first_group[i + 1]):
            spare[tables.group[n]] += idle[i]
    lowest = min(0.0, scratch.known.min())
    for g in range(len(spare)):
        num_idle, most = spare[g], 0
        for m in range(teams.first_point[g], teams.first_point[g + 1]):
            most = max(most, teams.needed[teams.point[m]])
        spare[g] -= most
        if spare[g] >= teams.most_needed:
            continue
        for m in range(teams.first_point[g], teams.first_point[g + 1]):
            j = teams.point[m]
            excess = teams.rate[m] * max(0.0, scratch.before[m] - teams.least_cost[j] - lowest)
            if num_idle >= teams.needed[j]:
                lost[g] += excess
            else:
                first = teams.members[_first_in_order(j, idle, teams)]
                for r in range(len(first)):
                    if first[r] >= 0 and (r == 0 or first[r - 1] != first[r]):
                        lost_with[first[r]] += excess


@njit(nogil=True, cache=True)
def _lost_by(members: Members, spare: Ints, lost: Floats, lost_with: Floats, tables: Any) -> float:
    """What has to be taken off the bound on the part of incidents in the price of a team (see `_find_short`)."""
    total = 0.0
    for r in range(len(members)):
        i = members[r]
        if i < 0:
            break
        if r == 0 or members[r - 1] != i:
            total += lost_with[i]
        for n in range(tables.first_group[i], tables.first_group[i + 1]):
            g, taken, counted = tables.group[n], 0, False
            for s in range(len(members)):
                if members[s] >= 0 and tables.stride[g, members[s]] > 0:
                    taken += 1
                    counted = counted or s < r
            if taken > spare[g] and not counted:
                total += lost[g]
    return total


@njit(nogil=True, cache=True)
def _both_idle(first: Members, second: Members, idle: Ints) -> bool:
    """Whether the trucks of two teams are idle together."""
    for r in range(len(first)):
        i = first[r]
        if i >= 0:
            wanted = 0
            for s in range(len(first)):
                wanted += (first[s] == i) + (second[s] == i)
            if wanted > idle[i]:
                return False
    return True


@njit(nogil=True, cache=True)
def prices_ahead(
    candidates: Ints, p_late: Floats, keep: int, idle: Ints, place: Ints, scratch: Any, teams: Any, tables: Any
) -> Floats:
    """The price of each candidate; nan for those that cannot be among the `keep` best by p_late + price (0: none).

    The part of incidents in a price is at least Λ m(a) with m(a) = Σ_G min_c (H_G(f-c-a) - H_G(f-c)), the minimum over
    the teams c of the table: where V_j(f-a) is reached by team b, V_j(f) is at most what b costs from f, and therefore
    V_j(f-a) - V_j(f) >= h(f-a-b) - h(f-b) >= m(a). That asks for a team b that is also looked at from f, which is so if
    the table of j has k idle trucks in f-a. Where it has not, V_j(f) may exceed what b costs from f, but by no more
    than `_find_short` says, and that is taken off. (If any team may be chosen, f-a has k idle trucks or nobody is left
    out.) So a team whose p_late plus the price with Λ m(a) in it is
    above the `keep`-th best total so far cannot be among the best. Before that, a coarser bound leaves most teams out:
    every part is a sum of prices of single trucks with at most 2k-1 others gone, or one returned and k-1 gone, and
    `_least_truck_prices` has the least of those; where a truck of the team itself returns, only the others count.
    Teams are looked at from the smallest p_late + h(f-a) - h(f) up, so that good totals come early.
    """
    every_team = np.arange(len(teams.members))
    all_prices(every_team, idle, place, scratch.local, scratch.increment, scratch.known, teams, tables)
    for g in range(len(place)):
        scratch.short[g] = best_totals(g, idle, place, scratch.known, teams, tables, scratch.before)
    scratch.prices[:] = scratch.known
    scratch.known_local[:] = scratch.local
    scratch.known_increment[:] = scratch.increment
    found = np.full(len(candidates), np.nan)
    best = np.full(max(keep, 1), np.inf)
    least, spare, lost = np.zeros(len(idle)), np.zeros(len(place), np.int64), np.zeros(len(place))
    lost_with = np.zeros(len(idle))
    busy_rate = teams.returns_per_day * (teams.trucks.sum() - idle.sum())
    if teams.any_team and idle.sum() < 2 * teams.most_needed:
        keep = 0
    if keep > 0:
        _least_truck_prices(idle, place, teams, tables, least)
    if keep > 0 and not teams.any_team:
        _find_short(idle, scratch, teams, tables, spare, lost, lost_with)
    for n in np.argsort(p_late + scratch.known[candidates], kind="mergesort"):
        members = teams.members[candidates[n]]
        together, size = 0.0, 0
        for r in range(len(members)):
            if members[r] >= 0:
                together += least[members[r]]
                size += 1
        short = 0.0
        if keep > 0 and not teams.any_team:
            short = _lost_by(members, spare, lost, lost_with, tables)
        own_rate = teams.returns_per_day * size
        coarse = (teams.total_rate + busy_rate + own_rate) * together - teams.returns_per_day * together - short
        worst = best[-1] + ROUNDING
        if keep > 0 and p_late[n] + coarse / (teams.total_rate + busy_rate + own_rate) > worst:
            continue
        returns, weight = _returns(members, idle, place, teams, tables)
        weight += teams.total_rate
        if keep > 0 and p_late[n] + (teams.total_rate * together - short + returns) / weight > worst:
            continue
        if keep > 0 and best[-1] < np.inf:
            incidents = teams.total_rate * _least_price(members, idle, place, scratch.known, teams, tables) - short
            if p_late[n] + (incidents + returns) / weight > worst:
                continue
        found[n] = (_incidents(candidates[n], idle, place, scratch, teams, tables) + returns) / weight
        total = p_late[n] + found[n]
        for s in range(len(best)):
            if total < best[s]:
                best[s + 1 :] = best[s:-1].copy()
                best[s] = total
                break
    return found
