"""The rows of printed run cards: what stands in the table of a district, in the words that a watch room uses.

Cards of one area and kind that say the same for several types of incidents are one row.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from runcard.outputs.cards.about import MARK
from runcard.outputs.cards.book import Card, CardBook, Line
from runcard.outputs.cards.cells import units_cell

MOST_ALTERNATES: Final = 3
"""Lines after the first that are printed."""
MOST_IN_ORDER: Final = 6
"""Units of the fallback order that are printed."""


@dataclass(frozen=True, kw_only=True)
class PrintCell:
    """Text in a table, bold where it departs from closest-first."""

    text: str
    bold: bool = False


@dataclass(frozen=True, kw_only=True)
class PrintRow:
    """A row of the table of a district."""

    number: int
    """Of the area, on the map and in the table."""
    area: str
    starts_area: bool
    """Whether it is the first row of its area."""
    cells: tuple[PrintCell, ...]
    """Types, kind, first line, chance, alternates, and what goes then."""


@dataclass(frozen=True, kw_only=True)
class District:
    """The cards of a district."""

    period: str
    station_id: str
    areas: tuple[str, ...]
    """Numbered on the map from 1."""
    rows: tuple[PrintRow, ...]
    num_cards: int
    num_departing: int
    incidents_per_year: float
    """Each counted once, whatever kinds it needs."""


def headings_of(book: CardBook) -> list[str]:
    """The headings of the table."""
    alternates = [f"line {number}" for number in range(2, 2 + min(MOST_ALTERNATES, book.depth - 1))]
    return ["area", "incident", "units", "send first (line 1)", "chance, %", *alternates, "then, in order"]


def districts_of(book: CardBook) -> list[District]:
    """The districts of every period, in the order of the stations."""
    by_district: dict[tuple[str, str], list[Card]] = defaultdict(list)
    for card in book.cards:
        by_district[card.period, card.district].append(card)
    order = {} if book.city is None else {one.station_id: n for n, one in enumerate(book.city.stations)}
    periods = [one.name for one in book.periods] or [""]
    keys = sorted(by_district, key=lambda key: (periods.index(key[0]), order.get(key[1], len(order)), key[1]))
    return [_district(book, *key, by_district[key]) for key in keys]


def _district(book: CardBook, period: str, station_id: str, cards: list[Card]) -> District:
    areas = tuple(dict.fromkeys(card.area for card in cards))
    rows: list[PrintRow] = []
    for number, area in enumerate(areas, start=1):
        own = [card for card in cards if card.area == area]
        name = own[0].area_name
        words = f"{name} ({area})" if name and name != area else area
        for place, alike in enumerate(_alike(own)):
            rows.append(
                PrintRow(
                    number=number, area=words, starts_area=place == 0, cells=tuple(_cells(book, alike)),
                )
            )  # fmt: skip
    incidents = {(card.area, card.type, card.incident_class): card.incidents_per_year for card in cards}
    return District(
        period=period,
        station_id=station_id,
        areas=areas,
        rows=tuple(rows),
        num_cards=len(cards),
        num_departing=sum(card.departs for card in cards),
        incidents_per_year=sum(incidents.values()),
    )


def _alike(cards: Iterable[Card]) -> list[list[Card]]:
    """Cards of one area that say the same, together; those for the same types stand below one another."""
    groups: dict[object, list[Card]] = defaultdict(list)
    for card in cards:
        said = tuple((line.units, line.departs, line.meets) for line in card.lines)
        groups[card.kind, card.standards, said, card.houses].append(card)
    return list(groups.values())


def _cells(book: CardBook, alike: list[Card]) -> Iterable[PrintCell]:
    """The cells of a row after that of the area."""
    card = alike[0]
    yield PrintCell(text=incidents_of(alike))
    yield PrintCell(text=card.kind)
    yield _line(card.lines[0])
    yield PrintCell(text=" / ".join(_percent(met) for met in card.lines[0].meets))
    for number in range(1, 1 + min(MOST_ALTERNATES, book.depth - 1)):
        yield _line(card.lines[number]) if number < len(card.lines) else PrintCell(text="")
    yield PrintCell(text=_order(card))


def incidents_of(alike: Sequence[Card]) -> str:
    """What cards of one area are for: types, or classes and what tells them from others (class 1, 2: fire, alarm)."""
    names = ", ".join(dict.fromkeys(one.type or one.class_name or "any" for one in alike))
    numbers = ", ".join(str(one.incident_class) for one in alike if one.incident_class)
    return f"class {numbers}: {names}" if numbers else names


def _order(card: Card) -> str:
    """The first units of the fallback order, those of one house together: E01/E02, E05 ..."""
    houses, num_units = list[str](), 0
    for house in card.houses:
        if num_units >= MOST_IN_ORDER:
            return f"{', '.join(houses)} ..."
        houses.append("/".join(house))
        num_units += len(house)
    return ", ".join(houses)


def _line(line: Line) -> PrintCell:
    return PrintCell(text=units_cell(line.units) + (f" {MARK}" if line.departs else ""), bold=line.departs)


def _percent(part: float) -> str:
    """A chance in per cent; 100 only if it is sure."""
    return f"{min(100.0 * part, 99.9 if part < 1.0 else 100.0):.3g}"


def standard_lines(book: CardBook) -> list[str]:
    """The standards of each type and kind, each once, in the order of the chances on the cards."""
    found = dict.fromkeys((card.type or "any incident", card.kind, card.standards) for card in book.cards)
    return [f"{of_type}, {kind}: {', then '.join(standards)}" for of_type, kind, standards in found]
