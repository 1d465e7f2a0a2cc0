"""The rows of printed run cards: what stands in the table of a district, in the words that a watch room uses.

Cards of one area and kind that say the same for several types of incidents are one row. Where most areas of a district
have the same card, as with two ladders for a whole town, they share one row; its figures are then the least and the
most of them. A text breaks at its blanks only, not at the wide ones that hold a team together.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, NamedTuple

from runcard.outputs.cards.about import MARK
from runcard.outputs.cards.book import Card, CardBook, Line
from runcard.outputs.cards.cells import units_cell

MOST_ALTERNATES: Final = 3
"""Lines after the first that are printed."""
MOST_IN_ORDER: Final = 16
SHOWN_IN_ORDER: Final = 12
"""Of a fallback order of more units than the first, the second are printed: who goes if these are out is rare."""
MOST_HELD: Final = 4
"""Units in brackets that stay on one line."""
MOST_LETTERS: Final = 60
"""Of the name of an area."""
HOLD: Final = "\u00a0"
"""A blank at which no line breaks."""
FEW: Final = 3
"""Areas share rows where there are so many times fewer different cards than areas."""


class PrintCell(NamedTuple):
    """Text in a table."""

    text: str
    bold: str = ""
    """What is bold of it: all, its first word (a team that departs from closest-first), or nothing."""


class PrintRow(NamedTuple):
    """A row of the table of a district."""

    number: int
    """Of the area, on the map and in the table; 0 for a row that areas share."""
    area: str
    starts_area: bool
    """Whether it is the first row of its area."""
    cells: tuple[PrintCell, ...]
    """Types and kind, first line, its chance, minutes and gain, alternates, and who goes then."""


@dataclass(frozen=True, kw_only=True)
class District:
    """The cards of a district."""

    period: str
    station_id: str
    areas: tuple[str, ...]
    """Numbered on the map from 1."""
    rows: tuple[PrintRow, ...]
    """Those that areas share, then those of each area."""
    num_cards: int
    num_departing: int
    incidents_per_year: float
    """Each counted once, whatever kinds it needs."""


def headings_of(book: CardBook) -> list[str]:
    """The headings of the table."""
    alternates = [f"line{HOLD}{number} (who{HOLD}is{HOLD}out)" for number in range(2, 2 + _num_alternates(book))]
    figures = ["chance, %", f"minutes, first{HOLD}/{HOLD}last", f"gain per{HOLD}1,000"]
    return ["area", "incident: units", f"line{HOLD}1: send{HOLD}first", *figures, *alternates, "then, in this order"]


def _num_alternates(book: CardBook) -> int:
    return min(MOST_ALTERNATES, book.depth - 1)


def districts_of(book: CardBook) -> list[District]:
    """The districts of every period, in the order of the stations."""
    by_district: dict[tuple[str, str], list[Card]] = defaultdict(list)
    for card in book.cards:
        by_district[card.period, card.district].append(card)
    order = {} if book.city is None else {one.station_id: n for n, one in enumerate(book.city.stations)}
    periods = [one.name for one in book.periods] or [""]
    keys = sorted(by_district, key=lambda key: (periods.index(key[0]), order.get(key[1], len(order)), key[1]))
    unique = _unique_names(book)
    return [_district(book, unique, *key, by_district[key]) for key in keys]


def _district(book: CardBook, unique: frozenset[str], period: str, station_id: str, cards: list[Card]) -> District:
    areas = tuple(dict.fromkeys(card.area for card in cards))
    by_area: dict[str, list[Card]] = {area: [] for area in areas}
    for card in cards:
        by_area[card.area].append(card)
    alike = {area: _alike(own) for area, own in by_area.items()}
    rows = _shared_rows(book, areas, alike)
    for number, (area, groups) in enumerate(alike.items(), start=1):
        words = _short(f"{number}{HOLD}{_area_words(by_area[area][0], unique)}")
        for place, group in enumerate(groups.values()):
            cells = tuple(_cells(book, group))
            rows.append(PrintRow(number=number, area=words, starts_area=place == 0, cells=cells))
    incidents = {(card.area, card.type, card.row): card.incidents_per_year for card in cards}
    return District(
        period=period,
        station_id=station_id,
        areas=areas,
        rows=tuple(rows),
        num_cards=len(cards),
        num_departing=sum(card.departs for card in cards),
        incidents_per_year=sum(incidents.values()),
    )


def _unique_names(book: CardBook) -> frozenset[str]:
    """Names that only one area has."""
    names = Counter({card.area: card.area_name for card in book.cards}.values())
    return frozenset(name for name, number in names.items() if number == 1 and name)


def _area_words(card: Card, unique: frozenset[str]) -> str:
    """The name of an area; with its id if others have it too."""
    if card.area_name in unique:
        return card.area_name
    return f"{card.area_name} ({_held(card.area)})" if card.area_name else _held(card.area)


def _short(text: str) -> str:
    return text if len(text) <= MOST_LETTERS else text[: MOST_LETTERS - 1] + "…"


def _alike(cards: Iterable[Card]) -> dict[object, list[Card]]:
    """Cards of one area that say the same, together, by what they say and for which types."""
    groups: dict[object, list[Card]] = defaultdict(list)
    for card in cards:
        said = tuple((line.units, line.busy, line.departs) for line in card.lines)
        groups[card.kind, len(card.standards), said, card.houses].append(card)
    return {(key, _types_of(group)): group for key, group in groups.items()}


def _types_of(group: Sequence[Card]) -> tuple[tuple[str, int], ...]:
    return tuple((card.type, card.row) for card in group)


def _shared_rows(book: CardBook, areas: Sequence[str], alike: dict[str, dict[object, list[Card]]]) -> list[PrintRow]:
    """The rows that areas share; what they say is taken out of `alike`."""
    places: dict[object, list[int]] = defaultdict(list)
    kinds: dict[object, set[object]] = defaultdict(set)
    for number, area in enumerate(areas, start=1):
        for key, group in alike[area].items():
            places[key].append(number)
            kinds[group[0].kind, _types_of(group)].add(key)
    rows = []
    for keys in kinds.values():
        if FEW * len(keys) > sum(len(places[key]) for key in keys):
            continue
        for key in sorted(keys, key=lambda one: places[one]):
            shared = [alike[areas[number - 1]].pop(key) for number in places[key]]
            cells = tuple(_cells(book, [card for group in shared for card in group], num_types=len(shared[0])))
            words = "all areas" if len(places[key]) == len(areas) else f"areas {_numbers(places[key])}"
            rows.append(PrintRow(number=0, area=words, starts_area=True, cells=cells))
    return rows


def _numbers(numbers: Sequence[int]) -> str:
    """Numbers in rising order: 1-4, 7."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and parts[-1][-1] == number - 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    return ", ".join("–".join(str(one) for one in part) for part in parts)


