"""Times that are written in figures of fixed width, read a whole column at a time.

A time is days and seconds: days are looked up in a table by year, month and day, and the seconds are

    3600 hour + 60 minute + second + fraction

What is not written exactly so, or is not a time of a day, is left to `Clock`.
"""

import re
from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NAN: Final = float("nan")
FIRST_YEAR, NUM_YEARS = 1900, 400
MONTH_PLACES, YEAR_PLACES = 31, 372
WIDTHS: Final = {"Y": 4, "m": 2, "d": 2, "H": 2, "I": 2, "M": 2, "S": 2, "p": 2, "f": 3, "F": 6}
"""Of what strptime reads; f and F are here thousandths and millionths."""
_ZERO: Final = np.uint8(ord("0"))
_ISO: Final = re.compile(r"0000-00-00([T ])00:00(?:(:00)(\.000(?:000)?)?)?")
_FIGURE: Final = re.compile(r"[0-9]")


class TimeLayout:
    """Where the figures of a time stand."""

    def __init__(self, time_format: str) -> None:
        self.width = 0
        places: dict[str, list[int]] = {}
        others: dict[int, str] = {}
        for key, other in re.findall(r"%(.)|(.)", time_format, re.DOTALL):
            if other:
                others[self.width] = other
            else:
                places[key] = list(range(self.width, self.width + WIDTHS.get(key, 0)))
            self.width += 1 if other else WIDTHS.get(key, 0)
        noons = [datetime(2000, 1, 1, hour).strftime("%p") for hour in (1, 13)] if "p" in places else []
        self.is_complete = (
            places.keys() <= WIDTHS.keys()
            and places.keys() >= {"Y", "m", "d", "M"}
            and places.keys() & {"H", "I", "p"} in ({"H"}, {"I", "p"})
            and all(len(word) == WIDTHS["p"] for word in noons)
            and "".join([*others.values(), *noons]).isascii()
        )
        """Whether it has all that a time needs, and nothing of another width."""
        if self.is_complete:
            self._lay(places, others, noons)

    def _lay(self, places: dict[str, list[int]], others: dict[int, str], noons: list[str]) -> None:
        zero = self.width  # behind the text there is a 0, for all that it does not say
        fraction = places.get("f") or places.get("F", [])
        hour, second = places.get("H") or places["I"], places.get("S", [zero] * 2)
        whole = [*places["Y"], *places["m"], *places["d"], *hour, *places["M"], *second]
        self._figures = np.array([*whole, *fraction, *[zero] * (6 - len(fraction))])
        hours = (1, 12) if noons else (0, 23)
        limits = [(19, 22), (0, 99), (1, 12), (1, 31), hours, (0, 59), (0, 59), *[(0, 99)] * 3]
        self._least, self._most = np.array(limits, np.uint8).T[:, :, None]
        self._others = np.array([*others], np.int64)
        self._signs = np.array([*map(ord, others.values())], np.uint8)[:, None]
        self._noon = np.array(places.get("p", []), np.int64)
        self._noons = np.array([[*map(ord, word)] for word in noons], np.uint8)[..., None]

    def read(self, texts: Sequence[str], widths: Ints) -> tuple[Ints, Floats]:
        """[text] the place of its day in a `DayTable`, and its seconds: NaN where it is not of this layout."""
        width, blank = self.width, " " * self.width
        if (widths != width).any():
            texts = [text if len(text) == width else blank for text in texts]
        joined = "".join(texts).encode("ascii", "replace")
        signs = np.full((width + 1, len(texts)), _ZERO)
        signs[:-1] = np.frombuffer(joined, np.uint8).reshape(-1, width).T
        figures = signs[self._figures] - _ZERO  # a sign before 0 becomes a great number
        pairs = np.uint8(10) * figures[::2] + figures[1::2]
        fits = (figures <= 9).all(axis=0) & ((pairs >= self._least) & (pairs <= self._most)).all(axis=0)
        fits &= (signs[self._others] == self._signs).all(axis=0)
        century, year, month, day, hour, minute, second, *fraction = pairs.astype(np.int64)
        if len(self._noon):
            morning, evening = (signs[self._noon] == self._noons).all(axis=1)
            fits &= morning | evening
            hour = hour % 12 + 12 * evening
        seconds = 3600.0 * hour + 60.0 * minute + second
        seconds += (10_000 * fraction[0] + 100 * fraction[1] + fraction[2]) / 1e6
        seconds[~fits] = NAN
        places = YEAR_PLACES * (100 * century + year - FIRST_YEAR) + MONTH_PLACES * (month - 1) + day - 1
        return np.where(fits, places, 0), seconds


def iso_format(text: str) -> str:
    """The format of an ISO time, empty if it is of another form."""
    match = _ISO.fullmatch(_FIGURE.sub("0", text))
    if match is None:
        return ""
    return f"%Y-%m-%d{match[1]}%H:%M{':%S' if match[2] else ''}{'.%f' if match[3] else ''}"


class DayTable:
    """A number for every day of the years that a layout can have, worked out when it is first needed."""

    def __init__(self, of_day: Callable[[date], float]) -> None:
        self._of_day = of_day
        self._numbers = np.full(NUM_YEARS * YEAR_PLACES, np.inf)  # not yet worked out

    def numbers(self, places: Ints) -> Floats:
        """[place] the numbers of days, NaN where there is no such day."""
        found: Floats = self._numbers[places]
        if (is_new := np.isinf(found)).any():
            for place in np.unique(places[is_new]).tolist():
                years, rest = divmod(place, YEAR_PLACES)
                months, days = divmod(rest, MONTH_PLACES)
                try:
                    day = date(FIRST_YEAR + years, months + 1, days + 1)
                except ValueError:
                    self._numbers[place] = NAN
                else:
                    self._numbers[place] = self._of_day(day)
            found = self._numbers[places]
        return found
