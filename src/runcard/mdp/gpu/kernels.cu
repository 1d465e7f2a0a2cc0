// The kernels of the GPU backend (see backend.py). The same source compiles for the processor, where tests run it.
//
//     bellman       the residuals of the Bellman equation, eight neighbouring states to a warp
//     policy        the residuals of the value equations of one policy, a state to a thread
//     choices       the team that a greedy policy sends, of every state and demand point
//     arriving      the rates at which dispatches of a policy lead to each state
//     team_use      the incidents per day that get each team
//     returns       one step of the change to the basis in which returns are diagonal, and back
//     divide        the division there
//     centre        the residuals less the middle of those of their level
//     spread        a number for each level, in all of its states
//     extremes      the lowest and highest residual and the largest |h| of each level
//     products      weighted inner products of one array with several
//     differ        the difference of two arrays, and the sum of its sizes
//     combine       a weighted sum of several arrays
//
// On a GPU FOR_LANES is the one lane that a thread is, and PerLane a register; on the processor it is a loop over the
// 32 lanes of a warp, and PerLane an array. A level is the number of idle trucks.
//
// POINTS is the number of demand points that a lane holds, KEY the kind of keys (0: integers of 32 bits, 1: doubles),
// and WARPS those of a block of threads. They are set when the source is compiled.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

#ifndef POINTS
#define POINTS 13
#endif
#ifndef KEY
#define KEY 0
#endif
#ifndef WARPS
#define WARPS 4
#endif

#ifdef __CUDACC__

#define INLINE __device__ __forceinline__
#define IN_STRUCT __device__ __forceinline__
#define KERNEL(name) extern "C" __global__ void name
#define LANES_HELD 1
#define FOR_LANES(lane) for (int lane = threadIdx.x & 31, once_ = 1; once_; once_ = 0)
#define FOR_ALL(i, count) \
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < (count); i += gridDim.x * (i64)blockDim.x)
#define BLOCK ((i64)blockIdx.x)
#define WARP ((blockIdx.x * (i64)blockDim.x + threadIdx.x) / 32)
#define FIRST_THREAD (threadIdx.x == 0)
#define SYNC_WARP() __syncwarp()
#define SYNC_BLOCK() __syncthreads()
#define SHARED __shared__
INLINE u32 count_bits(u32 x) { return __popc(x); }
INLINE u64 bits_of(double x) { return (u64)__double_as_longlong(x); }
INLINE double double_of(u64 x) { return __longlong_as_double((i64)x); }
INLINE void add_to(double* place, double x) { atomicAdd(place, x); }
INLINE void bring_down(u64* place, u64 x) { if (x < *(volatile u64*)place) atomicMin(place, x); }
INLINE void bring_up(u64* place, u64 x) { if (x > *(volatile u64*)place) atomicMax(place, x); }

#else

#include <string.h>
#define INLINE static inline
#define IN_STRUCT inline
#define KERNEL(name) extern "C" void name
#define LANES_HELD 32
#define FOR_LANES(lane) for (int lane = 0; lane < 32; lane++)
#define FOR_ALL(i, count) for (i64 i = 0; i < (count); i++)
#define BLOCK ((i64)0)
#define WARP ((i64)0)
#define FIRST_THREAD 1
#define SYNC_WARP()
#define SYNC_BLOCK()
#define SHARED static
INLINE u32 count_bits(u32 x) { return (u32)__builtin_popcount(x); }
INLINE u64 bits_of(double x) { u64 y; memcpy(&y, &x, 8); return y; }
INLINE double double_of(u64 x) { double y; memcpy(&y, &x, 8); return y; }
INLINE void add_to(double* place, double x) { *place += x; }
INLINE void bring_down(u64* place, u64 x) { if (x < *place) *place = x; }
INLINE void bring_up(u64* place, u64 x) { if (x > *place) *place = x; }

#endif

