"""The laws of times as the kernels draw from them: X = fixed m + loose m Y with Y of mean 1.

Where driving has a scale θ, X = fixed m + a gamma time of mean loose m and scale θ, and of a shared link the part q of
that is drawn once for all trucks and the rest for each: see `runcard.response.laws`.
"""

from collections.abc import Callable, Mapping
from math import log1p, sqrt
from typing import Any, Final, NamedTuple

from runcard.city.model import Driving
from runcard.response.laws import LEAST_CV, branches
from runcard.simulate.kernels.draws import EXPONENTIAL, FIXED, GAMMA, LAWS

SHAPES: Final[Mapping[str, Callable[[Any, Any], float]]] = {
    "gamma": lambda cv, _: 1.0 / cv**2,
    "lognormal": lambda cv, _: sqrt(log1p(cv**2)),
    "hyperexponential": lambda cv, _: branches(cv)[0][0],
    "pareto": lambda _, tail_index: tail_index,
}
"""The parameter of a law by its coefficient of variation and its tail index; other laws have none."""


class SampledLaw(NamedTuple):
    """One law: its kind, its only parameter, and the fixed and the random part of the mean."""

    kind: int
    shape: float
    """Gamma: its shape. Lognormal: the deviation of the logarithm. Hyperexponential: the chance of the short branch.
    Pareto: its tail index."""
    fixed: float
    loose: float


def sampled_law(model: str, cv: float | None = None, tail_index: float | None = None, fixed: float = 0.0) -> SampledLaw:
    """The law of a model; with a variation next to 0 the time is fixed."""
    loose = 1.0 - fixed
    if model == "fixed" or (cv is not None and cv < LEAST_CV):
        return SampledLaw(FIXED, 1.0, fixed, loose)
    shape = SHAPES[model](cv, tail_index) if model in SHAPES else 1.0
    return SampledLaw(LAWS.index(model), shape, fixed, loose)


class LinkLaws(NamedTuple):
    """The time on a link: with a chance, all trucks of an incident meet the same delay, else each meets its own."""

    chance: float
    together: SampledLaw
    apart: SampledLaw
    scale: float = 0.0
    """In minutes; more than 0: a part, in place of a chance, of the delay is the same for all trucks."""


def link_laws(driving: Driving, shared_delay: float) -> LinkLaws:
    """The laws of the time on a link; a truck alone on it meets the mixture of both."""
    if driving.scale_minutes is not None:
        law = SampledLaw(GAMMA, 1.0, driving.fixed_part, 1.0 - driving.fixed_part)  # its shape is by the mean
        return LinkLaws(float(shared_delay), law, law, float(driving.scale_minutes))
    law = sampled_law(driving.model, driving.cv, driving.tail_index, driving.fixed_part)
    if driving.coupled_branch is None:
        return LinkLaws(float(shared_delay), law, law)
    assert driving.cv is not None
    short, long = branches(driving.cv)
    (chance, together), (_, apart) = (short, long) if driving.coupled_branch == "short" else (long, short)
    fixed, loose = driving.fixed_part, 1.0 - driving.fixed_part
    ours, own = (SampledLaw(EXPONENTIAL, 1.0, fixed, loose * mean) for mean in (together, apart))
    return LinkLaws(chance, ours, own)
