"""One demand point of the independent picture, for `LANES` vectors of busy chances at once.

A vector register holds one number of each lane. Arrays by truck, position or set hold the lanes of each side by side:
entry (n, lane) of a flat array is at n × LANES + lane. The loops are written in LLVM's own vector types, as in
`block_sum`, and mean the same as `independent.follow_point`.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from runcard.mdp.kernels.block_sum import CONTRACT, SETS
from runcard.mdp.kernels.independent import LEAST_BUSY

LANES: Final = 8

DOUBLE, WORD, INDEX = ir.DoubleType(), ir.IntType(64), ir.IntType(32)
VECTOR = ir.VectorType(DOUBLE, LANES)


class Lanes:
    """Vector operations at the place where a builder is."""

    def __init__(self, builder: Any) -> None:
        self.builder = builder

    def load_from(self, data: Any, place: Any) -> Any:
        """As many numbers as there are lanes, from a place on."""
        loaded = self.builder.load(self.builder.bitcast(self.builder.gep(data, [place]), VECTOR.as_pointer()))
        loaded.align = 8
        return loaded

    def store_from(self, vector: Any, data: Any, place: Any) -> None:
        """Write as many numbers as there are lanes, from a place on."""
        address = self.builder.bitcast(self.builder.gep(data, [place]), VECTOR.as_pointer())
        self.builder.store(vector, address).align = 8

    def load(self, data: Any, entry: Any) -> Any:
        """The lanes of an entry."""
        return self.load_from(data, self.builder.mul(entry, ir.Constant(WORD, LANES)))

    def store(self, vector: Any, data: Any, entry: Any) -> None:
        """Write the lanes of an entry."""
        self.store_from(vector, data, self.builder.mul(entry, ir.Constant(WORD, LANES)))

    def spread(self, number: Any) -> Any:
        """One number in every lane."""
        undefined, zero = ir.Constant(VECTOR, ir.Undefined), ir.Constant(INDEX, 0)
        one = self.builder.insert_element(undefined, number, zero)
        return self.builder.shuffle_vector(one, undefined, ir.Constant(ir.VectorType(INDEX, LANES), None))

    def add(self, one: Any, other: Any) -> Any:
        """The sum, lane by lane."""
        return self.builder.fadd(one, other, flags=CONTRACT)

    def multiply(self, one: Any, other: Any) -> Any:
        """The product, lane by lane."""
        return self.builder.fmul(one, other, flags=CONTRACT)


def data_of(context: Any, builder: Any, signature: Any, arguments: Any) -> Callable[[int], Any]:
    """Finds the numbers of an argument that is an array."""
    return lambda number: context.make_array(signature.args[number])(context, builder, arguments[number]).data


def _following(lanes: Lanes, chances: list[Any], p: Any) -> list[Any]:
    """The chances that at most m trucks were idle after one more: S_m' = S_{m-1} + (S_m - S_{m-1}) p."""
    following = [lanes.multiply(chances[0], p)]
    for fewer, chance in pairwise(chances):
        following.append(lanes.add(lanes.multiply(lanes.builder.fsub(chance, fewer), p), fewer))
    return following


def _generate_walk(needed: int) -> Callable[[Any, Any, Any, Any], Any]:
    """Generates the loop over the positions of a walk that asks until so many trucks were idle."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = data_of(context, builder, signature, arguments)
        truck, busy, asked = data(0), data(4), data(5)
        start, end, rate, stop = arguments[1], arguments[2], arguments[3], arguments[6]
        lanes = Lanes(builder)
        first, least = lanes.spread(rate), lanes.spread(builder.fmul(rate, stop))
        before = builder.block
        loop, done = builder.append_basic_block("positions"), builder.append_basic_block("done")
        builder.branch(loop)
        builder.position_at_end(loop)
        place = builder.phi(WORD)
        place.add_incoming(start, before)
        chances = [builder.phi(VECTOR) for _ in range(needed)]
        for chance in chances:
            chance.add_incoming(first, before)
        likely = builder.fcmp_ordered(">", chances[-1], least)
        number = builder.load(builder.gep(truck, [place]))
        more = builder.select(likely, chances[-1], ir.Constant(VECTOR, [0.0] * LANES))
        lanes.store(lanes.add(lanes.load(asked, number), more), asked, number)
        following = _following(lanes, chances, lanes.load(busy, number))
        next_place = builder.add(place, ir.Constant(WORD, 1))
        place.add_incoming(next_place, loop)
        for chance, new in zip(chances, following, strict=True):
            chance.add_incoming(new, loop)
        goes_on = builder.fcmp_ordered(">", following[-1], least)
        any_likely = builder.icmp_unsigned(
            "!=", builder.bitcast(goes_on, ir.IntType(LANES)), ir.Constant(ir.IntType(LANES), 0)
        )
        builder.cbranch(builder.and_(any_likely, builder.icmp_signed("<", next_place, end)), loop, done)
        builder.position_at_end(done)
        return builder.sub(next_place, start)

    return generate


def _lane_walk_of(needed: int) -> Any:
    """An intrinsic for walks of incidents that need so many trucks.

    It adds to `asked` what a walk asks of each truck, in every lane until that stops, and returns the positions until
    every lane stops. The walk is truck[start:end], flat.
    """

    def lane_walk(_typing: Any, truck: Any, start: Any, end: Any, rate: Any, busy: Any, asked: Any, stop: Any) -> Any:
        del start, end, rate, stop
        word, double = types.int64, types.float64
        return word(truck, word, word, double, busy, asked, double), _generate_walk(needed)

    return intrinsic(lane_walk)


def _generate_weights(needed: int) -> Callable[[Any, Any, Any, Any], Any]:
    """Generates the loop over the positions, with the chance that all trucks so far are busy."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = data_of(context, builder, signature, arguments)
        truck, busy, odds, weight, ratio = data(0), data(5), data(6), data(7), data(8)
        start, count, rate, stop, lanes = arguments[1], arguments[2], arguments[3], arguments[4], Lanes(builder)
        first, least = lanes.spread(rate), lanes.spread(builder.fmul(rate, stop))
        nothing, everything, least_busy = (ir.Constant(VECTOR, [number] * LANES) for number in (0.0, 1.0, LEAST_BUSY))
        before = builder.block
        loop, done = builder.append_basic_block("positions"), builder.append_basic_block("done")
        builder.branch(loop)
        builder.position_at_end(loop)
        place, all_busy = builder.phi(WORD), builder.phi(VECTOR)
        place.add_incoming(ir.Constant(WORD, 0), before)
        all_busy.add_incoming(everything, before)
        chances = [builder.phi(VECTOR) for _ in range(needed)]
        for chance in chances:
            chance.add_incoming(first, before)
        number = builder.load(builder.gep(truck, [builder.add(start, place)]))
        p = lanes.load(busy, number)
        asked = builder.fcmp_ordered(">", chances[-1], least)
        here = builder.select(asked, builder.fmul(builder.fsub(everything, p), all_busy), nothing)
        lanes.store(here, weight, place)
        lanes.store(lanes.load(odds, number), ratio, place)
        for chance, new in zip(chances, _following(lanes, chances, p), strict=True):
            chance.add_incoming(new, loop)
        larger = builder.select(builder.fcmp_ordered(">", p, least_busy), p, least_busy)
        all_busy.add_incoming(builder.fmul(all_busy, larger), loop)
        following = builder.add(place, ir.Constant(WORD, 1))
        place.add_incoming(following, loop)
        builder.cbranch(builder.icmp_signed("<", following, count), loop, done)
        builder.position_at_end(done)
        return context.get_dummy_value()

    return generate


