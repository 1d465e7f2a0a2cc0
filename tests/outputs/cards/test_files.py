"""Tests of run cards as a workbook and in print."""

import re
from collections import defaultdict
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from unittest.mock import patch

import pytest
from reportlab.pdfbase.pdfmetrics import stringWidth
from reportlab.pdfgen.canvas import Canvas
from reportlab.pdfgen.textobject import PDFTextObject
from reportlab.platypus import Paragraph
from tests.departments import random_department
from tests.weeks import with_days

from runcard import demo_city, dispatch_problem, solve_problem
from runcard.city import generate_grid
from runcard.errors import InputError, MissingExtraError
from runcard.outputs.cards.about import MARK, RULE
from runcard.outputs.cards.book import CardBook, make_book
from runcard.outputs.cards.csv_file import columns_of
from runcard.outputs.cards.depth import measure_depths
from runcard.outputs.cards.district_map import DistrictMap
from runcard.outputs.cards.pdf_file import MAP_WIDTH
from runcard.outputs.cards.print_rows import districts_of
from runcard.outputs.cards.print_table import PAGE, width_of
from runcard.outputs.cards.write import check_cards_file, write_cards
from runcard.plan.plan import plan_of, solve

openpyxl = pytest.importorskip("openpyxl")


@pytest.fixture(scope="module")
def book() -> CardBook:
    """The cards of a small department."""
    return make_book(solve(random_department(3)), depth=4)


def test_a_workbook_has_no_formula(tmp_path: Path) -> None:
    """Hostile names are cells of text in the workbook, and control characters do not spoil it."""
    city = random_department(1)
    names = ["=1+1", "@SUM(A1)", "+1", "-1", "=cmd|' /C calc'!A0", "'=1"]
    nodes = tuple(replace(node, name=names[number % len(names)]) for number, node in enumerate(city.nodes))
    units = tuple(replace(one, unit_id=f"={one.unit_id}") for one in city.units)
    hostile = make_book(solve(replace(city, nodes=nodes, units=units)), depth=2)
    path = write_cards(hostile, measure_depths(hostile), tmp_path / "cards.xlsx")
    workbook = openpyxl.load_workbook(path)
    cells = [cell for sheet in workbook for row in sheet.iter_rows() for cell in row]
    assert all(cell.data_type in "sn" for cell in cells)
    sheet = workbook["Cards"]
    area_names = {row[1] for row in sheet.iter_rows(min_row=2, values_only=True)}
    assert area_names & set(names)


def test_a_workbook_shows_the_cards(book: CardBook, tmp_path: Path) -> None:
    """Rows are lines, the header stays and filters, numbers are numbers, and departing lines are bold and marked."""
    path = write_cards(book, measure_depths(book), tmp_path / "cards.xlsx")
    workbook = openpyxl.load_workbook(path)
    assert workbook.sheetnames == ["Cards", "Depth", "About"]
    sheet, columns = workbook["Cards"], columns_of(book)
    assert [cell.value for cell in sheet[1]] == columns
    lines = [line for card in book.cards for line in card.lines]
    assert sheet.max_row == 1 + len(lines)
    assert sheet.freeze_panes == "A2"
    assert sheet.auto_filter.ref == sheet.dimensions
    for line, row in zip(lines, sheet.iter_rows(min_row=2), strict=True):
        cells = dict(zip(columns, row, strict=True))
        assert cells["units"].value == " + ".join(line.units)
        assert cells["meets_1"].value == pytest.approx(line.meets[0], abs=1e-4)
        assert cells["departs"].value == (f"{MARK} yes" if line.departs else "no")
        assert cells["units"].font.bold == line.departs
        assert cells["area"].number_format == "@"
    assert workbook["Depth"].max_row > 5
    assert "Go down the lines" in " ".join(str(row[0]) for row in workbook["About"].iter_rows(values_only=True))


def num_pages(path: Path) -> int:
    """The pages of a PDF file, by its own dictionary of pages."""
    found = re.search(rb"/Type /Pages.*?/Count (\d+)|/Count (\d+).*?/Type /Pages", path.read_bytes(), re.DOTALL)
    assert found
    return int(found[1] or found[2])


