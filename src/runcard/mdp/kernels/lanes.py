"""One demand point of the independent picture, for `LANES` vectors of busy chances at once.

A vector register holds one number of each lane. Arrays by truck, position or set hold the lanes of each side by side:
entry (n, lane) of a flat array is at n × LANES + lane. The loops are written in LLVM's own vector types, as in
`block_sum`, and mean the same as `independent.follow_point`.
"""

from collections.abc import Callable
from functools import reduce
from typing import Any, Final

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from runcard.mdp.kernels.block_sum import BLOCK, CONTRACT
from runcard.mdp.kernels.independent import LEAST_BUSY

LANES: Final = 8

_DOUBLE, _WORD, _INDEX = ir.DoubleType(), ir.IntType(64), ir.IntType(32)
_VECTOR = ir.VectorType(_DOUBLE, LANES)


class _Lanes:
    """Vector operations at the place where a builder is."""

    def __init__(self, builder: Any) -> None:
        self.builder = builder

    def address(self, data: Any, entry: Any) -> Any:
        """Where the lanes of an entry are."""
        place = self.builder.mul(entry, ir.Constant(_WORD, LANES))
        return self.builder.bitcast(self.builder.gep(data, [place]), _VECTOR.as_pointer())

    def load(self, data: Any, entry: Any) -> Any:
        """The lanes of an entry."""
        loaded = self.builder.load(self.address(data, entry))
        loaded.align = 8
        return loaded

    def store(self, vector: Any, data: Any, entry: Any) -> None:
        """Write the lanes of an entry."""
        self.builder.store(vector, self.address(data, entry)).align = 8

    def spread(self, number: Any) -> Any:
        """One number in every lane."""
        undefined, zero = ir.Constant(_VECTOR, ir.Undefined), ir.Constant(_INDEX, 0)
        one = self.builder.insert_element(undefined, number, zero)
        return self.builder.shuffle_vector(one, undefined, ir.Constant(ir.VectorType(_INDEX, LANES), None))

    def add(self, one: Any, other: Any) -> Any:
        """The sum, lane by lane."""
        return self.builder.fadd(one, other, flags=CONTRACT)

    def multiply(self, one: Any, other: Any) -> Any:
        """The product, lane by lane."""
        return self.builder.fmul(one, other, flags=CONTRACT)


def _data_of(context: Any, builder: Any, signature: Any, arguments: Any) -> Callable[[int], Any]:
    """Finds the numbers of an argument that is an array."""
    return lambda number: context.make_array(signature.args[number])(context, builder, arguments[number]).data