#define STATES 8
#define GROUPS 4
#define MOST_LEVELS 64
#define MOST_ARRAYS 8
#define NEVER 1e300
#define INFINITE double_of(0x7ff0000000000000ull)

template <class T> struct PerLane {
    T held[LANES_HELD];
    IN_STRUCT T& operator[](int lane) { return held[LANES_HELD == 1 ? 0 : lane]; }
};

// Each lane gets the sum, or the least, or the union, over the lanes whose numbers differ in the bits of `bits` only.

#ifdef __CUDACC__
#define OVER_LANES(name, T, expression)                              \
    INLINE void name(PerLane<T>& x, int bits) {                      \
        for (int bit = 1; bit < 32; bit *= 2)                        \
            if (bits & bit) {                                        \
                T own = x.held[0];                                   \
                T other = __shfl_xor_sync(0xffffffffu, own, bit);    \
                x.held[0] = (expression);                            \
            }                                                        \
    }
INLINE u32 ballot(PerLane<int>& x) { return __ballot_sync(0xffffffffu, x.held[0]); }
#else
#define OVER_LANES(name, T, expression)                              \
    INLINE void name(PerLane<T>& x, int bits) {                      \
        for (int bit = 1; bit < 32; bit *= 2)                        \
            if (bits & bit) {                                        \
                PerLane<T> before = x;                               \
                for (int lane = 0; lane < 32; lane++) {              \
                    T own = before[lane], other = before[lane ^ bit]; \
                    x[lane] = (expression);                          \
                }                                                    \
            }                                                        \
    }
INLINE u32 ballot(PerLane<int>& x) {
    u32 found = 0;
    for (int lane = 0; lane < 32; lane++) found |= (u32)(x[lane] != 0) << lane;
    return found;
}
#endif

OVER_LANES(sum_over, double, own + other)
OVER_LANES(least_over, double, other < own ? other : own)
OVER_LANES(union_over, u64, own | other)

// Doubles in the order of unsigned integers.
INLINE u64 ordered(double x) {
    const u64 bits = bits_of(x);
    return bits >> 63 ? ~bits : bits | 1ull << 63;
}
INLINE double unordered(u64 x) { return double_of(x >> 63 ? x & ~(1ull << 63) : ~x); }

// The problem as backend.py lays it out. Every field is of eight bytes.

struct Problem {
    i64 num_states, num_stations, num_levels, single, low_size;
    double returns_per_day, total_rate;
    const i64* trucks;     // [stations]
    const i64* stride;     // [stations]
    const u64* low_mask;   // [low_size] the bits of the low digits of a state
    const u64* high_mask;  // [states / low_size]
    const u16* low_level;  // [low_size] the idle trucks of the low digits
    const u16* high_level;
    i64 num_classes, num_small;
    const i64* needed;         // [classes]
    const double* class_rate;  // [classes]
    const i64* group_start;    // [classes, GROUPS + 1] where each group begins among the places
    const i64* small_state;   // [small] states in which some class gets every idle truck, rising
    const double* small_cost;  // [classes, small] what that costs per day
    i64 num_points, num_teams, base;
    const i64* point_needed;    // [points]
    const double* point_rate;   // [points]
    const i64* number_of_code;  // (see response/teams.py)
    const u64* team_mask;       // [teams]
    const i64* team_offset;
    const i64* first_of_size;
};

// The costs of every class in one width, padded to whole tiles of 32 POINTS demand points with rate 0.

struct Costs {
    const i64* first_point;  // [classes + 1]
    const i64* first_key;    // [classes]
    const double* rate;      // [padded points]
    const double* lowest;    // [classes]
    const double* scale;     // [classes]
    i64 most_places;         // of a class
};

INLINE u64 mask_of(const Problem& all, i64 f) {
    return all.low_mask[f % all.low_size] | all.high_mask[f / all.low_size];
}

