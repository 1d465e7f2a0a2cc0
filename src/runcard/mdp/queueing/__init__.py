"""Trucks as queues: the approximate cost of closest-first behind `one-step-queueing` (the paper's OSIA).

**One truck.** Truck i is an M/M/1/1 queue. It is asked at rate D, and each time it goes it is busy for 1/μ on the mean.
With x = D/μ and B = x/(1+x), the chance p that it is busy within a horizon T is

    idle now:  B - B s,        busy now:  B + (1-B) s,        s = 1/n         for T = n/(μ+D),
                                                              s = (1-B)/m     for T = m/μ.

This is B + h/(DT), with h the relative cost of the queue; written so, D = 0 is no exception. The paper swaps the two
relative costs: idle now B - (1-B) s, busy now B + B s. Chances are cut off at 0 and 1.

**All trucks.** The chances p give the rates D, as if trucks were busy independently: an incident at j asks truck i if
fewer than k_j of the trucks before i in the order of j are idle. The paper counts an incident for every team that it
may ask, some of them more than once (see `rates`). A state f has the fixed point of D -> p -> D. Its value is J(f) = T
c(p), with c(p) the late incidents per day (`kernels.independent`); the price of team a is J(f-a) - J(f). Each truck of
a station is a queue of its own; the first ones are the idle ones.

**The horizon.** A disturbance that dies out like e^(-rt) and acts alone counts right for every T: spread over [0, T] it
is T (1/rT) = ∫ e^(-rt) dt. Two trucks that are away together count right for T = 2/r: T (1/rT)² = ∫ e^(-2rt) dt. The
rate is r = μ + D, because a queue that is asked more often forgets its start sooner. So the default (`relaxing`) is n =
2, and the common factor is T = 2(1-b)/μ, with b the long-run share of busy trucks, which is the same for every policy.

**The smallest fixed point.** Rates rise with every chance. Let chances rise with the rate, too (`rising`): that holds
for n >= 1, for m >= 2, and as printed. Then D -> p -> D rises, and it rises when an idle truck becomes busy. By
Tarski's theorem it has a smallest fixed point, which plain steps from p = 0 reach. It is larger for f-a than for f, so
plain steps for f-a may start from the one of f. Where the map does not rise, every search starts from p = 0.

**It is the only one** if nothing is as printed (`unique`). Truck i accepts A = D(1-p)/μ incidents per busy time, that
is

    for T = n/(μ+D):    idle now  B + xB/n,    busy now  B - B/n,
    for T = m/μ:        idle now  B + B²/m,    busy now  B - B(1-B)/m.

A rises with B, at least as fast as p does. But ΣA = Σ_j λ_j E[trucks sent]/μ falls when chances rise. A fixed point
above the smallest would have no smaller A of any truck, and no larger sum: so it has the same A, hence the same p,
hence the same D. A search may therefore start anywhere and take any steps.

**How far chances rise** when team a leaves, if the fixed point is unique. At unchanged D the trucks of a rise by s_i,
and their A falls by x_i s_i. Let δ >= 0 be the further rise of all trucks. As A rises at least as fast as p, and ΣA
falls,

    Σ δ_i <= Σ_i { A_i(f-a, D(f-a)) - A_i(f-a, D(f)) } <= Σ_i { A_i(f, D(f)) - A_i(f-a, D(f)) } = Σ_{i in a} x_i s_i.

**Pruning.** Let the chances rise from p to p + u: as if each truck n that is idle became busy with chance u_n/(1-p_n).
The team of an incident changes only if this happens to one of its own trucks. That saves at most its cost less the
least cost at j. So c falls by at most Σ u_n S_n, with

    S_n = Σ_j λ_j Σ_{b with n} P(b goes | n is idle) { cost(b, j) - least cost at j },
    price(a) >= -T Σ_{i in a} s_i (S_i + x_i max S).

A team whose own cost plus this bound exceeds the totals of all teams that are listed need not be looked at.
"""

from runcard.mdp.queueing.model import FixedPoint, TruckQueues

__all__ = ["FixedPoint", "TruckQueues"]
