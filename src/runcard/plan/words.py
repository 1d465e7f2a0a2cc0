"""Teams, numbers and choices in words, the same in every sentence, table and error."""

from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from math import floor, log10
from typing import Final, NamedTuple

from runcard.city.conditions import OUTSIDE_ID, near
from runcard.city.model import LATE, City, Objective, Standard, Unit
from runcard.city.parts import LAST
from runcard.mdp.problem import DispatchProblem

MAX_CHOICES: Final = 12
"""An error names at most this many choices one by one; of more it says how many there are."""


ORDINALS: Final = ("first", "second", "third", "fourth")

TINY: Final = 1e-4
"""Numbers that are nearer to zero are shown in scientific notation: as decimals they would be rows of zeros."""


CHANCE_ONLY: Final = (
    "Intervals are at 95 %, and cover the chance of the simulation only: not the errors of the city's numbers or of "
    "its areas."
)
"""What the intervals of a simulation are."""
PLUS_MINUS: Final = "± is half of a 95 % interval, which covers the chance of the simulation only"
"""The same beside numbers that have it behind them."""


def certainty(proven: bool) -> str:
    """What an interval is: "proven", or "estimated" where the errors of the chances in it are."""
    return "proven" if proven else "estimated"


def team_words(team: Sequence[str]) -> str:
    """A team as a phrase: "s1 and s3", "two from s1", "s1 and one from outside"."""
    counts = Counter(team)
    from_outside = counts.pop(OUTSIDE_ID, 0)
    names = {1: "one", 2: "two", 3: "three"}
    words = [one if number == 1 else f"{names.get(number, number)} from {one}" for one, number in counts.items()]
    if from_outside:
        words.append(f"{names.get(from_outside, from_outside)} from outside")
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def counted(number: int, noun: str) -> str:
    """A number and its noun: "1 truck", "2 trucks"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def article(noun: str) -> str:
    """The article before a noun: "a" or "an", by its first letter."""
    return "an" if noun[:1].lower() in tuple("aeiou") else "a"


def first_line(error: Exception) -> str:
    """The first line of what an error of another library says; its kind, if it says nothing."""
    return next(iter(str(error).splitlines()), type(error).__name__)


def incidents_a_day(rate: float, *, digits: int = 3) -> str:
    """A rate with so many digits: "1 incident a day", "2.5 incidents a day"."""
    number = f"{rate:.{digits}g}"
    return f"{number} incident a day" if number == "1" else f"{number} incidents a day"


def percent(fraction: float) -> str:
    """A fraction as a percentage with two decimals, or more where it is so close to 0 or 1 that they would not show."""
    decimals = max(decimals_of(fraction, significant=2), decimals_of(1.0 - fraction, significant=1))
    return f"{in_decimals(100.0 * fraction, decimals, significant=2)} %"


def in_decimals(number: float, decimals: int, *, significant: int = 3) -> str:
    """A number with so many decimals, or with `significant` digits in scientific notation if it is tiny but not 0."""
    return f"{number:.{significant - 1}e}" if 0.0 < abs(number) < TINY else f"{number:.{decimals}f}"


def decimals_of(fraction: float, *, significant: int) -> int:
    """The decimals (2 to 12) with which a percentage shows at least `significant` digits that are not leading zeros."""
    if fraction == 0.0:
        return 2
    return min(12, max(2, significant - 1 - floor(log10(100.0 * abs(fraction)))))


def decimals_for(numbers: Iterable[float], *, significant: int = 3) -> int:
    """The decimals (3 or more) that show `significant` digits of each number that is not shown as a tiny one."""
    shown = [abs(number) for number in numbers if abs(number) >= TINY]
    return max(3, decimals_of(min(shown) / 100.0, significant=significant)) if shown else 3


def outward(lower: float, upper: float, decimals: int, *, times: int = 100) -> str:
    """An interval in percent that is sure to hold the given one: its ends are rounded down and up.

    Where all of it is tiny, its ends have four digits in scientific notation. With `times` 1 it is not in percent.
    """
    if 0.0 < times * upper < TINY:
        ends = ((lower, ROUND_FLOOR), (upper, ROUND_CEILING))
        low, high = (Context(prec=4, rounding=way).multiply(Decimal(end), times) for end, way in ends)
        return f"{low:.3e} to {high:.3e}" if low else f"0 to {high:.3e}"
    unit = Decimal(1).scaleb(-decimals)
    low = (Decimal(lower) * times).quantize(unit, ROUND_FLOOR)
    high = (Decimal(upper) * times).quantize(unit, ROUND_CEILING)
    return f"{low:f}-{high:f}"


def expected_one_of(noun: str, choices: Iterable[str], got: str, *, guess: bool = True) -> str:
    """A message that says what could have been given instead of `got`, and what it may have meant.

    Nothing is guessed if `guess` is not set: of units a wrong guess is worse than none.
    """
    distinct = list(dict.fromkeys(choices))
    named = ", ".join(distinct[:MAX_CHOICES])
    if len(distinct) > MAX_CHOICES:
        named += f", ... {len(distinct)} in all"
    return f"expected a {noun} ({named}), got {got!r}{near(str(got), distinct) if guess else ''}"


def and_list(words: Sequence[str]) -> str:
    """Words as a phrase: "E01", "E01 and E02", "E01, E02 and E03"; "no unit" for none."""
    if not words:
        return "no unit"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def percent_words(part: float) -> str:
    """A fraction as a percentage with three digits, but no more than two decimals."""
    return f"{100.0 * part:.{1 if abs(part) >= 0.0995 else 2}f} %"


def round_percent(part: float, decimals: int = 0) -> str:
    """A fraction as a percentage with so many decimals."""
    return f"{100.0 * part:.{decimals}f} %"


def minutes_words(minutes: float) -> str:
    """Minutes with two decimals."""
    return f"{minutes:.2f} min"


def number_words(number: float) -> str:
    """A number with three digits that count, and commas between thousands; no sign for nothing."""
    if abs(number) >= 100.0:
        return f"{number:,.0f}"
    return f"{number + 0.0:.3g}" if abs(number) >= 0.005 else "0"


def rule_words(standard: Standard) -> str:
    """A standard as a chief says it: "fire: second of 2 engines in 10 min"."""
    before = f"{standard.type}: " if standard.type else ""
    of = f" of {standard.trucks} {standard.kind}s" if standard.trucks > 1 else f" {standard.kind}"
    return f"{before}{ORDINALS[standard.arrivals - 1]}{of} in {standard.target_minutes:g} min"


def arrival_words(standard: Standard) -> str:
    """Which arrival a standard is about, in a word."""
    return LAST if standard.arrival == LAST else ORDINALS[standard.arrivals - 1]


class Missed(NamedTuple):
    """What is missed, in the words of tables and sentences; {} stands for how much."""

    called: str
    heading: str
    column: str
    """The heading in one line."""
    unit: str
    """Behind an interval."""
    more: str
    """The heading of a difference."""
    noun: str
    per: str
    """Behind the noun: of how many."""
    fraction: str
    often: str
    chance: str
    why: str
    reaches: str
    cannot: str
    in_period: str
    all_kinds: str
    """The first row of a table of standards; empty if one of them is the whole."""

    def share(self, missed: float) -> str:
        """How much is missed, for a heading."""
        return f"{percent(missed)} late" if self.unit else f"{100.0 * missed:.3g} missed per 100"

    def number(self, missed: float) -> str:
        """The same in a cell of a table."""
        return percent_words(missed) if self.unit else f"{100.0 * missed:.2f}"


LATE_WORDS: Final = Missed(
    "late", "late\n%", "late, %", ", %", "more late\n% points",
    noun="late incidents", per="per 100", fraction="the late fraction", often="incidents are late",
    chance="that an incident is late", why="Why late", reaches="is late at {} %",
    cannot="be late at fewer than {} % of incidents", in_period="Late, %,", all_kinds="",
)  # fmt: skip
MISSED_WORDS: Final = Missed(
    "missed", "missed\nper 100", "missed per 100", "", "more missed\nper 100",
    noun="missed standards", per="per 100 incidents", fraction="missed standards", often="standards are missed",
    chance="that a standard is missed", why="Why standards are missed", reaches="misses {} standards per 100 incidents",
    cannot="miss fewer than {} standards per 100 incidents (weighted)", in_period="Missed per 100 incidents",
    all_kinds="All standards together, per 100 incidents",
)  # fmt: skip


def table_words(city: City) -> Missed:
    """How missed standards are called, or late incidents where no types of incidents were given."""
    return LATE_WORDS if city.plain else MISSED_WORDS


def unit_name(city: City, unit: Unit) -> str:
    """What a unit is called; where there is no roster, a truck has the name of its station."""
    return unit.unit_id if city.has_roster else unit.station_id


def named_units(city: City, station_id: str) -> list[Unit]:
    """The units of a station that have names of their own: none where there is no roster."""
    return [*city.units_at[station_id]] if city.has_roster else []


def misses(city: City) -> str:
    """What is counted: missed standards, or late incidents where no types of incidents were given."""
    return table_words(city).noun


def price_words(city: City) -> tuple[float, str]:
    """What costs and prices are multiplied with, and what they then are."""
    if city.objective.minimise == "minutes":
        return 1.0, "response minutes a call"
    more = "" if city.objective.minimise == "late" else f" (a minute counts as {city.objective.weight:g})"
    return 1000.0, f"{misses(city)}{more} per 1,000 calls"


def objective_words(objective: Objective) -> str:
    """What an objective makes smallest, such as "late fraction + 0.05 × mean response minutes"."""
    alone = {"late": "late fraction", "minutes": "mean response minutes"}
    both = f"late fraction + {objective.weight or 0.0:g} × mean response minutes"
    return alone.get(objective.minimise, both)


def bounds_words(city: City, lower: float, upper: float, *, proven: bool) -> str:
    """Where the mean cost of an incident that needs a kind is proven, or estimated, to lie, in words."""
    sure = certainty(proven)
    of_late = city.objective.minimise == "late"
    if of_late and not city.plain:
        return f"missed standards per 100 incidents {sure} to lie in {outward(lower, upper, 6)}"
    ends = outward(lower, upper, 6, times=100 if of_late else 1) + (" %" if of_late else "")
    return f"{objective_words(city.objective)} {sure} to lie in {ends}"


def city_line(city: City) -> str:
    """A city in one line: its size, its load and its target."""
    targets = sorted({standard.target_minutes for point in city.demand for standard in city.standards_of(point)})
    target = f"{targets[0]:g}" if len(targets) == 1 else f"{targets[0]:g} to {targets[-1]:g}"
    counts = Counter(unit.kind for unit in city.units)
    types = f" of {counted(len({point.type for point in city.demand}), 'type')}" if not city.plain else ""
    load = f"load {city.load:.2g}, " if len(city.kinds) == 1 else ""  # each kind has its own
    return (
        f"{city.name}: {counted(len(city.stations), 'station')}, "
        f"{', '.join(counted(number, kind) for kind, number in counts.items())}, "
        f"{counted(len({point.node_id for point in city.demand}) if types else len(city.demand), 'demand point')}, "
        f"{incidents_a_day(city.incidents_per_day)}{types}, {load}target {target} min"
        + ("" if city.objective == LATE else f"; minimised: {objective_words(city.objective)}")
        + (f"; periods: {', '.join(one.name for one in city.periods)}" if city.has_periods else "")
    )


def kind_line(city: City, kind: str) -> str:
    """What one kind has and does in its city, in one line."""
    incidents = incidents_a_day(city.incidents_per_day)
    return f"{counted(city.num_trucks, kind)}, {incidents} that need them, load {city.load:.2g}"


def class_words(problem: DispatchProblem, point: int) -> str:
    """In brackets, which incident class of its node a demand point is; empty if the node has only one."""
    points = [number for number, point_id in enumerate(problem.point_ids) if point_id == problem.point_ids[point]]
    if len(points) == 1:
        return ""
    return f" (incident class {points.index(point) + 1} of {len(points)}: {class_facts(problem, point)})"


def class_facts(problem: DispatchProblem, point: int) -> str:
    """The incidents of a demand point, and how many there are a day, in words."""
    return f"{class_name(problem, point)}, {incidents_a_day(float(problem.incidents_per_day[point]), digits=6)}"


def class_name(problem: DispatchProblem, point: int) -> str:
    """What tells the incidents of a demand point from others of its node, in words."""
    if problem.class_names:
        return problem.class_names[point]
    return f"needs {counted(int(problem.trucks_needed[point]), 'truck')}"