INLINE int level_of(const Problem& all, i64 f) {
    return all.low_level[f % all.low_size] + all.high_level[f / all.low_size];
}

INLINE i64 idle_at(const Problem& all, i64 f, i64 i) {
    return all.single ? (f & all.stride[i]) != 0 : f / all.stride[i] % (all.trucks[i] + 1);
}

// The place among the small states of one of them.
INLINE i64 small_place(const Problem& all, i64 f) {
    i64 first = 0, last = all.num_small - 1;
    while (first < last) {
        i64 middle = (first + last) / 2;
        if (all.small_state[middle] < f) first = middle + 1; else last = middle;
    }
    return first;
}

// Keys. Of 32 bits: a cost or a price in units of 1 / scale, rounded down, below 2^30; a team that is not idle has the
// price 2^31. One add and one minimum are a single instruction on chips that have it. Or doubles, without units.

struct alignas(16) Quad { u32 of[4]; };
struct alignas(16) Pair { double of[2]; };

template <class Key> struct Kind;

template <> struct Kind<u32> {
    typedef Quad Part;
    static const int parts = 2, per_part = 4;
    IN_STRUCT static u32 none() { return 0xffffffffu; }
    IN_STRUCT static u32 price(bool idle, double difference, double smallest, double scale) {
        if (!idle) return 0x80000000u;
        double units = (difference - smallest) * scale;
        return units < 1073741823.0 ? (u32)units : 1073741823u;
    }
    IN_STRUCT static double total(double sum, double rate, double lowest, double smallest, double scale) {
        // Both the cost and the price were rounded down, each by half a unit on average.
        return sum / scale + rate * (lowest + smallest + 1.0 / scale);
    }
};

template <> struct Kind<double> {
    typedef Pair Part;
    static const int parts = 4, per_part = 2;
    IN_STRUCT static double none() { return NEVER; }
    IN_STRUCT static double price(bool idle, double difference, double, double) { return idle ? difference : NEVER; }
    IN_STRUCT static double total(double sum, double, double, double, double) { return sum; }
};

// The teams of group 0 are tried in all eight states; those of group g where the truck of bit 3 - g is idle.
template <int GROUP> struct Tried {
    IN_STRUCT static constexpr bool in(int s) { return GROUP == 0 || (s >> (3 - GROUP) & 1); }
};

template <class Key, int GROUP> INLINE void try_teams(
    const Key* cost, int row, const u16* listed, const Key* price, int first, int last, Key (&best)[POINTS][STATES]) {
    if (first >= last) return;
    typedef typename Kind<Key>::Part Part;
    Key now[POINTS];
    {
        const Key* from = cost + (u32)listed[first] * (i64)row;
#pragma unroll
        for (int x = 0; x < POINTS; x++) now[x] = from[32 * x];
    }
#pragma unroll 1
    for (int p = first; p < last; p++) {
        Key next[POINTS];
        const Key* from = cost + (u32)listed[p + 1 < last ? p + 1 : p] * (i64)row;  // while the team before is tried
#pragma unroll
        for (int x = 0; x < POINTS; x++) next[x] = from[32 * x];
#pragma unroll
        for (int part = 0; part < Kind<Key>::parts; part++) {
            if (GROUP == 1 && part * Kind<Key>::per_part < STATES / 2) continue;
            const Part prices = ((const Part*)(price + p * STATES))[part];
#pragma unroll
            for (int n = 0; n < Kind<Key>::per_part; n++) {
                const int s = part * Kind<Key>::per_part + n;
                if (!Tried<GROUP>::in(s)) continue;
#pragma unroll
                for (int x = 0; x < POINTS; x++) {
                    Key sum = now[x] + prices.of[n];
                    best[x][s] = sum < best[x][s] ? sum : best[x][s];
                }
            }
        }
#pragma unroll
        for (int x = 0; x < POINTS; x++) now[x] = next[x];
    }
}

