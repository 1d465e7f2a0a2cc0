"""The innermost loop: a register-blocked minimum of packed keys.

A key is one unsigned integer that holds a value in fixed point in its high bits and the number of a team in its low
bits. Adding a cost (low bits zero) to a price (low bits the number) gives the key of their sum, and the smallest of
several keys is the smallest sum *and* the team that attains it: one add and one minimum per team, no comparison apart.
Integer adds and minima run at twice the speed of single-precision ones on the machines we measured.

For `STATES` states that share a list of teams, and one tile of demand points,

    out[s, j] = min over positions p of  cost[team[p], j] + price[p, s],

with all the minima held in vector registers while the teams stream by. LLVM's loop vectoriser does not keep them
there, so the loop is written in LLVM's own vector types; LLVM splits these for machines with narrower registers.

Eight states whose last three stations have one truck each differ in those three trucks: bit b of s says whether the
truck is idle. A team with one of them is idle in four of the eight states only. So the teams come in four groups, and
those of the groups 1, 2 and 3 are tried in their four states alone: a quarter of the work is saved.
"""

from collections.abc import Callable
from typing import Any, Final

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from runcard.mdp.kernels.groups import GROUPS, STATES

_WIDE: Final = bool(llvm.get_host_cpu_features().get("avx512f", False))
_VECTOR_BITS: Final = 512 if _WIDE else 256
_VECTORS: Final = 2 if _WIDE else 1


def tile_points(key_bits: int) -> int:
    """The number of demand points in one tile of keys of `key_bits` bits."""
    return _VECTORS * _VECTOR_BITS // key_bits


def _loop_for(key_bits: int, *, is_float: bool) -> Callable[[Any, Any, Any, Any], Any]:
    """The generator of the loop for keys of `key_bits` bits, or floats of that size."""
    lanes = _VECTOR_BITS // key_bits
    key = (ir.FloatType() if key_bits == 32 else ir.DoubleType()) if is_float else ir.IntType(key_bits)
    largest = float("inf") if is_float else (1 << key_bits) - 1
    index, word = ir.IntType(32), ir.IntType(64)
    vector = ir.VectorType(key, lanes)
    align = key_bits // 8

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def data_of(argument: int) -> Any:
            return context.make_array(signature.args[argument])(context, builder, arguments[argument]).data

        out_array = context.make_array(signature.args[0])(context, builder, arguments[0])
        out, out_stride = out_array.data, builder.extract_value(out_array.strides, 0)
        cost = builder.bitcast(data_of(1), vector.as_pointer())
        team, price, ends = data_of(2), data_of(3), data_of(4)
        undefined = ir.Constant(vector, ir.Undefined)
        to_all_lanes = ir.Constant(ir.VectorType(index, lanes), None)

        def number(value: int) -> Any:
            return ir.Constant(word, value)

        def smaller_sum(best: Any, one_cost: Any, one_price: Any) -> Any:
            if is_float:
                total = builder.fadd(one_cost, one_price)
                return builder.select(builder.fcmp_ordered("<", total, best), total, best)
            total = builder.add(one_cost, one_price)
            return builder.select(builder.icmp_unsigned("<", total, best), total, best)

        def try_team(position: Any, states: tuple[int, ...], best: dict[tuple[int, int], Any]) -> Any:
            """The minima after the team at a position, in some of the states."""
            row = builder.mul(builder.zext(builder.load(builder.gep(team, [position])), word), number(_VECTORS))
            costs = [builder.load(builder.gep(cost, [builder.add(row, number(v))])) for v in range(_VECTORS)]
            for load in costs:
                load.align = align
            first_price = builder.mul(position, number(STATES))
            better = {}
            for s in states:
                one = builder.load(builder.gep(price, [builder.add(first_price, number(s))]))
                spread = builder.insert_element(undefined, one, ir.Constant(index, 0))
                spread = builder.shuffle_vector(spread, undefined, to_all_lanes)
                for v in range(_VECTORS):
                    better[s, v] = smaller_sum(best[s, v], costs[v], spread)
            return better

        best: dict[tuple[int, int], Any] = {
            (s, v): ir.Constant(vector, [largest] * lanes) for s in range(STATES) for v in range(_VECTORS)
        }
        begin = number(0)
        for group, states in enumerate(GROUPS):
            end = builder.load(builder.gep(ends, [number(group)]))
            before = builder.block
            loop, done = builder.append_basic_block("teams"), builder.append_basic_block("done")
            builder.cbranch(builder.icmp_signed("<", begin, end), loop, done)
            builder.position_at_end(loop)
            position = builder.phi(word)
            position.add_incoming(begin, before)
            here = {}
            for s in states:
                for v in range(_VECTORS):
                    here[s, v] = builder.phi(vector)
                    here[s, v].add_incoming(best[s, v], before)
            better = try_team(position, states, here)
            for sv, phi in here.items():
                phi.add_incoming(better[sv], loop)
            following = builder.add(position, number(1))
            position.add_incoming(following, loop)
            builder.cbranch(builder.icmp_signed("<", following, end), loop, done)
            builder.position_at_end(done)
            for sv in here:
                after = builder.phi(vector)
                after.add_incoming(best[sv], before)
                after.add_incoming(better[sv], loop)
                best[sv] = after
            begin = end

        for (s, v), minimum in best.items():
            offset = builder.add(builder.mul(out_stride, number(s)), number(v * _VECTOR_BITS // 8))
            place = builder.inttoptr(builder.add(builder.ptrtoint(out, word), offset), vector.as_pointer())
            builder.store(minimum, place).align = align
        return context.get_dummy_value()

    return generate


def _packed_minimum(_typing: Any, out: Any, cost: Any, team: Any, price: Any, ends: Any) -> Any:
    """The loop of the module docstring, inside a numba function.

    `cost` [teams, tile] and `price` [positions, STATES] are contiguous arrays of uint32 or uint64, like the rows of
    `out` [STATES, >= tile], whose first `tile` entries are written; `team` [positions] is a contiguous array of int32;
    `ends` [4] of int64 says where each group of teams ends. Without any team the minimum is the largest key. Arrays of
    float32 or float64 work as well, as a plain minimum of sums: the benchmark measures the machine with them.
    """
    signature = types.void(out, cost, team, price, ends)
    return signature, _loop_for(out.dtype.bitwidth, is_float=isinstance(out.dtype, types.Float))


# Not as a decorator: its type would be that of the definition above, which is not how a numba function calls it.
packed_minimum: Callable[..., None] = intrinsic(_packed_minimum)
