"""The findings about the paper: what it leaves open or gets wrong, each of them derived again on demand.

A finding holds if what was found supports its claim; with few graphs, the standard errors may be too large for that.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from runcard.errors import InputError
from runcard.study.evidence import Evidence, Graphs, num_in_paper
from runcard.study.findings_cities import derive_late_fractions, derive_rates, derive_sparseness
from runcard.study.findings_model import derive_proposition, derive_tau
from runcard.study.findings_queueing import derive_gap, derive_horizon, derive_normalisation, derive_request_rates


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What we found about the paper."""

    number: int
    title: str
    claim: str


FINDINGS: Final = (
    Finding(
        number=1,
        title="τ lacks a factor μ",
        claim="τ = Σλ + ΣC in the text of Section 3.2 is wrong unless μ = 1; the list of notations has Σλ + μΣC.",
    ),
    Finding(
        number=2,
        title="Sparseness is the part of the links that is kept",
        claim="Read as the part kept, s ~ U(0.4, 1) agrees with Table 3; read as the part removed it does not.",
    ),
    Finding(
        number=3,
        title="The distribution of the rates",
        claim="The paper does not give it. λ_j ~ U(0, 1), scaled to the load, agrees with Table 3.",
    ),
    Finding(
        number=4,
        title="OSIA's T is 1/μ",
        claim="The paper does not give it. Of 0.5, 1, 2 and 4 busy times, 1 agrees with Table 3, and best.",
    ),
    Finding(
        number=5,
        title="OSIA's normalisation is swapped",
        claim="The weight of state 0, no idle truck, is ρ/(1+ρ), not 1/(1+ρ). Corrected, OSIA keeps 98 % of the "
        "optimum's gain instead of 57 %.",
    ),
    Finding(
        number=6,
        title="OSIA's request rates count incidents twice",
        claim="They count an incident again at a truck that was already going. With exact rates OSIA keeps more of the "
        "optimum's gain at every load.",
    ),
    Finding(
        number=7,
        title="The late fractions of Table 3 are too small",
        claim="FLAR is about 1/17 of what the paper's own model gives, at every I and ρ.",
    ),
    Finding(
        number=8,
        title="OSIA's gap is not about 2 %",
        claim="In Table 4 it is up to 16 %.",
    ),
    Finding(
        number=9,
        title="Proposition 1 cancels, and excludes empty parts",
        claim="The printed sum is right, but useless in double precision when routes are long.",
    ),
)

_DERIVE: Final[dict[int, Callable[[Graphs], Evidence]]] = {
    1: derive_tau,
    2: derive_sparseness,
    3: derive_rates,
    4: derive_horizon,
    5: derive_normalisation,
    6: derive_request_rates,
    7: derive_late_fractions,
    8: derive_gap,
    9: derive_proposition,
}


@dataclass(frozen=True, kw_only=True)
class Derivation:
    """A finding, and what was found again."""

    finding: Finding
    found: Evidence

    @property
    def lines(self) -> tuple[str, ...]:
        """A small table with its columns under each other, then sentences."""
        return self.found.lines

    @property
    def holds(self) -> bool:
        """Whether what was found supports the claim."""
        return self.found.holds


def derive(number: int, *, num_graphs: int | None = None, seed: int = 1, jobs: int = 1) -> Derivation:
    """The finding of a number, derived again on as many random graphs as the paper has, or `num_graphs`."""
    for finding in FINDINGS:
        if finding.number == number:
            graphs = Graphs(num=num_in_paper() if num_graphs is None else num_graphs, seed=seed, jobs=jobs)
            return Derivation(finding=finding, found=_DERIVE[number](graphs))
    raise InputError(f"expected a finding from 1 to {len(FINDINGS)}, got {number!r}")
