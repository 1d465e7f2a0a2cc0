"""Fitted numbers: each with its interval, its sample, and whether somebody overruled it.

Intervals are at 95 %: exact ones for counts (Garwood for Poisson, Wilson for parts), normal ones for means and for what
comes from estimating equations, with the spread of whole incidents, whose units may be delayed together.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2, norm

from runcard.city.conditions import near, plain
from runcard.errors import InputError

LEVEL: Final = 0.95
Z: Final = float(norm.ppf(0.5 + LEVEL / 2.0))

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Fitted:
    """A number of the city and where it comes from."""

    name: str
    value: float
    low: float
    high: float
    sample: int
    """How many rows, incidents or pairs it comes from."""
    of: str
    """What these are."""
    note: str = ""
    fitted: float | None = None
    """What the log says, where somebody overruled it."""

    def document(self) -> dict[str, Any]:
        """The number as plain values, ready for JSON."""
        names = ("name", "value", "low", "high", "sample", "of", "note", "fitted")
        return {name: getattr(self, name) for name in names if getattr(self, name) not in ("", None)}


def overruled(numbers: list[Fitted], by: Mapping[str, float]) -> list[Fitted]:
    """The numbers, those named in `by` replaced."""
    known = [one.name for one in numbers]
    for name, value in by.items():
        if name not in known:
            raise InputError(f"--set {plain(name)}: expected the name of a fitted number{near(name, known)}")
        if not np.isfinite(value):
            raise InputError(f"--set {plain(name)}: expected a number, got {value}")
    return [
        replace(one, value=float(by[one.name]), fitted=one.value, note="overruled") if one.name in by else one
        for one in numbers
    ]


def poisson_interval(count: float) -> tuple[float, float]:
    """Garwood's interval of the mean of a Poisson count."""
    tail = (1.0 - LEVEL) / 2.0
    low = float(chi2.ppf(tail, 2.0 * count)) / 2.0 if count > 0 else 0.0
    return low, float(chi2.ppf(1.0 - tail, 2.0 * (count + 1.0))) / 2.0


def wilson_interval(count: float, of: float) -> tuple[float, float]:
    """Wilson's interval of a part."""
    part = count / of
    middle, half = part + Z**2 / (2.0 * of), Z * np.sqrt(part * (1.0 - part) / of + Z**2 / (4.0 * of**2))
    return float(max(0.0, (middle - half) / (1.0 + Z**2 / of))), float(min(1.0, (middle + half) / (1.0 + Z**2 / of)))


def mean_interval(values: Floats) -> tuple[float, float, float]:
    """The mean and its interval."""
    mean = float(values.mean())
    half = Z * float(values.std(ddof=1)) / np.sqrt(len(values)) if len(values) > 1 else np.inf
    return mean, mean - half, mean + half


def cluster_sums(values: Floats, clusters: NDArray[np.int64]) -> Floats:
    """[cluster, ...] the sums of rows by cluster."""
    _, place = np.unique(clusters, return_inverse=True)
    found = np.zeros((int(place.max()) + 1, *values.shape[1:]))
    np.add.at(found, place, values)
    return found
