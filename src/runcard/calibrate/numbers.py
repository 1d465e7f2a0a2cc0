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

from runcard.city.conditions import LEAST_MINUTES, MAX_MINUTES, MAX_TRUCKS_PER_INCIDENT, near, plain
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
        """The number as plain values, ready for JSON; None is the end of an interval that has none."""
        names = ("name", "value", "low", "high", "sample", "of", "note", "fitted")
        found = {name: getattr(self, name) for name in names if getattr(self, name) not in ("", None)}
        return found | {name: finite_or_none(found[name]) for name in ("low", "high")}


def finite_or_none(value: float) -> float | None:
    """The value, or None if JSON has no word for it."""
    return float(value) if np.isfinite(value) else None


def overruled(numbers: list[Fitted], by: Mapping[str, float]) -> list[Fitted]:
    """The numbers, those named in `by` replaced."""
    known = [one.name for one in numbers]
    for name in by:
        if name not in known:
            raise InputError(f"--set {plain(name)}: expected the name of a fitted number{near(name, known)}")
    check_ranges(by)
    return [_overruled(one, by[one.name]) if one.name in by else one for one in numbers]


def _overruled(one: Fitted, value: float) -> Fitted:
    """A number that somebody knows better, and so without an interval."""
    return replace(one, value=float(value), low=float(value), high=float(value), fitted=one.value, note="overruled")


def check_ranges(by: Mapping[str, float]) -> None:
    """Raise an InputError for a value that no number of that name can have."""
    for name, value in by.items():
        least, most, words = _range_of(name)
        is_whole = name.startswith("sent.") or is_shared_turnout(name)
        if not least <= value <= most or (is_whole and value != round(value)):
            raise InputError(f"--set {plain(name)}: expected {words}, got {value:g}")


def _range_of(name: str) -> tuple[float, float, str]:
    """The smallest and the largest value that a number can have, and words for both."""
    if name == "shared_delay":
        return 0.0, 1.0, "a number from 0 to 1"
    if name.startswith("sent."):
        return 0.0, MAX_TRUCKS_PER_INCIDENT, f"a whole number from 0 to {MAX_TRUCKS_PER_INCIDENT}"
    if is_shared_turnout(name):
        return 0.0, 1.0, "0 or 1"
    if name == "driving.start_minutes" or name.startswith("turnout."):
        return 0.0, MAX_MINUTES, "a number >= 0"
    return LEAST_MINUTES, MAX_MINUTES, "a number > 0"


def is_shared_turnout(name: str) -> bool:
    """Whether that is the name of the number which says if units of a kind leave together."""
    return name.startswith("turnout.") and name.endswith(".shared")


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


def mean_interval(values: Floats, clusters: NDArray[np.int64] | None = None) -> tuple[float, float, float]:
    """The mean and its interval; values of one cluster, such as an incident, may go together."""
    mean = float(values.mean())
    off = values - mean if clusters is None else cluster_sums(values - mean, clusters)
    if len(off) < 2:
        return mean, -np.inf, np.inf
    half = Z * float(np.sqrt((off**2).sum() * len(off) / (len(off) - 1.0))) / len(values)
    return mean, mean - half, mean + half


def cluster_sums(values: Floats, clusters: NDArray[np.int64]) -> Floats:
    """[cluster, ...] the sums of rows by cluster."""
    _, place = np.unique(clusters, return_inverse=True)
    found = np.zeros((int(place.max()) + 1, *values.shape[1:]))
    np.add.at(found, place, values)
    return found
