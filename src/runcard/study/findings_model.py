"""Findings on the model: the rate of the uniformised chain, and Proposition 1.

**τ.** From a state with n of N idle trucks the paper's chain moves at rate Σλ + μ(N-n) and stays at rate μn. So it must
be τ = Σλ + μN. With another τ there is left for staying the chance

    1 - (Σλ + μ(N-n)) / τ,

or, where it stays at rate μn, the chances add up to (Σλ + μN) / τ. In its text τ = Σλ + N, without the μ: right in the
unit of time in which μ = 1, and in no other.

**Proposition 1**, as printed, for w0, w1, w2 > 0:

    P(Y0 + min(Y1, Y2) > t) = Σ_{i<w0} e^(-t) t^i/i! + Σ_{n<w1} Σ_{m<w2} Σ_{l<=n+m} (-1)^(n+m-l) C(n+m, l) ×
                              e^(-2t) t^l / (n! m! (w0-1)!) ∫_0^t y^(n+m-l+w0-1) e^y dy.

The integral is t^(p+1) Σ_k t^k / (k! (p+1+k)), positive terms only; what cancels is the sum over l. It is evaluated in
double precision and with `DIGITS` digits, and compared with `response.erlang`. The proposition excludes empty parts:
w1 = 0 or w2 = 0, where one route contains the other or a station is at the incident.
"""

from decimal import Decimal, localcontext
from functools import cache
from math import comb, exp, factorial
from typing import Any, Final

import numpy as np

from runcard.city.grid import generate_grid
from runcard.mdp.from_city import dispatch_problem
from runcard.response.erlang import coin_table, tail_of_parts, target_tables
from runcard.response.routes import find_routes
from runcard.study.evidence import Evidence, Graphs, setting_of
from runcard.study.tasks import city_of

UNITS: Final = {"days": 1.0, "hours": 24.0, "minutes": 1440.0}
"""How many of each there are in a day."""

PARTS: Final = ((1, 2, 2), (3, 6, 6), (5, 10, 10), (7, 14, 14), (10, 20, 20), (20, 40, 40))
"""(w0, w1, w2) of two routes of 3 to 60 links; the target is 0.8 times as many."""
DIGITS: Final = 120
NUM_TERMS: Final = 400
"""Of the series of an integral: enough for that many digits."""
RIGHT: Final = 1e-10
WRONG: Final = 0.1
"""Relative errors."""


def derive_tau(graphs: Graphs) -> Evidence:
    """Finding 1, in a small city."""
    problem = dispatch_problem(generate_grid(side=3, num_stations=3, load=0.1, seed=graphs.seed), minutes=False)
    num, idle = problem.num_trucks, np.arange(problem.num_trucks + 1)
    rows, of_text, of_list = [], [], []
    for unit, per_day in UNITS.items():
        incidents, mu = problem.total_incidents_per_day / per_day, problem.returns_per_day / per_day
        text, listed = incidents + num, incidents + mu * num
        moves = incidents + mu * (num - idle)
        of_text.append(float((1.0 - moves / text).min()))
        of_list.append(float((1.0 - moves / listed).min()))
        rows.append(
            (unit, f"{mu:.3g}", f"{text:.4g}", f"{of_text[-1]:.3g}", f"{listed / text:.3g}", f"{listed:.4g}",
             f"{of_list[-1]:.3g}")
        )  # fmt: skip
    return Evidence(
        heads=("time in", "μ", "τ of the text", "least staying", "adds up to", "τ of the list", "least staying"),
        rows=tuple(rows),
        notes=(
            f"{num} trucks that are busy for an hour, and {problem.total_incidents_per_day:.3g} incidents a day.",
            "The least chance of staying in a state, and what the chances of a state add up to with the text's τ.",
            "A chance below 0 is none, and chances that do not add up to 1 are not those of a chain.",
            "With the factor μ, as in the list of notations, neither happens in any unit of time.",
        ),
        holds=min(of_text) < 0.0 and min(of_list) > -1e-12,
    )


def proposition_one(w0: int, w1: int, w2: int, t: Any) -> Any:
    """P(Y0 + min(Y1, Y2) > t) as the paper prints it, in the precision of t, a float or a Decimal."""
    once = exp(-t) if isinstance(t, float) else (-t).exp()

    @cache
    def integral(power: int) -> Any:
        weight, total = t / t, t - t
        for k in range(NUM_TERMS):
            total += weight / (power + 1 + k)
            weight = weight * t / (k + 1)
        return total * t ** (power + 1)

    found = sum(once * t**i / factorial(i) for i in range(w0))
    for n in range(w1):
        for m in range(w2):
            below = factorial(n) * factorial(m) * factorial(w0 - 1)
            for power in range(n + m + 1):
                sign, rest = (-1) ** (n + m - power), n + m - power + w0 - 1
                found += sign * comb(n + m, power) * (once * once * t**power / below) * integral(rest)
    return found


def derive_proposition(graphs: Graphs) -> Evidence:
    """Finding 9, on routes of rising length; and how often a part is empty in random cities."""
    rows, of_double, of_digits = [], [], []
    for w0, w1, w2 in PARTS:
        t, size = 0.8 * (w0 + w1), max(w0, w1, w2)
        ours = float(tail_of_parts(target_tables(t, size), coin_table(size), w0, w1, w2))
        double = proposition_one(w0, w1, w2, t)
        with localcontext() as context:
            context.prec = DIGITS
            digits = float(proposition_one(w0, w1, w2, Decimal(t)))
        of_double.append(abs(double / digits - 1.0))
        of_digits.append(abs(ours / digits - 1.0))
        rows.append(
            (str(w0 + w1), f"{w0}, {w1}, {w2}", f"{t:g}", f"{double:.6g}", f"{digits:.6g}", f"{of_digits[-1]:.0e}")
        )
    (shares,) = graphs.measure(empty_parts, [()])
    empty = float(shares.mean())
    return Evidence(
        heads=("links", "w0, w1, w2", "t", "printed, in double", f"printed, {DIGITS} digits", "relative error of ours"),
        rows=tuple(rows),
        notes=(
            "The terms of the printed sum alternate and grow far beyond it; those of ours are positive.",
            f"In {graphs.num} random cities of 5 trucks {100 * empty:.0f} % of the pairs of routes have an empty part: "
            "one route contains the other. The proposition excludes them.",
        ),
        holds=max(of_digits) < RIGHT and of_double[0] < RIGHT and of_double[-1] > WRONG and empty > 0.0,
    )


def empty_parts(*, graph: int, seed: int) -> list[float]:
    """The part of the pairs of stations and demand points of a city in which w1 or w2 is 0."""
    routes = find_routes(city_of(setting_of(5, 0.1), graph, shared_delay=1.0, seed=seed))
    first, second = np.triu_indices(len(routes.num_links), 1)
    shared = routes.shared_links[first, second]
    empty = (routes.num_links[first] == shared) | (routes.num_links[second] == shared)
    return [float(empty.mean())]
