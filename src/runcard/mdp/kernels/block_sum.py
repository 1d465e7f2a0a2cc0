"""A short loop over vectors: Σ_b w_b Σ_a c_ab R_a for a block of positions b that lie side by side.

LLVM's vectorisers see neither the block (a loop of eight) nor the few sets a (they aim at long loops), so the loop is
written in LLVM's own vector types, which LLVM splits for machines with narrower registers. `SETS` partial sums at a
time hide the latency of the additions.
"""

from typing import Any, Final

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

BLOCK: Final = 8
"""Positions per block."""
SETS: Final = 4
"""The number of sets is a multiple of it."""
CONTRACT: Final = ("contract",)


def _generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """The loop, and the sum of its vector."""

    def data_of(argument: int) -> Any:
        return context.make_array(signature.args[argument])(context, builder, arguments[argument]).data

    double, word, index = ir.DoubleType(), ir.IntType(64), ir.IntType(32)
    vector = ir.VectorType(double, BLOCK)
    undefined, to_all_lanes = ir.Constant(vector, ir.Undefined), ir.Constant(ir.VectorType(index, BLOCK), None)
    nothing = ir.Constant(vector, [0.0] * BLOCK)

    def vector_at(data: Any, place: Any) -> Any:
        loaded = builder.load(builder.bitcast(builder.gep(data, [place]), vector.as_pointer()))
        loaded.align = 8
        return loaded

    cost, product, weight = data_of(0), data_of(2), data_of(4)
    start, count, first = arguments[1], arguments[3], arguments[5]
    before = builder.block
    loop, done = builder.append_basic_block("sets"), builder.append_basic_block("done")
    builder.branch(loop)
    builder.position_at_end(loop)
    position = builder.phi(word)
    position.add_incoming(ir.Constant(word, 0), before)
    sums = [builder.phi(vector) for _ in range(SETS)]
    for lane, total in enumerate(sums):
        total.add_incoming(nothing, before)
        here = builder.add(position, ir.Constant(word, lane))
        one = builder.insert_element(undefined, builder.load(builder.gep(product, [here])), ir.Constant(index, 0))
        spread = builder.shuffle_vector(one, undefined, to_all_lanes)
        costs = vector_at(cost, builder.add(start, builder.mul(here, ir.Constant(word, BLOCK))))
        sums[lane] = builder.fadd(total, builder.fmul(spread, costs, flags=CONTRACT), flags=CONTRACT)
        total.add_incoming(sums[lane], loop)
    following = builder.add(position, ir.Constant(word, SETS))
    position.add_incoming(following, loop)
    builder.cbranch(builder.icmp_signed("<", following, count), loop, done)
    builder.position_at_end(done)
    total = builder.fadd(builder.fadd(sums[0], sums[1]), builder.fadd(sums[2], sums[3]))
    total = builder.fmul(total, vector_at(weight, first))
    parts = [builder.extract_element(total, ir.Constant(index, b)) for b in range(BLOCK)]
    while len(parts) > 1:
        parts = [builder.fadd(low, high) for low, high in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]


def _block_sum(_typing: Any, near_cost: Any, start: Any, product: Any, count: Any, weight: Any, first: Any) -> Any:
    """Σ_b w_b Σ_a c_ab R_a, inside a numba function.

    `near_cost` holds from `start` on BLOCK costs for each of the `count` sets, `product` their R, and `weight` from
    `first` on the BLOCK weights: contiguous arrays of float64. `count` is a positive multiple of SETS.
    """
    word = types.int64
    return types.float64(near_cost, word, product, word, weight, word), _generate


block_sum: Any = intrinsic(_block_sum)
