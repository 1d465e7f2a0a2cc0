"""What is sent to each type of incident, and how long it is busy.

The number of units of a kind that a type gets is the most common one; the mean is told beside it. A kind that most
incidents of a type do not get is not sent to it. A unit is busy from dispatch until it is free, also if it never
arrives.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from runcard.calibrate.log import Log
from runcard.calibrate.numbers import mean_interval, wilson_interval
from runcard.city.conditions import MAX_TRUCKS_PER_INCIDENT

LEAST_TIMES: Final = 10
"""A mean of fewer busy times is not a number of its own."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SentFit:
    """How many units of a kind go to a type: the most common number, its part of the incidents, and the mean."""

    type: str
    kind: str
    number: int
    share: float
    share_low: float
    share_high: float
    mean: float
    num_incidents: int
    shares: tuple[float, ...]
    """The part of incidents that get 0, 1, 2, ... units; the last stands for all from there on."""


@dataclass(frozen=True, slots=True)
class BusyFit:
    """The mean busy minutes of a kind at a type, or at all types where it is empty."""

    type: str
    kind: str
    mean_minutes: float
    low: float
    high: float
    num_times: int


def fit_sent(log: Log, types: Ints, num_types: int) -> list[SentFit]:
    """What is sent to each type, given the type of each incident; -1: it does not count."""
    num_kinds = len(log.kinds)
    sent = np.zeros((len(log.incidents), num_kinds), np.int64)
    responses = log.responses
    known = responses["kind"] >= 0
    np.add.at(sent, (responses["incident"][known], responses["kind"][known]), 1)
    found = []
    for t in range(num_types):
        own = sent[(types == t) & (sent.sum(axis=1) > 0)]
        for k in range(num_kinds):
            counts = np.bincount(np.minimum(own[:, k], MAX_TRUCKS_PER_INCIDENT), minlength=MAX_TRUCKS_PER_INCIDENT + 1)
            if not len(own):
                continue
            number = int(counts.argmax())
            low, high = wilson_interval(int(counts[number]), len(own))
            shares = tuple((counts / len(own)).tolist())
            mean = float(own[:, k].mean())
            name = log.types[t] if log.types else ""
            found.append(SentFit(name, log.kinds[k], number, shares[number], low, high, mean, len(own), shares))
    return found


def fit_busy(log: Log, types: Ints, num_types: int) -> list[BusyFit]:
    """The mean busy minutes by kind, and by kind and type."""
    responses = log.responses
    minutes = (responses["available"] - responses["dispatched"]) / 60.0
    of_type = types[responses["incident"]]
    found = []
    for k, kind in enumerate(log.kinds):
        for t in (-1, *range(num_types)):
            own = (responses["kind"] == k) & np.isfinite(minutes) & (of_type >= 0 if t < 0 else of_type == t)
            if own.sum() >= LEAST_TIMES:
                name = "" if t < 0 else log.types[t] if log.types else ""
                found.append(
                    BusyFit(name, kind, *mean_interval(minutes[own], responses["incident"][own]), int(own.sum()))
                )
    return found