def test_a_print_has_pages_for_each_district(book: CardBook, tmp_path: Path) -> None:
    """There is a first page, one for each district at least, and the same cards are the same bytes."""
    path = write_cards(book, measure_depths(book), tmp_path / "cards.pdf")
    again = write_cards(book, measure_depths(book), tmp_path / "again.pdf")
    assert path.read_bytes() == again.read_bytes()
    assert set(re.findall(rb"/(?:Creation|Mod)Date (\S+)", path.read_bytes())) == {b"()"}
    assert not re.search(rb"D:\d{4}", path.read_bytes())
    assert num_pages(path) >= 1 + len({card.district for card in book.cards})


class Word(NamedTuple):
    """Words in the table of a printed page: their box, and the size of their letters."""

    left: float
    right: float
    y: float
    size: float


@dataclass
class Page:
    """What is printed on a page: all its texts, the words of its table, and the boxes of its paragraphs."""

    texts: list[str] = field(default_factory=list)
    words: list[Word] = field(default_factory=list)
    boxes: list[tuple[float, float, float, float]] = field(default_factory=list)
    sizes: set[float] = field(default_factory=set)
    """Of the letters of both."""


def printed(book: CardBook) -> list[Page]:
    """The pages of a print, as its library draws them."""
    pages, show, put = [Page()], Canvas.showPage, PDFTextObject._formatText
    draw, draw_on = Canvas.drawString, Paragraph.drawOn

    def shown(canvas: Canvas) -> None:
        pages.append(Page())
        show(canvas)

    def drawn(canvas: Canvas, x: float, y: float, text: str) -> None:
        left, bottom = canvas.absolutePosition(x, y)
        right = left + stringWidth(text.strip(), canvas._fontname, canvas._fontsize)
        pages[-1].sizes.add(canvas._fontsize)
        pages[-1].words.append(Word(left, right, bottom, canvas._fontsize))
        draw(canvas, x, y, text)

    def formatted(text_object: PDFTextObject, text: str) -> str:
        pages[-1].texts.append(text)
        return str(put(text_object, text))

    def drawn_on(part: Paragraph, canvas: Canvas, x: float, y: float, **more: float) -> None:
        left, bottom = canvas.absolutePosition(x, y)
        right = left + max(part.getActualLineWidths0())
        pages[-1].boxes.append((left, bottom, right, bottom + part.height))
        pages[-1].sizes.add(part.style.fontSize)
        draw_on(part, canvas, x, y, **more)

    with (
        TemporaryDirectory() as folder,
        patch.object(Canvas, "showPage", shown),
        patch.object(Canvas, "drawString", drawn),
        patch.object(PDFTextObject, "_formatText", formatted),
        patch.object(Paragraph, "drawOn", drawn_on),
    ):
        write_cards(book, (), Path(folder) / "cards.pdf")
    assert not pages[-1].texts
    return pages[:-1]


def texts_of(book: CardBook) -> list[list[str]]:
    """The texts of each page."""
    return [page.texts for page in printed(book)]


@pytest.fixture(scope="module")
def town() -> CardBook:
    """The cards of the built-in town, with the minutes of the last unit as `runcard solve_problem` has them."""
    city = demo_city()
    policies = {kind: solve_problem(dispatch_problem(city, kind=kind, arrivals=True)) for kind in city.sent_kinds}
    return make_book(plan_of(city, policies), depth=4)


def test_every_card_is_in_print(town: CardBook) -> None:
    """Each district has its name, all its areas and every first line."""
    pages = texts_of(town)
    districts = districts_of(town)
    assert sum(text.startswith("District") for page in pages for text in page) == len(districts)
    assert sum(len(one.areas) for one in districts) == 105
    words = {" ".join(text.split()).partition(" (")[0] for page in pages[1:] for text in page}
    for card in town.cards:
        first = " + ".join(card.lines[0].units) + (f" {MARK}" if card.lines[0].departs else "")
        assert first in words
    assert sum(row.starts_area and row.number > 0 for one in districts for row in one.rows) == 105