// The residuals of the states first..first+7, by one warp; `price` [places, STATES], `listed` [places] and `kept` [2, STATES] are
// its own. What is not needed in the loop over teams is kept there: that loop takes every register.
// `key` holds for each class [its places, its padded points] the costs, `place_mask` and `place_offset` [places] teams
// by size and group. Arrays that are read in inner loops are arguments: of those the compiler knows where they lie.
template <class Key> INLINE void bellman_of(
    const Problem& all, const Costs& costs, const Key* key, const u64* place_mask, const i64* place_offset,
    const double* value, double* residual, i64 first, Key* price, u16* listed, double* kept) {
    PerLane<double> found;
    // Lane s + 8 q looks at state s, and at every fourth station or team from q on.
    FOR_LANES(lane) {
        const i64 f = first + (lane & 7);
        found[lane] = 0.0;
        if (f < all.num_states) {
            const double here = value[f];
            double total = 0.0;
            if (all.single) {
#pragma unroll 4
                for (i64 i = lane >> 3; i < all.num_stations; i += 4) {
                    const i64 stride = all.stride[i], step = f & stride ? 0 : stride;
                    total += value[f + step] - here;  // 0 where the truck is idle
                }
            } else {
                for (i64 i = lane >> 3; i < all.num_stations; i += 4) {
                    const i64 busy = all.trucks[i] - idle_at(all, f, i);
                    if (busy > 0) total += (double)busy * (value[f + all.stride[i]] - here);
                }
            }
            found[lane] = all.returns_per_day * total;
        }
    }
    sum_over(found, 8 | 16);
    FOR_LANES(lane) {
        if (lane < STATES) kept[lane] = found[lane];
    }

    for (int c = 0; c < all.num_classes; c++) {
        PerLane<u64> mask, together;
        PerLane<double> own, smallest;
        FOR_LANES(lane) {
            const i64 f = first + (lane & 7);
            mask[lane] = f < all.num_states ? mask_of(all, f) : 0;
            own[lane] = f < all.num_states ? value[f] : 0.0;
            smallest[lane] = 0.0;
            together[lane] = mask[lane];
        }
        union_over(together, 1 | 2 | 4);
        int ends[GROUPS], num = 0;
        const int first_place = (int)all.group_start[c * (GROUPS + 1)];
        SYNC_WARP();
#pragma unroll
        for (int group = 0; group < GROUPS; group++) {
            const int stop = (int)all.group_start[c * (GROUPS + 1) + group + 1];
            for (int begin = (int)all.group_start[c * (GROUPS + 1) + group]; begin < stop; begin += 32) {
                PerLane<int> idle;
                FOR_LANES(lane) {
                    const int place = begin + lane;
                    idle[lane] = place < stop && (place_mask[place] & ~together[lane]) == 0;
                }
                const u32 which = ballot(idle);
                FOR_LANES(lane) {
                    if (idle[lane]) listed[num + count_bits(which & ((1u << lane) - 1))] = (u16)(begin + lane - first_place);
                }
                num += count_bits(which);
            }
            ends[group] = num;
        }
        SYNC_WARP();

        if (sizeof(Key) == 4) {  // others have no need of the smallest price
            FOR_LANES(lane) {
                double least = NEVER;
#pragma unroll 4
                for (int p = lane >> 3; p < num; p += 4) {
                    const int place = first_place + listed[p];
                    const bool idle = (place_mask[place] & ~mask[lane]) == 0;
                    const double here = idle ? value[first + (lane & 7) - place_offset[place]] - own[lane] : NEVER;
                    least = here < least ? here : least;
                }
                smallest[lane] = least;
            }
            least_over(smallest, 8 | 16);
        }
        FOR_LANES(lane) {
#pragma unroll 4
            for (int p = lane >> 3; p < num; p += 4) {
                const int place = first_place + listed[p];
                const bool idle = (place_mask[place] & ~mask[lane]) == 0;
                const double here = idle ? value[first + (lane & 7) - place_offset[place]] - own[lane] : NEVER;
                price[p * STATES + (lane & 7)] = Kind<Key>::price(idle, here, smallest[lane], costs.scale[c]);
            }
        }
        FOR_LANES(lane) {
            if (lane < STATES) kept[STATES + lane] = smallest[lane];
        }
        SYNC_WARP();

        PerLane<double> sum;
        FOR_LANES(lane) { sum[lane] = 0.0; }
        const int row = num > 0 ? (int)(costs.first_point[c + 1] - costs.first_point[c]) : 0;
#pragma unroll 1
        for (int tile = 0; tile < row; tile += 32 * POINTS) {
            PerLane<double> sums[STATES];
            FOR_LANES(lane) {
                const Key* cost = key + costs.first_key[c] + tile + lane;
                Key best[POINTS][STATES];
#pragma unroll
                for (int x = 0; x < POINTS; x++)
#pragma unroll
                    for (int s = 0; s < STATES; s++) best[x][s] = Kind<Key>::none();
                try_teams<Key, 0>(cost, row, listed, price, 0, ends[0], best);
                try_teams<Key, 1>(cost, row, listed, price, ends[0], ends[1], best);
                try_teams<Key, 2>(cost, row, listed, price, ends[1], ends[2], best);
                try_teams<Key, 3>(cost, row, listed, price, ends[2], ends[3], best);
                const double* rate = costs.rate + costs.first_point[c] + tile + lane;
#pragma unroll
                for (int s = 0; s < STATES; s++) sums[s][lane] = 0.0;
#pragma unroll
                for (int x = 0; x < POINTS; x++) {
                    const double here = rate[32 * x];
#pragma unroll
                    for (int s = 0; s < STATES; s++) sums[s][lane] += here * (double)best[x][s];
                }
            }
#pragma unroll
            for (int s = 0; s < STATES; s++) {
                sum_over(sums[s], 31);
                FOR_LANES(lane) {
                    if ((lane & 7) == s) sum[lane] += sums[s][lane];
                }
            }
        }
        FOR_LANES(lane) {
            const i64 f = first + lane;
            if (lane < STATES && f < all.num_states) {
                const double class_rate = all.class_rate[c];
                if (level_of(all, f) < all.needed[c])
                    kept[lane] += all.small_cost[c * all.num_small + small_place(all, f)]
                                  + class_rate * (value[0] - value[f]);
                else {
                    const double least = kept[STATES + lane];
                    kept[lane] += Kind<Key>::total(sum[lane], class_rate, costs.lowest[c], least, costs.scale[c]);
                }
            }
        }
    }
    FOR_LANES(lane) {
        const i64 f = first + lane;
        if (lane < STATES && f < all.num_states) residual[f] = kept[lane];
    }
}