def _cells(book: CardBook, group: Sequence[Card], num_types: int | None = None) -> Iterable[PrintCell]:
    """The cells of a row after that of the area, of cards that say the same; the first ones have all their types."""
    card, firsts = group[0], [one.lines[0] for one in group]
    types = group[:num_types]
    yield PrintCell(text=f"{incidents_of(types)}: {card.kind}")
    yield _line(card.lines[0])
    chances = (_from_to([line.meets[n] for line in firsts], _percent) for n in range(len(card.standards)))
    yield PrintCell(text=f"{HOLD}/ ".join(chances) if len(group) > len(types) else f"{HOLD}/{HOLD}".join(chances))
    yield PrintCell(text=_minutes(firsts))
    yield PrintCell(text=_from_to([line.gain for line in firsts], _per_thousand) if card.departs else "")
    for number in range(1, 1 + _num_alternates(book)):
        yield _line(card.lines[number]) if number < len(card.lines) else PrintCell(text="")
    yield PrintCell(text=_order(card))


def incidents_of(alike: Sequence[Card]) -> str:
    """What cards of one area are for: types, or classes and what tells them from others (class 1, 2: fire, alarm)."""
    names = ", ".join(dict.fromkeys(one.type or one.class_name or "any" for one in alike))
    numbers = ", ".join(str(one.row) for one in alike if one.row)
    return f"class {numbers}: {names}" if numbers else names


def _order(card: Card) -> str:
    """The fallback order, or its first units where there are many, those of one house together: E01/E02 E05."""
    houses = [_held("/".join(house)) for house in card.houses]
    if sum(len(house) for house in card.houses) <= MOST_IN_ORDER:
        return " ".join(houses)
    ends = accumulate(len(house) for house in card.houses)
    shown = next(number for number, end in enumerate(ends, start=1) if end >= SHOWN_IN_ORDER)
    return " ".join([*houses[:shown], "…"])


def _line(line: Line) -> PrintCell:
    """The units of a line, and in brackets those that are out when it is for."""
    text = _held(units_cell(line.units) + (f" {MARK}" if line.departs else ""))
    between = HOLD if len(line.busy) <= MOST_HELD else " "
    out = f" ({between.join(_held(unit) for unit in line.busy)})" if line.busy else ""
    return PrintCell(text=text + out, bold="first" * line.departs)


def _minutes(lines: Sequence[Line]) -> str:
    """The mean minutes of the first and the last, where they are known."""
    by_place = ([line.first_minutes for line in lines], [line.last_minutes for line in lines])
    known = [[one for one in found if one is not None] for found in by_place]
    parts = [_from_to(found, lambda minutes: f"{minutes:.1f}") for found in known if found]
    return f"{HOLD}/ ".join(parts if len(lines[0].units) > 1 else parts[:1])


def _from_to(numbers: Sequence[float], words: Callable[[float], str]) -> str:
    """The least and the most of numbers in words, or the one that all are."""
    return "–".join(dict.fromkeys((words(min(numbers)), words(max(numbers)))))


def _per_thousand(gain: float) -> str:
    return "<\u00a00.1" if 0.0 < gain < 0.00005 else f"{1000.0 * gain:.1f}"


def _held(text: str) -> str:
    return text.replace(" ", HOLD)


def _percent(part: float) -> str:
    """A chance in per cent; 100 only if it is sure."""
    return f"{min(100.0 * part, 99.9 if part < 1.0 else 100.0):.3g}"


def standard_lines(book: CardBook) -> list[str]:
    """The standards of each type and kind, each once, in the order of the chances on the cards."""
    found = dict.fromkeys((card.type or "any incident", card.kind, card.standards) for card in book.cards)
    return [f"{of_type}, {kind}: {', then '.join(standards)}" for of_type, kind, standards in found]