def test_a_district_of_the_town_is_one_page_in_letters_that_can_be_read(town: CardBook, tmp_path: Path) -> None:
    """The town is printed on a first page and one page for each district, no letter smaller than 7 points."""
    pages = printed(town)
    assert len(pages) == 1 + len(districts_of(town))
    assert min(min(page.sizes) for page in pages) >= 7.0
    assert num_pages(write_cards(town, (), tmp_path / "cards.pdf")) == len(pages)


def test_words_stay_on_the_page(town: CardBook) -> None:
    """No word leaves the page, none runs into the next one of its row, and no paragraph into another or the table.

    However long the names of units and areas are.
    """
    city = random_department(3)
    units = tuple(replace(unit, unit_id=f"{unit.kind} company {unit.unit_id}") for unit in city.units)
    nodes = tuple(replace(node, name=f"<b>{node.node_id} at the north end of the bridge") for node in city.nodes)
    long = make_book(solve(replace(city, units=units, nodes=nodes)), depth=4)
    for page in (*printed(town), *printed(long)):
        assert max((word.right for word in page.words), default=0.0) <= PAGE[0] - 18.0
        assert min((word.y for word in page.words), default=99.0) >= 10.0
        rows = defaultdict(list)
        for word in page.words:
            rows[round(word.y, 4)].append((word.left, word.right))
        for places in rows.values():
            assert all(end <= begin + 1e-6 for (_, end), (begin, _) in pairwise(sorted(places)))
        for number, (left, bottom, right, top) in enumerate(page.boxes):
            assert 18.0 <= left <= right <= PAGE[0] - 18.0
            assert 5.0 <= bottom <= top <= PAGE[1] - 5.0
            for other in page.boxes[:number]:
                assert right <= other[0] or other[2] <= left or top <= other[1] + 0.01 or other[3] <= bottom + 0.01
            assert not any(
                word.left < right and left < word.right and bottom < word.y + 0.7 * word.size and word.y < top
                for word in page.words
            )


def test_a_page_has_what_the_first_page_explains(town: CardBook) -> None:
    """Each row has when its alternates are for, its chances, minutes and gain, and the whole fallback order."""
    rows = {(row.area, row.cells[0].text): row for one in districts_of(town) for row in one.rows}
    plain = {key: [cell.text.replace("\u00a0", " ") for cell in row.cells] for key, row in rows.items()}
    card = next(one for one in town.cards if one.area == "old-b1" and one.type == "fire" and one.kind == "engine")
    line = card.lines[0]
    cells = next(
        texts for (area, types), texts in plain.items() if area.endswith("Old Town B1") and types.startswith("fire")
    )
    assert cells[2] == " / ".join(f"{100.0 * met:.3g}" for met in line.meets)
    assert cells[3] == f"{line.first_minutes:.1f} / {line.last_minutes:.1f}"
    assert cells[4] == f"{1000.0 * line.gain:.1f}"
    for cell, other in zip(cells[5:8], card.lines[1:], strict=True):
        assert cell.startswith(" + ".join(other.units))
        assert cell.endswith(f"({' '.join(other.busy)})")
    assert cells[-1].split() == ["/".join(house) for house in card.houses]


def test_areas_with_one_card_share_a_row(town: CardBook) -> None:
    """Both ladders serve Central in one order: one row says so, with the lowest and the highest figures."""
    central = districts_of(town)[0]
    (shared,) = [row for row in central.rows if row.number == 0]
    ladders = [card for card in town.cards if card.district == "central" and card.kind == "ladder"]
    assert shared.area == "all areas"
    assert {card.lines[0].units for card in ladders} == {("T01",)}
    minutes = [card.lines[0].first_minutes or 0.0 for card in ladders]
    assert shared.cells[3].text == f"{min(minutes):.1f}–{max(minutes):.1f}"
    assert sum(len(one.rows) for one in districts_of(town)) < 105 * 3