#if KEY == 1
typedef double ChosenKey;
#define BLOCKS_AT_ONCE 2
#else
typedef u32 ChosenKey;
#define BLOCKS_AT_ONCE 3
#endif

#ifdef __CUDACC__
extern "C" __global__ void __launch_bounds__(32 * WARPS, BLOCKS_AT_ONCE * 4 / WARPS)
bellman(const Problem* all, const Costs* costs, const ChosenKey* key, const u64* place_mask, const i64* place_offset,
        const double* value, double* residual) {
    extern __shared__ Quad shared[];
    const i64 places = costs->most_places, warp = threadIdx.x / 32;
    double* kept = (double*)shared;
    ChosenKey* prices = (ChosenKey*)(kept + WARPS * 2 * STATES);
    u16* lists = (u16*)(prices + WARPS * places * STATES);
    const i64 first = (blockIdx.x * (i64)WARPS + warp) * STATES;
    if (first >= all->num_states) return;
    bellman_of<ChosenKey>(
        *all, *costs, key, place_mask, place_offset, value, residual, first,
        prices + warp * places * STATES, lists + warp * places, kept + warp * 2 * STATES);
}
#else
extern "C" void
bellman(const Problem* all, const Costs* costs, const ChosenKey* key, const u64* place_mask, const i64* place_offset,
        const double* value, double* residual) {
    const i64 places = costs->most_places;
    double kept[2 * STATES];
    Pair* prices = new Pair[places * STATES];
    u16* listed = new u16[places];
    for (i64 first = 0; first < all->num_states; first += STATES)
        bellman_of<ChosenKey>(
            *all, *costs, key, place_mask, place_offset, value, residual, first, (ChosenKey*)prices, listed, kept);
    delete[] prices;
    delete[] listed;
}
#endif