def _lane_weights_of(needed: int) -> Any:
    """An intrinsic that sets weight[b] to w_b and ratio[b] to r(n_b), in every lane, for `count` > 0 positions.

    The walk is one of incidents that need so many trucks; w_b is 0 where it has stopped (see `lane_walk`).
    """

    def lane_weights(
        _typing: Any, truck: Any, start: Any, count: Any, rate: Any, stop: Any, busy: Any, odds: Any, weight: Any,
        ratio: Any,
    ) -> Any:  # fmt: skip
        del start, count, rate, stop
        word, double = types.int64, types.float64
        given = (truck, word, word, double, double, busy, odds, weight, ratio)
        return types.none(*given), _generate_weights(needed)

    return intrinsic(lane_weights)


def _generate_sum(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """The loop over the sets of one position, and its weighted sum."""
    data = data_of(context, builder, signature, arguments)
    cost, product, weight, total = data(0), data(2), data(4), data(6)
    start, count, position = arguments[1], arguments[3], arguments[5]
    lanes = Lanes(builder)
    before = builder.block
    loop, done = builder.append_basic_block("sets"), builder.append_basic_block("done")
    builder.branch(loop)
    builder.position_at_end(loop)
    number = builder.phi(WORD)
    number.add_incoming(ir.Constant(WORD, 0), before)
    partials = [builder.phi(VECTOR) for _ in range(SETS)]
    sums = []
    for part, partial in enumerate(partials):
        partial.add_incoming(ir.Constant(VECTOR, [0.0] * LANES), before)
        here = builder.add(number, ir.Constant(WORD, part))
        one = lanes.spread(builder.load(builder.gep(cost, [builder.add(start, here)])))
        sums.append(lanes.add(partial, lanes.multiply(one, lanes.load(product, here))))
        partial.add_incoming(sums[-1], loop)
    following = builder.add(number, ir.Constant(WORD, SETS))
    number.add_incoming(following, loop)
    builder.cbranch(builder.icmp_signed("<", following, count), loop, done)
    builder.position_at_end(done)
    while len(sums) > 1:
        sums = [lanes.add(low, high) for low, high in zip(sums[::2], sums[1::2], strict=True)]
    slot = builder.and_(position, ir.Constant(WORD, SETS - 1))
    added = lanes.multiply(sums[0], lanes.load(weight, position))
    lanes.store(lanes.add(lanes.load(total, slot), added), total, slot)
    return context.get_dummy_value()


def _lane_sum(
    _typing: Any, cost: Any, start: Any, product: Any, count: Any, weight: Any, position: Any, total: Any
) -> Any:
    """Add the w_b Σ_a c_ab R_a of one position b to entry b mod SETS of `total`, in every lane.

    `cost` holds the costs of the `count` sets a from `start` on, then zeros up to a multiple of SETS. One entry alone
    would make every position wait for the one before.
    """
    del start, count, position
    word = types.int64
    return types.none(cost, word, product, word, weight, word, total), _generate_sum


lane_walk_one: Any = _lane_walk_of(1)
lane_walk_two: Any = _lane_walk_of(2)
lane_walk_three: Any = _lane_walk_of(3)
lane_walk_four: Any = _lane_walk_of(4)
lane_weights_one: Any = _lane_weights_of(1)
lane_weights_two: Any = _lane_weights_of(2)
lane_weights_three: Any = _lane_weights_of(3)
lane_weights_four: Any = _lane_weights_of(4)
lane_sum: Any = intrinsic(_lane_sum)
