"""Loops over the positions of `LANES` demand points at once, for the bounds of `queueing_bounds`.

Written in LLVM's own vector types, as in `lanes`, with one demand point in each lane: the lanes of an entry lie side by
side in every array.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from runcard.mdp.kernels.lanes import LANES, VECTOR, WORD, Lanes, data_of

_NOTHING = ir.Constant(VECTOR, [0.0] * LANES)


def _sum_of_positions(builder: Any, count: Any, body: Callable[[Lanes, Any], Any]) -> Any:
    """The sum of what `body` gives for each of `count` > 0 positions, in every lane."""
    before = builder.block
    loop, done = builder.append_basic_block("positions"), builder.append_basic_block("done")
    builder.branch(loop)
    builder.position_at_end(loop)
    place, partial = builder.phi(WORD), builder.phi(VECTOR)
    place.add_incoming(ir.Constant(WORD, 0), before)
    partial.add_incoming(_NOTHING, before)
    lanes = Lanes(builder)
    summed = lanes.add(partial, body(lanes, place))
    partial.add_incoming(summed, loop)
    following = builder.add(place, ir.Constant(WORD, 1))
    place.add_incoming(following, loop)
    builder.cbranch(builder.icmp_signed("<", following, count), loop, done)
    builder.position_at_end(done)
    return summed


def _generate_less(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """The loop of `less_row`."""
    data = data_of(context, builder, signature, arguments)
    one, cost, odds, less, chance, idle, total = data(0), data(1), data(3), data(4), data(6), data(7), data(8)
    start, v = arguments[2], arguments[5]
    p, q = Lanes(builder).load(chance, v), Lanes(builder).load(idle, v)

    def body(lanes: Lanes, place: Any) -> Any:
        ones, costs = lanes.load(one, place), lanes.load(cost, builder.add(start, place))
        difference = builder.fsub(ones, costs)
        lanes.store(difference, less, place)
        lanes.store(lanes.add(lanes.multiply(p, ones), lanes.multiply(q, costs)), one, place)
        return lanes.multiply(lanes.load(odds, place), difference)

    summed = _sum_of_positions(builder, v, body)
    lanes, zero = Lanes(builder), ir.Constant(WORD, 0)
    lanes.store(lanes.add(lanes.load(total, zero), summed), total, zero)
    return context.get_dummy_value()


def _less_row(
    _typing: Any, one: Any, cost: Any, start: Any, odds: Any, less: Any, v: Any, chance: Any, idle: Any, total: Any
) -> Any:
    """Set less[a] = one[a] - cost[start + a], then one[a] = p one[a] + q cost[start + a], for all a < v, v > 0.

    p and q are chance[v] and idle[v]. Adds Σ odds[a] less[a] to `total`.
    """
    del start, v
    word = types.int64
    return types.none(one, cost, word, odds, less, word, chance, idle, total), _generate_less


def _generate_slope(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """The loop of `slope_row`."""
    data = data_of(context, builder, signature, arguments)
    inverse, less, weight, total, slope = data(0), data(1), data(2), data(3), data(5)
    zero = ir.Constant(WORD, 0)
    weights, totals = Lanes(builder).load(weight, zero), Lanes(builder).load(total, zero)

    def body(lanes: Lanes, place: Any) -> Any:
        inverses = lanes.load(inverse, place)
        rest = builder.fsub(totals, lanes.multiply(inverses, lanes.load(less, place)))
        lanes.store(lanes.multiply(lanes.multiply(weights, inverses), rest), slope, place)
        return _NOTHING

    _sum_of_positions(builder, arguments[4], body)
    return context.get_dummy_value()


def _slope_row(_typing: Any, inverse: Any, less: Any, weight: Any, total: Any, count: Any, slope: Any) -> Any:
    """Set slope[u] = weight inverse[u] (total - inverse[u] less[u]) for all u < count, count > 0."""
    del count
    return types.none(inverse, less, weight, total, types.int64, slope), _generate_slope


def _generate_harm(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """The loop of `harm_row`."""
    data = data_of(context, builder, signature, arguments)
    fall, inverse, idle, first, later = data(0), data(2), data(3), data(4), data(5)
    scale, least, together = data(8), data(9), data(10)
    start, width, c = arguments[1], arguments[6], arguments[7]
    zero, row = ir.Constant(WORD, 0), builder.mul(c, width)
    scales, leasts, last_idle = (
        Lanes(builder).load(array, place) for array, place in ((scale, zero), (least, zero), (idle, c))
    )

    def body(lanes: Lanes, place: Any) -> Any:
        here = builder.add(row, place)
        weight = lanes.multiply(lanes.load(fall, builder.add(start, place)), lanes.load(inverse, place))
        weight = lanes.multiply(weight, scales)
        weight = builder.select(builder.fcmp_ordered(">", weight, leasts), weight, _NOTHING)
        part = lanes.multiply(weight, lanes.load(idle, place))
        lanes.store(part, first, here)
        grown = lanes.add(lanes.load(later, here), lanes.multiply(weight, last_idle))
        lanes.store(grown, later, builder.sub(here, width))
        return part

    summed = _sum_of_positions(builder, c, body)
    Lanes(builder).store(summed, together, c)
    return context.get_dummy_value()


def _harm_row(
    _typing: Any, fall: Any, start: Any, inverse: Any, idle: Any, first: Any, later: Any, width: Any, c: Any,
    scale: Any, least: Any, together: Any,
) -> Any:  # fmt: skip
    """With w_b = fall[start + b] inverse[b] scale for all b < c, c > 0, or 0 if that is at most `least`:

    sets first[c width + b] = w_b idle[b] and together[c] to their sum, and adds w_b idle[c] to later[c width + b] to
    give later[(c - 1) width + b].
    """
    del start, width, c
    word = types.int64
    return types.none(fall, word, inverse, idle, first, later, word, word, scale, least, together), _generate_harm


less_row: Any = intrinsic(_less_row)
slope_row: Any = intrinsic(_slope_row)
harm_row: Any = intrinsic(_harm_row)