def _generate_walk(most_needed: int) -> Callable[[Any, Any, Any, Any], Any]:
    """Generates the loop over the positions of a walk that asks for at most so many trucks."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = _data_of(context, builder, signature, arguments)
        truck, busy, asked = data(0), data(5), data(6)
        start, end, needed, rate, stop = arguments[1], arguments[2], arguments[3], arguments[4], arguments[7]
        lanes, nothing = _Lanes(builder), ir.Constant(_VECTOR, [0.0] * LANES)
        everything = ir.Constant(_VECTOR, [1.0] * LANES)
        first, least = lanes.spread(rate), lanes.spread(builder.fmul(rate, stop))
        # wanted[m]: 1 if the walk still goes on when m trucks were idle, 0 if not
        wanted = [
            lanes.spread(builder.uitofp(builder.icmp_signed(">", needed, ir.Constant(_WORD, m)), _DOUBLE))
            for m in range(most_needed)
        ]
        before = builder.block
        loop, done = builder.append_basic_block("positions"), builder.append_basic_block("done")
        builder.branch(loop)
        builder.position_at_end(loop)
        place = builder.phi(_WORD)
        place.add_incoming(start, before)
        # chances[m]: that m trucks so far were idle
        chances = [builder.phi(_VECTOR) for _ in range(most_needed)]
        for m, chance in enumerate(chances):
            chance.add_incoming(nothing if m else first, before)
        number = builder.load(builder.gep(truck, [place]))
        lanes.store(lanes.add(lanes.load(asked, number), reduce(lanes.add, chances)), asked, number)
        p = lanes.load(busy, number)
        q = builder.fsub(everything, p)
        following = [lanes.multiply(chances[0], p)]
        for m in range(1, most_needed):
            one_more = lanes.multiply(lanes.multiply(wanted[m], q), chances[m - 1])
            following.append(lanes.add(lanes.multiply(chances[m], p), one_more))
        next_place = builder.add(place, ir.Constant(_WORD, 1))
        place.add_incoming(next_place, loop)
        for chance, new in zip(chances, following, strict=True):
            chance.add_incoming(new, loop)
        likely = builder.fcmp_ordered(">", reduce(lanes.add, following), least)
        any_likely = builder.icmp_unsigned(
            "!=", builder.bitcast(likely, ir.IntType(LANES)), ir.Constant(ir.IntType(LANES), 0)
        )
        builder.cbranch(builder.and_(any_likely, builder.icmp_signed("<", next_place, end)), loop, done)
        builder.position_at_end(done)
        return builder.sub(next_place, start)

    return generate


def _lane_walk_of(most_needed: int) -> Any:
    """An intrinsic for walks that ask for at most so many trucks.

    It adds to `asked` what a walk asks of each truck, in every lane, and returns the positions until every lane stops.
    The walk is truck[start:end], flat; `needed` is k.
    """

    def lane_walk(
        _typing: Any, truck: Any, start: Any, end: Any, needed: Any, rate: Any, busy: Any, asked: Any, stop: Any
    ) -> Any:
        del start, end, needed, rate, stop
        word, double = types.int64, types.float64
        return word(truck, word, word, word, double, busy, asked, double), _generate_walk(most_needed)

    return intrinsic(lane_walk)


def _generate_weights(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """The loop over the positions, with the chance that all trucks so far are busy."""
    data = _data_of(context, builder, signature, arguments)
    truck, busy, odds, weight, ratio = data(0), data(3), data(4), data(5), data(6)
    start, count, lanes = arguments[1], arguments[2], _Lanes(builder)
    everything, least = (ir.Constant(_VECTOR, [number] * LANES) for number in (1.0, LEAST_BUSY))
    before = builder.block
    loop, done = builder.append_basic_block("positions"), builder.append_basic_block("done")
    builder.branch(loop)
    builder.position_at_end(loop)
    place, all_busy = builder.phi(_WORD), builder.phi(_VECTOR)
    place.add_incoming(ir.Constant(_WORD, 0), before)
    all_busy.add_incoming(everything, before)
    number = builder.load(builder.gep(truck, [builder.add(start, place)]))
    chance = lanes.load(busy, number)
    lanes.store(builder.fmul(builder.fsub(everything, chance), all_busy), weight, place)
    lanes.store(lanes.load(odds, number), ratio, place)
    likely = builder.fcmp_ordered(">", chance, least)
    all_busy.add_incoming(builder.fmul(all_busy, builder.select(likely, chance, least)), loop)
    following = builder.add(place, ir.Constant(_WORD, 1))
    place.add_incoming(following, loop)
    builder.cbranch(builder.icmp_signed("<", following, count), loop, done)
    builder.position_at_end(done)
    return context.get_dummy_value()


def _lane_weights(
    _typing: Any, truck: Any, start: Any, count: Any, busy: Any, odds: Any, weight: Any, ratio: Any
) -> Any:
    """Set weight[b] to w_b and ratio[b] to r(n_b), in every lane, for the first `count` > 0 positions of a walk."""
    del start, count
    word = types.int64
    return types.none(truck, word, word, busy, odds, weight, ratio), _generate_weights


def _generate_block(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """The loop over the sets below a block, and the weighted sum of the block."""
    data = _data_of(context, builder, signature, arguments)
    cost, product, weight, total = data(0), data(2), data(4), data(6)
    start, count, first = arguments[1], arguments[3], arguments[5]
    lanes = _Lanes(builder)
    before = builder.block
    loop, done = builder.append_basic_block("sets"), builder.append_basic_block("done")
    builder.branch(loop)
    builder.position_at_end(loop)
    number = builder.phi(_WORD)
    number.add_incoming(ir.Constant(_WORD, 0), before)
    partials = [builder.phi(_VECTOR) for _ in range(BLOCK)]
    ratios = lanes.load(product, number)
    here = builder.gep(cost, [builder.add(start, builder.mul(number, ir.Constant(_WORD, BLOCK)))])
    sums = []
    for position, partial in enumerate(partials):
        partial.add_incoming(ir.Constant(_VECTOR, [0.0] * LANES), before)
        one = lanes.spread(builder.load(builder.gep(here, [ir.Constant(_WORD, position)])))
        sums.append(lanes.add(partial, lanes.multiply(one, ratios)))
        partial.add_incoming(sums[-1], loop)
    following = builder.add(number, ir.Constant(_WORD, 1))
    number.add_incoming(following, loop)
    builder.cbranch(builder.icmp_signed("<", following, count), loop, done)
    builder.position_at_end(done)
    parts = [
        lanes.multiply(partial, lanes.load(weight, builder.add(first, ir.Constant(_WORD, position))))
        for position, partial in enumerate(sums)
    ]
    while len(parts) > 1:
        parts = [lanes.add(low, high) for low, high in zip(parts[::2], parts[1::2], strict=True)]
    zero = ir.Constant(_WORD, 0)
    lanes.store(lanes.add(lanes.load(total, zero), parts[0]), total, zero)
    return context.get_dummy_value()


def _lane_block_sum(
    _typing: Any, near_cost: Any, start: Any, product: Any, count: Any, weight: Any, first: Any, total: Any
) -> Any:
    """Add to total[lane] the Σ_b w_b Σ_a c_ab R_a of `block_sum`, in every lane; `count` > 0 may be any number."""
    del start, count, first
    word = types.int64
    return types.none(near_cost, word, product, word, weight, word, total), _generate_block


lane_walk_two: Any = _lane_walk_of(2)
lane_walk_three: Any = _lane_walk_of(3)
lane_weights: Any = intrinsic(_lane_weights)
lane_block_sum: Any = intrinsic(_lane_block_sum)