def test_a_large_district_goes_on_on_a_further_page(town: CardBook) -> None:
    """Where letters would be too small, pages are continued, no row is lost, and they still can be read."""
    cards = tuple(replace(card, district="central") for card in town.cards)
    pages = printed(replace(town, cards=cards))
    assert len(pages) > 2
    assert sum(any("(continued)" in text for text in page.texts) for page in pages) == len(pages) - 2
    assert min(min(page.sizes) for page in pages) >= 7.0
    first_words = {text.split()[0] for page in pages for text in page.texts if text.strip()}
    assert {str(number) for number in range(1, 106)} <= first_words


@pytest.mark.slow
def test_a_long_fallback_order_says_where_it_ends() -> None:
    """Of more than 16 units the first 12 are printed, and the page says so."""
    city = generate_grid(side=5, num_stations=17, load=0.1, seed=1)
    book = make_book(solve(city, "closest-first"), depth=2)
    order = districts_of(book)[0].rows[0].cells[-1].text
    assert len(order.split()) == 13
    assert order.endswith("…")
    assert any("the first 12 units are printed" in " ".join(page.texts) for page in printed(book))


def test_the_units_of_a_station_are_whole_on_a_map(town: CardBook, monkeypatch: pytest.MonkeyPatch) -> None:
    """No label is cut off at the edge of its map, however near its station is."""
    labels, write = list[tuple[float, float]](), DistrictMap._write_with_halo

    def noted(self: DistrictMap, x: float, y: float, text: str, size: float) -> None:
        half = 0.5 * size * width_of(text)
        labels.append((x - half, x + half))
        write(self, x, y, text, size)

    monkeypatch.setattr(DistrictMap, "_write_with_halo", noted)
    printed(town)
    assert len(labels) > 105
    assert min(left for left, _ in labels) >= 0.0
    assert max(right for _, right in labels) <= MAP_WIDTH


def test_every_page_has_the_whole_rule(book: CardBook) -> None:
    """Whoever holds only one page of a district can follow its cards: every sentence of the rule is on it."""
    demo = make_book(solve(demo_city(), "closest-first"), depth=2)
    for page in (*texts_of(book), *texts_of(demo)):
        words = " ".join(" ".join(page).split())
        assert all(sentence in words for sentence in RULE)


def test_each_period_has_pages() -> None:
    """A week prints the districts of each period."""
    book = make_book(solve(with_days(random_department(1))), depth=2)
    titles = [text for page in texts_of(book) for text in page if text.startswith("District")]
    assert any(", day" in title for title in titles)
    assert any(", night" in title for title in titles)


def test_names_of_any_length_are_printed(tmp_path: Path) -> None:
    """A $ in a name is no mathematics, and long names are cut, not lost or overflowing."""
    city = random_department(1)
    nodes = tuple(replace(node, name="$x^2$ " + "long name " * 12) for node in city.nodes)
    book = make_book(solve(replace(city, nodes=nodes)), depth=16)
    path = write_cards(book, (), tmp_path / "cards.pdf")
    assert num_pages(path) == len(texts_of(book))


def test_wrong_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another ending, a file without its city for print, and a missing library are said before the work."""
    with pytest.raises(InputError, match=r"expected cards to end in .csv, .xlsx, .pdf, got '.doc'"):
        check_cards_file(tmp_path / "cards.doc")
    department = replace(solve(random_department(1), "closest-first"), ground=None)
    with pytest.raises(InputError, match="there is no map to print"):
        check_cards_file(tmp_path / "cards.pdf", department)
    check_cards_file(tmp_path / "cards.csv", department)
    assert write_cards(make_book(department, depth=1), (), tmp_path / "cards.csv").exists()
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    monkeypatch.setitem(__import__("sys").modules, "reportlab", None)
    for ending in ("xlsx", "pdf"):
        with pytest.raises(MissingExtraError, match=r"runcard\[report\]"):
            check_cards_file(tmp_path / f"cards.{ending}")
