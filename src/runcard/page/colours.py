"""Colours of areas on a map, and the classes of numbers that they stand for.

The ramps go through fixed colours and are even in lightness: with Y the relative luminance of a colour (IEC 61966-2-1),

    L* = 116 Y^(1/3) - 16   for Y > 0.0089,    903.3 Y   below it,

falls by equal steps from the first colour to the last, so that a print in black and white keeps the order. The light
end is yellow and the dark end brown, or one side is blue and the other orange: nobody confuses these. The two sides of
a diverging ramp are equally dark, so one of them is hatched.

Class limits are round: 1, 2 or 5 times a power of ten apart, or the roundest numbers near equal shares of the values.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import floor, log10
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

Channels = NDArray[np.float64]
"""[..., 3] red, green and blue from 0 to 1."""

LIGHT_TO_DARK: Final = ("#FFFBE0", "#FEE391", "#FEC44F", "#FB9A29", "#DB6A13", "#A8460A", "#662506", "#3A1503")
BLUE_SIDE: Final = ("#F7F7F7", "#D1E5F0", "#92C5DE", "#4393C3", "#2166AC", "#053061")
ORANGE_SIDE: Final = ("#F7F7F7", "#FDE0B6", "#FDB863", "#E08214", "#B35806", "#6B3304")
PALEST, DARKEST = 97.0, 27.0
"""L* of the ends of a ramp."""
HATCH: Final = "/"
"""The hatching of the orange side."""


@dataclass(frozen=True)
class Swatch:
    """How an area is filled: a colour, and one of the hatchings "", "/", "\\", "x" and "."."""

    colour: str
    hatch: str = ""


@dataclass(frozen=True, eq=False)
class Classes:
    """Classes of numbers: each goes up to its limit, which belongs to the next one, and the last has no limit."""

    limits: tuple[float, ...]
    """Between the classes, increasing."""
    labels: tuple[str, ...]
    """One more than the limits: such as "under 2 %", "2 to 5 %" and "5 % and more"."""

    def __len__(self) -> int:
        return len(self.labels)

    def of(self, value: float) -> int:
        """The number of the class of a value."""
        return int(np.searchsorted(self.limits, value, side="right"))

    def legend(self, swatches: Sequence[Swatch]) -> list[dict[str, str]]:
        """The legend of a layer of the map; there are as many swatches as classes."""
        pairs = zip(swatches, self.labels, strict=True)
        return [{"colour": swatch.colour, "hatch": swatch.hatch, "label": label} for swatch, label in pairs]


def sequential(num: int) -> list[Swatch]:
    """So many colours from light to dark."""
    if num == 1:
        return [Swatch(_hex(_on_ramp(LIGHT_TO_DARK, 85.0)))]
    return [Swatch(_hex(_on_ramp(LIGHT_TO_DARK, light))) for light in np.linspace(PALEST, DARKEST, num)]


def diverging(num: int) -> list[Swatch]:
    """So many colours from dark blue over white to dark orange, which is hatched; an even number has no white."""
    half = num // 2
    lights = np.linspace(35.0, 88.0 if num % 2 == 0 else 84.0, half) if half > 1 else np.full(half, 60.0)
    blue = [Swatch(_hex(_on_ramp(BLUE_SIDE, light))) for light in lights]
    orange = [Swatch(_hex(_on_ramp(ORANGE_SIDE, light)), HATCH) for light in lights[::-1]]
    return [*blue, *([Swatch(ORANGE_SIDE[0])] * (num % 2)), *orange]


def percent_label(value: float) -> str:
    """A fraction as a round percentage."""
    return f"{100.0 * value:.6g} %"


def classes_of(
    values: ArrayLike, *, num: int = 6, label: Callable[[float], str] = percent_label, symmetric: bool = False
) -> Classes:
    """About `num` classes of some values, with round limits; `label` writes a limit.

    The classes hold about equal shares of the values. If `symmetric`, they are as many below 0 as above, equally wide
    but for the last on each side, and one around 0: what a diverging ramp is for.
    """
    given = np.asarray(values, np.float64).ravel()
    given = given[np.isfinite(given)]
    limits = _around_zero(given, num) if symmetric else _equal_shares(given, num)
    texts = [label(limit) for limit in limits]
    if not texts:
        return Classes((), ("all",) if not len(given) else (label(_clean(float(given[0]))),))
    middle = [f"{_without_unit(low, high)} to {high}" for low, high in pairwise(texts)]
    return Classes(tuple(limits), (f"under {texts[0]}", *middle, f"{texts[-1]} and more"))


def _without_unit(low: str, high: str) -> str:
    """A limit without its unit where the next one has the same: 2 in "2 to 5 %"."""
    number, space, unit = low.partition(" ")
    return number if space and high.endswith(space + unit) else low


def _equal_shares(values: NDArray[np.float64], num: int) -> list[float]:
    """Round limits near those of equal shares, each with values on both sides."""
    if not len(values) or values.min() == values.max():
        return []
    wanted = np.unique(np.quantile(values, np.arange(1, num) / num))
    room = np.diff(np.concatenate([values.min(keepdims=True), wanted, values.max(keepdims=True)]))
    limits = set()
    for place, limit in enumerate(wanted.tolist()):
        step = _round_step(max(float(room[place : place + 2].min()), 1e-3 * float(np.ptp(values))))
        near = _clean(round(limit / step) * step)
        if values.min() < near <= values.max():
            limits.add(near)
    return sorted(limits)


def _around_zero(values: NDArray[np.float64], num: int) -> list[float]:
    """Limits -k s, ..., -s, s, ..., k s with a round s, and 0 among them if the number of classes is even."""
    largest = float(np.quantile(np.abs(values), 0.95)) if len(values) else 0.0
    largest = largest or float(np.abs(values).max(initial=0.0))
    half = num // 2
    if largest == 0.0 or half == 0:
        return []
    odd = num % 2
    step = _round_step(largest / (half if odd else half - 0.5))
    last = half if odd else half - 1
    return [_clean(step * place) for place in range(-last, last + 1) if place or not odd]


def _round_step(size: float) -> float:
    """The largest of 1, 2 and 5 times a power of ten that is at most so large."""
    power = 10.0 ** floor(log10(size))
    return max(one * power for one in (1.0, 2.0, 5.0) if one * power <= size * (1.0 + 1e-9))


def _clean(value: float) -> float:
    """A number without the dust of binary fractions."""
    return float(f"{value:.10g}") + 0.0


def lightness(colour: str) -> float:
    """L* of a colour, from 0 (black) to 100 (white)."""
    return float(_lightness(_channels(colour)))


def _channels(colour: str) -> Channels:
    """A colour as three numbers."""
    return np.array([int(colour[start : start + 2], 16) for start in (1, 3, 5)]) / 255.0


def _hex(channels: Channels) -> str:
    """A colour as text."""
    return "#" + "".join(f"{round(255.0 * one):02X}" for one in channels.tolist())


def _lightness(channels: Channels) -> Any:
    """L* of colours."""
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    luminance = linear @ np.array([0.2126, 0.7152, 0.0722])
    return np.where(luminance > 216 / 24389, 116.0 * np.cbrt(luminance) - 16.0, luminance * 24389 / 27)


def _on_ramp(anchors: Sequence[str], light: float) -> Channels:
    """The colour of a ramp, from light to dark, that has a given lightness."""
    fixed = np.array([_channels(colour) for colour in anchors])
    places = np.linspace(0.0, len(anchors) - 1.0, 40 * len(anchors))
    dense = np.column_stack([np.interp(places, np.arange(len(anchors)), fixed[:, one]) for one in range(3)])
    lights = _lightness(dense)
    return np.array([np.interp(light, lights[::-1], dense[::-1, one]) for one in range(3)])