// What a policy does. Rule 0 follows an `order` [points, stations]; rule 1 is greedy for the values `rule_value`; rule 2
// reads a `table` [points, states] of teams. `cost` is [points, teams].

INLINE i64 ordered_team(const Problem& all, const u8* order, i64 f, i64 j) {
    i64 code = 0, size = 0;
    for (i64 position = 0; position < all.num_stations && size < all.point_needed[j]; position++) {
        const i64 i = order[j * all.num_stations + position];
        for (i64 idle = idle_at(all, f, i); idle > 0 && size < all.point_needed[j]; idle--, size++)
            code = code * all.base + i + 1;
    }
    return all.number_of_code[code];
}

INLINE i64 greedy_team(const Problem& all, const double* cost, const double* value, i64 f, i64 j) {
    const int level = level_of(all, f);
    const i64 size = all.point_needed[j] < level ? all.point_needed[j] : level;
    const u64 busy = ~mask_of(all, f);
    i64 team = all.first_of_size[size];
    double best = NEVER;
    for (i64 t = team; t < all.first_of_size[size + 1]; t++)
        if ((all.team_mask[t] & busy) == 0) {
            // Less the own value, so that rounding is that of prices, not of values.
            const double sum = cost[j * all.num_teams + t] + (value[f - all.team_offset[t]] - value[f]);
            if (sum < best) best = sum, team = t;
        }
    return team;
}

INLINE i64 team_of(
    const Problem& all, i64 rule, const void* given, const double* cost, const double* rule_value, i64 f, i64 j) {
    if (rule == 0) return ordered_team(all, (const u8*)given, f, j);
    if (rule == 1) return greedy_team(all, cost, rule_value, f, j);
    return ((const u16*)given)[j * all.num_states + f];
}

// The residuals at `value`, or the mere rates of the cost where there is none; `counted` [points, teams] is what counts.
KERNEL(policy)(
    const Problem* all, i64 rule, const void* given, const double* cost, const double* rule_value,
    const double* counted, const double* value, double* residual) {
    FOR_ALL(f, all->num_states) {
        double total = 0.0, own = value ? value[f] : 0.0;
        for (i64 j = 0; j < all->num_points; j++) {
            const i64 team = team_of(*all, rule, given, cost, rule_value, f, j);
            const double change = value ? value[f - all->team_offset[team]] - own : 0.0;
            total += all->point_rate[j] * (counted[j * all->num_teams + team] + change);
        }
        for (i64 i = 0; value && i < all->num_stations; i++) {
            const i64 busy = all->trucks[i] - idle_at(*all, f, i);
            if (busy > 0) total += (double)busy * all->returns_per_day * (value[f + all->stride[i]] - own);
        }
        residual[f] = total;
    }
}

KERNEL(choices)(const Problem* all, const double* cost, const double* rule_value, u16* table) {
    FOR_ALL(f, all->num_states) {
        for (i64 j = 0; j < all->num_points; j++)
            table[j * all->num_states + f] = (u16)greedy_team(*all, cost, rule_value, f, j);
    }
}

