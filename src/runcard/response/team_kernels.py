"""Kernels of teams of up to four: the chance that all trucks are there by T, one sum over frequencies for each of them.

The routes to a demand point are a tree of two branches at every junction, whose leaves are stations; a node has an
edge, the links from it on. With Z(f1, ..., fd) the transform of what d trucks at a node have before them,

    along an edge    Z Π_l { q ψ_l(f1 + ... + fd) + (1-q) φ_l(f1) ... φ_l(fd) },
    at a junction    Σ_fd Z(f1, ..., fd) a(fd)    for a truck with the own part a that comes by the other branch:

so work on a truck or two is shared by all teams that they belong to, and only the last sums are of one team. Times are
real, so half of the first frequencies are enough. A team is found by its rank among the multisets of leaves.

Arrays of d frequencies are [frequencies of all but the last, frequency of the last], real and imaginary parts apart.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from runcard.response.tree_kernels import AT_ONCE

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Parts = tuple[Floats, Floats]
"""The real and the imaginary part."""
Tree = tuple[Ints, Ints, Ints, Ints, Ints, Ints, Ints]
"""[node] left and right branch (-1 of a leaf), first and last leaf below, trucks below, and [leaf] its trucks; then
[node, leaf] the row of its own part there."""
Edges = tuple[Ints, Ints]
"""[node + 1] where the links of its edge begin among [place] all."""
Factors = tuple[Floats, Floats, Floats, Floats, Floats]
"""[link] q; [link, frequency] φ and ψ, the latter for twice as many frequencies, as real and imaginary parts."""
Rooms = tuple[Parts, Parts, Parts]
"""[level] room for Z of two, three and four trucks."""

_FAST = {"reassoc", "contract", "nsz"}


@njit(cache=True, nogil=True)
def team_rank(a: int, b: int, c: int, d: int) -> int:
    """The rank of a team of leaves among those of its size; -1 stands for no truck."""
    if a > b:
        a, b = b, a
    if c > d:
        c, d = d, c
    if a > c:
        a, c = c, a
    if b > d:
        b, d = d, b
    if b > c:
        b, c = c, b
    # Those that are -1 come first.
    if a >= 0:
        return a + b * (b + 1) // 2 + c * (c + 1) * (c + 2) // 6 + d * (d + 1) * (d + 2) * (d + 3) // 24
    if b >= 0:
        return b + c * (c + 1) // 2 + d * (d + 1) * (d + 2) // 6
    if c >= 0:
        return c + d * (d + 1) // 2
    return d


@njit(cache=True, nogil=True, fastmath=_FAST)
def extend(re: Floats, im: Floats, size: int, links: Ints, factors: Factors) -> None:
    """Multiply Z of `size` trucks by the factors of links."""
    chance, apart, apart_im, together, together_im = factors
    length = re.shape[1]
    digits = np.zeros(3, np.int64)
    for outer in range(re.shape[0]):
        left, total = outer, 0
        for k in range(size - 1):
            digits[k] = left % length if k < size - 2 else left
            total += digits[k]
            left //= length
        total %= length
        row, other = re[outer], im[outer]
        for link in links:
            q = chance[link]
            x, y = 1.0 - q, 0.0
            for k in range(size - 1):
                u, v = apart[link, digits[k]], apart_im[link, digits[k]]
                x, y = x * u - y * v, x * v + y * u
            a, b, c, d = apart[link], apart_im[link], together[link, total:], together_im[link, total:]
            for f in range(length):
                s = q * c[f] + x * a[f] - y * b[f]
                t = q * d[f] + x * b[f] + y * a[f]
                old = row[f]
                row[f] = old * s - other[f] * t
                other[f] = old * t + other[f] * s


@njit(cache=True, nogil=True, fastmath=_FAST)
def _contract(re: Floats, im: Floats, own: Floats, own_im: Floats, to: Floats, to_im: Floats) -> None:
    """Sum Z times the own part of its last truck over the frequencies of that truck."""
    for outer in range(re.shape[0]):
        x, y = 0.0, 0.0
        for f in range(re.shape[1]):
            x += re[outer, f] * own[f] - im[outer, f] * own_im[f]
            y += re[outer, f] * own_im[f] + im[outer, f] * own[f]
        to[outer], to_im[outer] = x, y


@njit(cache=True, nogil=True, fastmath=_FAST)
def _finish(re: Floats, im: Floats, own: Floats, own_im: Floats) -> float:
    """The sum of Z of one truck times its own part over all frequencies, from half of them."""
    last = len(re) - 1
    total = 0.0
    for f in range(last + 1):
        total += re[f] * own[f] - im[f] * own_im[f]
    ends = re[0] * own[0] - im[0] * own_im[0] + re[last] * own[last] - im[last] * own_im[last]
    return float(2.0 * total - ends)


@njit(cache=True, nogil=True, fastmath=_FAST)
def _multiply(re: Floats, im: Floats, by: Floats, by_im: Floats, to: Floats, to_im: Floats) -> None:
    """Set an array to the product of two."""
    for outer in range(to.shape[0]):
        for f in range(to.shape[1]):
            x, y = re[outer, f], im[outer, f]
            to[outer, f] = x * by[outer, f] - y * by_im[outer, f]
            to_im[outer, f] = x * by_im[outer, f] + y * by[outer, f]


@njit(cache=True, nogil=True)
def plan(tree: Tree, root: int, size: int) -> Ints:
    """[step, 3] the nodes from one on that `size` trucks can come through, and the levels of room that Z is in.

    The first level is that of Z where the edge of the node ends, -1 of the first node, and the second that of its own.
    The smaller branch comes first, on the next level; the larger one takes the room of its junction.
    """
    left, first, last, below = tree[0], tree[2], tree[3], tree[4]
    steps = np.empty((2 * (last[root] - first[root]), 3), np.int64)
    stack = np.empty((len(left) + 1, 3), np.int64)
    num, top = 0, 0
    stack[0, 0], stack[0, 1], stack[0, 2] = root, -1, 0
    while top >= 0:
        node, level = stack[top, 0], stack[top, 2]
        steps[num] = stack[top]
        num, top = num + 1, top - 1
        if left[node] >= 0:
            small, large = _by_size(tree, node)
            if below[large] >= size:
                top += 1
                stack[top, 0], stack[top, 1], stack[top, 2] = large, level, level
            if below[small] >= size:
                top += 1
                stack[top, 0], stack[top, 1], stack[top, 2] = small, level, level + 1
    return steps[:num]


@njit(cache=True, nogil=True)
def _by_size(tree: Tree, node: int) -> tuple[int, int]:
    """The branches of a junction, that of fewer leaves first."""
    left, right, first, last = tree[0], tree[1], tree[2], tree[3]
    small, large = left[node], right[node]
    if last[small] - first[small] > last[large] - first[large]:
        return large, small
    return small, large


@njit(cache=True, nogil=True)
def pairs_below(
    tree: Tree, root: int, given: Parts, planes: Parts, own: Parts, unit: Parts, rooms: Rooms, a: int, b: int,
    found: Floats,
) -> None:  # fmt: skip
    """Fill in the chances of all pairs that come through a node, beside the trucks a and b, given Z below it."""
    left, first, last, trucks, rows = tree[0], tree[2], tree[3], tree[5], tree[6]
    half = given[0].shape[0]
    re, im = rooms[0]
    vector, vector_im = np.empty(half), np.empty(half)
    for node, before, level in plan(tree, root, 2):
        z, z_im = (given[0], given[1]) if before < 0 else (re[before], im[before])
        _multiply(z, z_im, planes[0][node], planes[1][node], re[level], im[level])
        if left[node] < 0:
            leaf = first[node]
            if trucks[leaf] > 1:
                _contract(re[level], im[level], unit[0], unit[1], vector, vector_im)
                found[team_rank(leaf, leaf, a, b)] = _finish(vector, vector_im, unit[0], unit[1])
            continue
        small, large = _by_size(tree, node)
        for x in range(first[small], last[small]):
            row = rows[node, x]
            _contract(re[level], im[level], own[0][row], own[1][row], vector, vector_im)
            for y in range(first[large], last[large]):
                row = rows[node, y]
                found[team_rank(x, y, a, b)] = _finish(vector, vector_im, own[0][row], own[1][row])


@njit(cache=True, nogil=True)
def triples_below(
    tree: Tree, root: int, given: Parts, edges: Edges, factors: Factors, planes: Parts, cubes: Parts, own: Parts,
    unit: Parts, rooms: Rooms, a: int, found: Floats,
) -> None:  # fmt: skip
    """Fill in the chances of all triples that come through a node, beside the truck a, given Z below it.

    Without `cubes`, the factors of every edge, they are found here.
    """
    left, right, first, last, below, trucks, rows = tree
    length = given[0].shape[1]
    half = given[0].shape[0] // length
    re, im = rooms[1]
    plane = (np.empty((half, length)), np.empty((half, length)))
    flat = (plane[0].reshape(-1), plane[1].reshape(-1))
    vector, vector_im = np.empty(half), np.empty(half)
    for node, before, level in plan(tree, root, 3):
        z, z_im = (given[0], given[1]) if before < 0 else (re[before], im[before])
        if len(cubes[0]):
            _multiply(z, z_im, cubes[0][node], cubes[1][node], re[level], im[level])
        else:
            if before != level:
                re[level], im[level] = z, z_im
            extend(re[level], im[level], 3, edges[1][edges[0][node] : edges[0][node + 1]], factors)
        if left[node] < 0:
            leaf = first[node]
            if trucks[leaf] > 2:
                _contract(re[level], im[level], unit[0], unit[1], flat[0], flat[1])
                _contract(plane[0], plane[1], unit[0], unit[1], vector, vector_im)
                found[team_rank(leaf, leaf, leaf, a)] = _finish(vector, vector_im, unit[0], unit[1])
            continue
        for side in range(2):
            one, two = (left[node], right[node]) if side == 0 else (right[node], left[node])
            if below[two] < 2:
                continue
            for x in range(first[one], last[one]):
                row = rows[node, x]
                _contract(re[level], im[level], own[0][row], own[1][row], flat[0], flat[1])
                pairs_below(tree, two, plane, planes, own, unit, rooms, x, a, found)


@njit(cache=True, nogil=True)
def quads_below(
    tree: Tree, root: int, edges: Edges, factors: Factors, planes: Parts, cubes: Parts, own: Parts, unit: Parts,
    rooms: Rooms, found: Floats,
) -> None:  # fmt: skip
    """Fill in the chances of all teams of four that come through a node."""
    left, right, first, last, below, trucks, rows = tree
    re, im = rooms[2]
    length = re.shape[2]
    half = re.shape[1] // length**2
    cube = (np.empty((half * length, length)), np.empty((half * length, length)))
    flat = (cube[0].reshape(-1), cube[1].reshape(-1))
    plane = (np.empty((half, length)), np.empty((half, length)))
    flat_plane = (plane[0].reshape(-1), plane[1].reshape(-1))
    vector, vector_im = np.empty(half), np.empty(half)
    for node, before, level in plan(tree, root, 4):
        if before < 0:
            re[level], im[level] = 1.0, 0.0
        elif before != level:
            re[level], im[level] = re[before], im[before]
        extend(re[level], im[level], 4, edges[1][edges[0][node] : edges[0][node + 1]], factors)
        if left[node] < 0:
            leaf = first[node]
            if trucks[leaf] > 3:
                _contract(re[level], im[level], unit[0], unit[1], flat[0], flat[1])
                _contract(cube[0], cube[1], unit[0], unit[1], flat_plane[0], flat_plane[1])
                _contract(plane[0], plane[1], unit[0], unit[1], vector, vector_im)
                found[team_rank(leaf, leaf, leaf, leaf)] = _finish(vector, vector_im, unit[0], unit[1])
            continue
        for side in range(2):
            one, three = (left[node], right[node]) if side == 0 else (right[node], left[node])
            if below[three] < 3:
                continue
            for x in range(first[one], last[one]):
                row = rows[node, x]
                _contract(re[level], im[level], own[0][row], own[1][row], flat[0], flat[1])
                triples_below(tree, three, cube, edges, factors, planes, cubes, own, unit, rooms, x, found)
        small, large = _by_size(tree, node)
        if below[small] > 1 and below[large] > 1:
            _two_and_two(tree, small, large, (re[level], im[level]), planes, own, unit, rooms, plane, found)


@njit(cache=True, nogil=True)
def _two_and_two(
    tree: Tree, small: int, large: int, given: Parts, planes: Parts, own: Parts, unit: Parts, rooms: Rooms,
    plane: Parts, found: Floats,
) -> None:  # fmt: skip
    """Fill in the chances of teams of two that come by one branch of a junction and two by the other."""
    left, right, first, last, trucks, rows = tree[0], tree[1], tree[2], tree[3], tree[5], tree[6]
    length = planes[0].shape[2]
    # Z of two trucks over all frequencies, on each level, and with their own parts
    num = 2 + int(np.log2(last[small] - first[small]))
    path, path_im = np.empty((num, length, length)), np.empty((num, length, length))
    both, both_im = np.empty((length, length)), np.empty((length, length))
    for node, before, level in plan(tree, small, 2):
        if before < 0:
            path[level], path_im[level] = planes[0][node], planes[1][node]
        else:
            _multiply(
                path[before], path_im[before], planes[0][node], planes[1][node], path[level], path_im[level]
            )  # fmt: skip
        leaf = left[node] < 0
        if leaf and trucks[first[node]] < 2:
            continue
        ones = (first[node], last[node]) if leaf else (first[left[node]], last[left[node]])
        others = (first[node], last[node]) if leaf else (first[right[node]], last[right[node]])
        for x in range(ones[0], ones[1]):
            for y in range(others[0], others[1]):
                a, a_im = (unit[0], unit[1]) if leaf else (own[0][rows[node, x]], own[1][rows[node, x]])
                b, b_im = (unit[0], unit[1]) if leaf else (own[0][rows[node, y]], own[1][rows[node, y]])
                for f in range(length):
                    for g in range(length):
                        u, v = a[f] * b[g] - a_im[f] * b_im[g], a[f] * b_im[g] + a_im[f] * b[g]
                        s, t = path[level, f, g], path_im[level, f, g]
                        both[f, g], both_im[f, g] = s * u - t * v, s * v + t * u
                blocks = (plane[0].size, length * length)
                _contract(
                    given[0].reshape(blocks), given[1].reshape(blocks), both.reshape(-1), both_im.reshape(-1),
                    plane[0].reshape(-1), plane[1].reshape(-1),
                )  # fmt: skip
                pairs_below(tree, large, plane, planes, own, unit, rooms, x, y, found)


@njit(cache=True, nogil=True)
def fill_edges(tree: Tree, size: int, edges: Edges, factors: Factors, to: Parts) -> None:
    """Set the factors of the edge of every node that `size` trucks can come through."""
    for node in range(len(tree[0])):
        if tree[4][node] >= size:
            to[0][node], to[1][node] = 1.0, 0.0
            extend(to[0][node], to[1][node], size, edges[1][edges[0][node] : edges[0][node + 1]], factors)


@njit(cache=True, nogil=True)
def cumulants(
    trucks: Ints, most: int, one: Floats, two: Floats, three: Floats, four: Floats, c3: Floats, c4: Floats
) -> None:
    """Fill in the third and, if `most` is 4, fourth joint cumulants of "by T" of teams, by rank.

    Given are the trucks of every leaf, and the chances that all of one to four are there. Teams that a leaf has not the
    trucks for stay as they are.
    """
    num = len(trucks)
    for a in range(num):
        for b in range(a, num):
            if a == b and trucks[a] < 2:
                continue
            for c in range(b, num):
                if b == c and trucks[b] < (3 if a == b else 2):
                    continue
                ab, ac, bc = two[team_rank(-1, -1, a, b)], two[team_rank(-1, -1, a, c)], two[team_rank(-1, -1, b, c)]
                x, y, z = one[a], one[b], one[c]
                abc = team_rank(-1, a, b, c)
                c3[abc] = three[abc] - x * bc - y * ac - z * ab + 2.0 * x * y * z
                if most < 4:
                    continue
                for d in range(c, num):
                    if c == d and trucks[c] < 2 + (b == c) + (a == c):
                        continue
                    w, rank = one[d], team_rank(a, b, c, d)
                    ad, bd, cd = (
                        two[team_rank(-1, -1, a, d)],
                        two[team_rank(-1, -1, b, d)],
                        two[team_rank(-1, -1, c, d)],
                    )
                    triples = w * three[abc] + z * three[team_rank(-1, a, b, d)]
                    triples += y * three[team_rank(-1, a, c, d)] + x * three[team_rank(-1, b, c, d)]
                    pairs = ab * cd + ac * bd + ad * bc
                    mixed = x * y * cd + x * z * bd + x * w * bc + y * z * ad + y * w * ac + z * w * ab
                    c4[rank] = four[rank] - triples - pairs + 2.0 * mixed - 6.0 * x * y * z * w


@njit(cache=True, nogil=True)
def at_least(
    teams: NDArray[np.int32], sizes: NDArray[np.int32], needed: int, leaves: Ints, one: Floats, two: Floats, c3: Floats,
    c4: Floats, found: Floats,
) -> None:  # fmt: skip
    """Fill found[team, n-1] with the chance that at least n trucks of a team of up to `needed` are there by T.

    one [station] and two [station, station] are the chances of single trucks and pairs; c3 and c4 the cumulants of
    larger ones, by the rank of leaves[station], 0 where a station has none: its trucks are surely there, or surely not.
    """
    sums = np.empty(4)
    chance = np.empty(16)
    for t in range(len(teams)):
        size = sizes[t]
        if size == 0 or size > needed:
            continue
        team = teams[t]
        sums[:] = 0.0
        for subset in range(1, 1 << size):
            chance[subset] = _chance_of_all(subset, team, leaves, one, two, c3, c4, chance)
            number = 0
            for place in range(size):
                number += subset >> place & 1
            sums[number - 1] += chance[subset]
        for n in range(1, size + 1):
            total, ways, sign = 0.0, 1.0, 1.0
            for r in range(n, size + 1):  # C(r-1, n-1)
                total += sign * ways * sums[r - 1]
                ways, sign = ways * r / (r - n + 1), -sign
            found[t, n - 1] = total


@njit(cache=True, nogil=True)
def _chance_of_all(
    subset: int, team: NDArray[np.int32], leaves: Ints, one: Floats, two: Floats, c3: Floats, c4: Floats, chance: Floats
) -> float:
    """The chance that all of a subset of a team are there, from cumulants, given that of smaller subsets."""
    places = np.empty(4, np.int64)
    size = 0
    for place in range(len(team)):
        if subset >> place & 1:
            places[size] = place
            size += 1
    if size == 1:
        return float(one[team[places[0]]])
    if size == 2:
        return float(two[team[places[0]], team[places[1]]])
    # P(all) is the sum over what is together with the first truck: its cumulant times the chance of the others.
    total = 0.0
    first = 1 << places[0]
    others = subset ^ first
    part = others
    while True:  # all subsets of the others, the whole of them first
        with_first = first | part
        cumulant = 0.0
        number, e, g, h = 0, -1, -1, -1
        for k in range(1, size):
            if part >> places[k] & 1:
                number += 1
                e, g, h = team[places[k]], e, g
        i = team[places[0]]
        if number == 0:
            cumulant = one[i]
        elif number == 1:
            cumulant = two[i, e] - one[i] * one[e]
        elif leaves[i] >= 0 and leaves[e] >= 0 and leaves[g] >= 0 and (number == 2 or leaves[h] >= 0):
            if number == 2:
                cumulant = c3[team_rank(-1, leaves[i], leaves[e], leaves[g])]
            else:
                cumulant = c4[team_rank(leaves[i], leaves[e], leaves[g], leaves[h])]
        rest = subset ^ with_first
        total += cumulant * (chance[rest] if rest else 1.0)
        if part == 0:
            break
        part = (part - 1) & others
    # Events are never likelier together than without one of them, nor less than these two leave room for.
    low, high = 0.0, 1.0
    for k in range(size):
        without = subset ^ (1 << places[k])
        high = min(high, chance[without])
        for n in range(k):
            low = max(low, chance[without] + chance[subset ^ (1 << places[n])] - chance[without ^ (1 << places[n])])
    return min(max(total, low), high)


@njit(cache=True, nogil=True)
def none_of_sharing(
    teams: NDArray[np.int32], sizes: NDArray[np.int32], leaves: Ints, alone: Floats, weights: Floats, one: Floats,
    two: Floats, three: Floats, four: Floats, found: Floats,
) -> None:  # fmt: skip
    """Fill found[team] with Σ_k w_k { P(none by kh) - Π P(i not by kh) } of teams of two and more.

    Given are weights [trucks from outside, step], alone [leaf, step] P(i by kh), and Σ_k w_k P(all by kh) of teams of
    leaves [trucks from outside, rank]. Teams of more trucks than are needed, or with one that is there, are left alone.
    """
    needed, places = len(one), np.empty(4, np.int64)
    for t in range(len(teams)):
        size = sizes[t]
        at_once = False
        for place in range(size):
            at_once = at_once or alone[leaves[teams[t, place]], 0] > AT_ONCE
        if size < 2 or size > needed or at_once:
            continue
        outside = needed - size
        total = 0.0
        for k in range(weights.shape[1]):
            none = 1.0
            for place in range(size):
                none *= 1.0 - alone[leaves[teams[t, place]], k]
            total += weights[outside, k] * (1.0 - none)
        for subset in range(1, 1 << size):
            number = 0
            places[:] = -1
            for place in range(size):
                if subset >> place & 1:
                    places[number] = leaves[teams[t, place]]
                    number += 1
            rank = team_rank(places[0], places[1], places[2], places[3])
            if number == 1:
                total -= one[outside, rank]
            elif number == 2:
                total += two[outside, rank]
            elif number == 3:
                total -= three[outside, rank]
            else:
                total += four[outside, rank]
        found[t] = total
