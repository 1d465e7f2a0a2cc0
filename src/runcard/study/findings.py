"""The findings about the paper: what it leaves open or gets wrong. Each is derived again on demand.

A finding holds if the evidence supports its claim. With few graphs, the standard errors may be too large for that.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from runcard.errors import InputError
from runcard.study.evidence import Evidence, Graphs, num_in_paper
from runcard.study.findings_cities import derive_late_fractions, derive_rates, derive_sparseness
from runcard.study.findings_model import derive_proposition, derive_tau
from runcard.study.findings_queueing import derive_gap, derive_horizon, derive_normalisation, derive_request_rates


class Finding(NamedTuple):
    """What we found about the paper, and what derives it again."""

    derive: Callable[[Graphs], Evidence]
    title: str
    claim: str


FINDINGS: Final = {
    1: Finding(
        derive_tau,
        "τ lacks a factor μ",
        "τ = Σλ + ΣC in the text of Section 3.2 is wrong unless μ = 1; the list of notations has Σλ + μΣC.",
    ),
    2: Finding(
        derive_sparseness,
        "Sparseness is the part of the links that is kept",
        "Read as the part kept, s ~ U(0.4, 1) agrees with Table 3; read as the part removed it does not.",
    ),
    3: Finding(
        derive_rates,
        "The distribution of the rates",
        "The paper does not give it. λ_j ~ U(0, 1), scaled to the load, agrees with Table 3.",
    ),
    4: Finding(
        derive_horizon,
        "OSIA's T is 1/μ",
        "The paper does not give it. Of 0.5, 1, 2 and 4 busy times, 1 agrees with Table 3, and best.",
    ),
    5: Finding(
        derive_normalisation,
        "OSIA's normalisation is swapped",
        "The weight of state 0, no idle truck, is ρ/(1+ρ), not 1/(1+ρ). Corrected, OSIA keeps 98 % of the "
        "optimum's gain instead of 57 %.",
    ),
    6: Finding(
        derive_request_rates,
        "OSIA's request rates count incidents twice",
        "They count an incident again at a truck that was already going. With exact rates OSIA keeps more of the "
        "optimum's gain at every load.",
    ),
    7: Finding(
        derive_late_fractions,
        "The late fractions of Table 3 are too small",
        "FLAR is about 1/17 of what the paper's own model gives, at every I and ρ.",
    ),
    8: Finding(
        derive_gap,
        "OSIA's gap is not about 2 %",
        "In Table 4 it is up to 16 %.",
    ),
    9: Finding(
        derive_proposition,
        "Proposition 1 cancels, and excludes empty parts",
        "The printed sum is right, but useless in double precision when routes are long.",
    ),
}


def derive(number: int, *, num_graphs: int | None = None, seed: int = 1, jobs: int = 1) -> Evidence:
    """The evidence for the finding of a number, on as many random graphs as the paper has, or `num_graphs`."""
    if number not in FINDINGS:
        raise InputError(f"expected a finding from 1 to {len(FINDINGS)}, got {number!r}")
    num = num_in_paper() if num_graphs is None else num_graphs
    return FINDINGS[number].derive(Graphs(num=num, seed=seed, jobs=jobs))