// `found` [states] is 0 before.
KERNEL(arriving)(
    const Problem* all, i64 rule, const void* given, const double* cost, const double* rule_value,
    const double* probability, double* found) {
    FOR_ALL(f, all->num_states) {
        for (i64 j = 0; j < all->num_points; j++) {
            const i64 team = team_of(*all, rule, given, cost, rule_value, f, j);
            add_to(&found[f - all->team_offset[team]], all->point_rate[j] * probability[f]);
        }
    }
}

// `use` [copies, teams] is 0 before; several copies, so that few threads add to the same number.
KERNEL(team_use)(
    const Problem* all, i64 rule, const void* given, const double* cost, const double* rule_value,
    const double* probability, i64 copies, double* use) {
    FOR_ALL(f, all->num_states) {
        for (i64 j = 0; j < all->num_points; j++) {
            const i64 team = team_of(*all, rule, given, cost, rule_value, f, j);
            add_to(&use[f / 32 % copies * all->num_teams + team], all->point_rate[j] * probability[f]);
        }
    }
}

// With m busy trucks at a station, x(m) = Σ_l binomial(m, l) b(l); returns take b(l) to -μ l b(l). Mode 0 puts b in the
// place of x, mode 1 x in the place of b; modes 2 and 3 are the transposes of modes 1 and 0. For one station at a time,
// or for up to four stations of one truck that stand side by side: `axes`, with `stride` that of the last of them.
INLINE void change_pair(double& busy, double& idle, i64 mode) {
    if (mode == 0) busy -= idle;
    else if (mode == 1) busy += idle;
    else if (mode == 2) idle += busy;
    else idle -= busy;
}

template <int AXES> INLINE void change_singles(i64 num_states, double* x, i64 stride, i64 mode) {
    FOR_ALL(fibre, num_states >> AXES) {
        double* from = x + (fibre / stride << AXES) * stride + fibre % stride;
        double held[1 << AXES];
#pragma unroll
        for (int n = 0; n < 1 << AXES; n++) held[n] = from[n * stride];
#pragma unroll
        for (int axis = 0; axis < AXES; axis++)
#pragma unroll
            for (int n = 0; n < 1 << AXES; n++)
                if (!(n >> axis & 1)) change_pair(held[n], held[n | 1 << axis], mode);
#pragma unroll
        for (int n = 0; n < 1 << AXES; n++) from[n * stride] = held[n];
    }
}

KERNEL(returns)(i64 num_states, double* x, i64 stride, i64 trucks, i64 axes, i64 mode) {
    if (axes == 4) change_singles<4>(num_states, x, stride, mode);
    else if (axes == 3) change_singles<3>(num_states, x, stride, mode);
    else if (axes == 2) change_singles<2>(num_states, x, stride, mode);
    else if (trucks == 1) change_singles<1>(num_states, x, stride, mode);
    else {
        FOR_ALL(fibre, num_states / (trucks + 1)) {
            double* none_busy = x + (fibre / stride * (trucks + 1) + trucks) * stride + fibre % stride;
            if (mode == 0 || mode == 2) {
                for (i64 r = 1; r <= trucks; r++)
                    for (i64 m = trucks; m >= r; m--) change_pair(none_busy[-m * stride], none_busy[(1 - m) * stride], mode);
            } else {
                for (i64 r = trucks; r >= 1; r--)
                    for (i64 m = r; m <= trucks; m++) change_pair(none_busy[-m * stride], none_busy[(1 - m) * stride], mode);
            }
        }
    }
}

// The state with no busy truck is the part that is the same everywhere; `drop` sets it to 0.
KERNEL(divide)(const Problem* all, double* x, i64 drop) {
    FOR_ALL(f, all->num_states) {
        const double busy = (double)(all->num_levels - 1 - level_of(*all, f));
        x[f] = drop && f == all->num_states - 1 ? 0.0 : x[f] / (all->total_rate + all->returns_per_day * busy);
    }
}

