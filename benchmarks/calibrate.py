"""Whether fitted numbers lie inside their intervals, and how quickly a log and roads are read.

A known city makes up logs of 30,000 incidents. A fit to each says for every number an interval that should hold the
truth in 95 of 100 logs. With n logs, c of them inside, the binomial law says how far c may be from 0.95 n: a number
passes if its c is not in the outer 1e-4 of that law. Numbers of one log depend on each other, so the total of all of
them is judged by how much it differs between logs.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from benchmarks.cases import Row
from benchmarks.known_city import SHARED_DELAY, known_cities, log_format, truth_of
from benchmarks.raw_files import raw_file_cases
from runcard.calibrate.fit import Fit, fit_city
from runcard.calibrate.generator import generate_log
from runcard.calibrate.log import read_log
from runcard.calibrate.numbers import LEVEL, Z

PROCESSES: Final = 2
CLOSE: Final = 0.05
"""What shared_delay may be off by."""
RARE: Final = 1e-4

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Found:
    """What a fit to one log says: by name the value, its interval and the truth; and the rates of areas."""

    numbers: Mapping[str, tuple[float, float, float, float]]
    areas_held: float
    """The part of the intervals of (area, type) that hold the truth."""
    area_errors: tuple[float, float]
    """The relative errors of smoothed rates and of counts alone, root mean square."""


def fitted(seed: int, incidents: int) -> Fit:
    """The fit to a made-up log."""
    before, city = known_cities()
    mapping = log_format()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "log.csv"
        generate_log(city, mapping, incidents=incidents, seed=seed).write(path)
        return fit_city(before, read_log(path, mapping))


def found_in(seed: int, incidents: int) -> Found:
    """What the fit to a made-up log says, beside the truth; a number that it does not find is nowhere."""
    fit, (before, city) = fitted(seed, incidents), known_cities()
    by_name = {one.name: one for one in fit.numbers}
    nowhere = (math.nan, math.nan, math.nan)
    numbers = {
        name: (*((by_name[name].value, by_name[name].low, by_name[name].high) if name in by_name else nowhere), truth)
        for name, truth in truth_of(city).items()
    }
    rate = {(point.node_id, point.type): point.incidents_per_day for point in before.demand}
    truth = np.array([[rate[node, name] for name in fit.types] for node in fit.placed.centres])
    held = (fit.rates.low <= truth) & (truth <= fit.rates.high)
    errors = [float(np.sqrt(((one / truth - 1.0) ** 2).mean())) for one in
              (fit.rates.per_day, fit.rates.counts / fit.num_days)]  # fmt: skip
    return Found(numbers, float(held.mean()), (errors[0], errors[1]))


def coverage(seeds: int, incidents: int = 30_000) -> Iterator[Row]:
    """How often intervals hold the truth, number by number and in all; shared delay to within 0.05; rates of areas."""
    # A worker that is started afresh has no threads of ours that a fork would break.
    with ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn")) as workers:
        found = list(workers.map(partial(found_in, incidents=incidents), range(1, seeds + 1)))
    yield from coverage_rows(found, incidents)


def coverage_rows(found: Sequence[Found], incidents: int) -> Iterator[Row]:
    """The same, given what the fits say."""
    seeds = len(found)
    values = {name: np.array([one.numbers[name] for one in found]) for name in found[0].numbers}
    least = int(binom.ppf(RARE, seeds, LEVEL))
    held = {name: (table[:, 1] <= table[:, 3]) & (table[:, 3] <= table[:, 2]) for name, table in values.items()}
    for name, table in values.items():
        yield _of_number(name, table, int(held[name].sum()), seeds, least)
    yield _of_all(np.array(list(held.values())).mean(axis=0))
    off = np.abs(values["shared_delay"][:, 0] - SHARED_DELAY)
    close = int((off <= CLOSE).sum())
    yield Row(
        f"shared_delay within {CLOSE} of {SHARED_DELAY}, {incidents:,} incidents",
        f"{close} of {seeds}; at most {off.max():.3f} off",
        f">= {math.ceil(0.99 * seeds)} of {seeds}",
        close >= 0.99 * seeds,
    )
    areas = np.array([one.areas_held for one in found])
    smooth, alone = np.array([one.area_errors for one in found]).mean(axis=0)
    # These intervals are exact ones of counts, which hold the truth somewhat more often than they claim.
    yield Row(
        "rates by area and type inside their intervals",
        f"{areas.mean():.1%}; relative error {smooth:.1%} smoothed, {alone:.1%} by counts alone",
        f">= {LEVEL:.0%} less 3.3 standard errors",
        bool(areas.mean() >= LEVEL - 3.3 * _error(areas)),
    )


def _error(values: Floats) -> float:
    """The standard error of a mean."""
    return float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.inf


def _of_number(name: str, table: Floats, held: int, seeds: int, least: int) -> Row:
    truth, value = float(table[0, 3]), table[:, 0]
    claimed, seen = (
        float((table[:, 2] - table[:, 1]).mean()) / (2.0 * Z),
        float(value.std(ddof=1)) if seeds > 1 else 0.0,
    )
    return Row(
        f"fitted {name}, truth {truth:.4g}",
        f"{held} of {seeds} inside; mean {value.mean():.4g}, standard error {claimed:.2g} claimed, {seen:.2g} seen",
        f">= {least} of {seeds}",
        held >= least,
    )


def _of_all(shares: Floats) -> Row:
    """All numbers together, given the part of them that is inside by log."""
    error, mean = _error(shares), float(shares.mean())
    return Row(
        "all fitted numbers inside their 95 % intervals",
        f"{mean:.2%} ± {error:.2%}",
        "95 % within 3.3 standard errors",
        abs(mean - LEVEL) <= 3.3 * error,
    )


def calibrate_cases(*, quick: bool = False, seeds: int = 100, data: Path | None = None) -> Iterator[Row]:
    """Every figure of imports and fits; those on real data only where their folder is named."""
    yield from raw_file_cases(quick=quick, data=data)
    yield from coverage(4 if quick else seeds)