KERNEL(centre)(const Problem* all, double* x, const double* by_level) {
    FOR_ALL(f, all->num_states) x[f] -= by_level[level_of(*all, f)];
}

KERNEL(spread)(const Problem* all, double* x, const double* by_level) {
    FOR_ALL(f, all->num_states) x[f] = by_level[level_of(*all, f)];
}

// `found` [blocks, 3, levels]: for the states of each block of threads the lowest and highest residual, the largest |h|.
KERNEL(extremes)(const Problem* all, const double* value, const double* residual, double* found) {
    SHARED u64 lowest[MOST_LEVELS], highest[MOST_LEVELS], largest[MOST_LEVELS];
    if (FIRST_THREAD)
        for (i64 n = 0; n < all->num_levels; n++) {
            lowest[n] = ordered(INFINITE);
            highest[n] = ordered(-INFINITE);
            largest[n] = ordered(0.0);
        }
    SYNC_BLOCK();
    FOR_ALL(f, all->num_states) {
        const int n = level_of(*all, f);
        const double own = value[f];
        bring_down(&lowest[n], ordered(residual[f]));
        bring_up(&highest[n], ordered(residual[f]));
        bring_up(&largest[n], ordered(own < 0.0 ? -own : own));
    }
    SYNC_BLOCK();
    if (FIRST_THREAD)
        for (i64 n = 0; n < all->num_levels; n++) {
            found[(3 * BLOCK + 0) * all->num_levels + n] = unordered(lowest[n]);
            found[(3 * BLOCK + 1) * all->num_levels + n] = unordered(highest[n]);
            found[(3 * BLOCK + 2) * all->num_levels + n] = unordered(largest[n]);
        }
}

struct Arrays {
    double* of[MOST_ARRAYS];
};

// `found` [warps of the grid, count]: the parts of Σ_f weight(level) x(f) y(f), for each y of `others`. Then base += x.
KERNEL(products)(
    const Problem* all, const double* x, double* base, i64 count, const Arrays* others, const double* weight,
    double* found) {
    PerLane<double> sums[MOST_ARRAYS];
    FOR_LANES(lane) {
#pragma unroll
        for (int n = 0; n < MOST_ARRAYS; n++) sums[n][lane] = 0.0;
        if (LANES_HELD == 1 || lane == 0)
            FOR_ALL(f, all->num_states) {
                const double own = x[f], weighted = own * weight[level_of(*all, f)];
#pragma unroll
                for (int n = 0; n < MOST_ARRAYS; n++)
                    if (n < count) sums[n][lane] += weighted * others->of[n][f];
                base[f] += own;
            }
    }
#pragma unroll
    for (int n = 0; n < MOST_ARRAYS; n++)
        if (n < count) {
            sum_over(sums[n], 31);
            FOR_LANES(lane) {
                if (lane == 0) found[WARP * count + n] = sums[n][lane];
            }
        }
}

// x -= y, and `found` [warps of the grid]: the parts of Σ_f |x(f)| after that.
KERNEL(differ)(i64 num_states, double* x, const double* y, double* found) {
    PerLane<double> sum;
    FOR_LANES(lane) {
        sum[lane] = 0.0;
        if (LANES_HELD == 1 || lane == 0)
            FOR_ALL(f, num_states) {
                x[f] -= y[f];
                sum[lane] += x[f] < 0.0 ? -x[f] : x[f];
            }
    }
    sum_over(sum, 31);
    FOR_LANES(lane) {
        if (lane == 0) found[WARP] = sum[lane];
    }
}

KERNEL(combine)(i64 num_states, i64 count, const Arrays* given, const double* weight, double* out) {
    FOR_ALL(f, num_states) {
        double total = 0.0;
#pragma unroll
        for (int n = 0; n < MOST_ARRAYS; n++)
            if (n < count) total += weight[n] * given->of[n][f];
        out[f] = total;
    }
}
