"""Tests of run cards as a workbook and in print."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from tests.departments import random_department
from tests.weeks import with_days

from runcard import demo_city
from runcard.errors import InputError, MissingExtraError
from runcard.outputs.cards.about import MARK, RULE
from runcard.outputs.cards.book import CardBook, make_book
from runcard.outputs.cards.csv_file import columns_of
from runcard.outputs.cards.depth import measure_depths
from runcard.outputs.cards.pdf_file import pages_of
from runcard.outputs.cards.print_rows import districts_of
from runcard.outputs.cards.write import check_cards_file, write_cards
from runcard.policy.department import solve_department
from runcard.policy.week import solve_week

openpyxl = pytest.importorskip("openpyxl")


@pytest.fixture(scope="module")
def book() -> CardBook:
    """The cards of a small department."""
    return make_book(solve_department(random_department(3)), depth=4)


def test_a_workbook_has_no_formula(tmp_path: Path) -> None:
    """Hostile names are cells of text in the workbook, and control characters do not spoil it."""
    city = random_department(1)
    names = ["=1+1", "@SUM(A1)", "+1", "-1", "=cmd|' /C calc'!A0", "'=1"]
    nodes = tuple(replace(node, name=names[number % len(names)]) for number, node in enumerate(city.nodes))
    units = tuple(replace(one, unit_id=f"={one.unit_id}") for one in city.units)
    hostile = make_book(solve_department(replace(city, nodes=nodes, units=units)), depth=2)
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
    assert b"CreationDate" not in path.read_bytes()
    assert num_pages(path) >= 1 + len({card.district for card in book.cards})


def texts_of(book: CardBook) -> list[list[str]]:
    """The texts of each page."""
    return [[text.get_text() for text in page.texts] for page in pages_of(book, ())]


def test_every_card_is_in_print() -> None:
    """Each district has its name, all its areas, every first line, and (continued) where it goes on."""
    book = make_book(solve_department(demo_city()), depth=4)
    pages = texts_of(book)
    districts = districts_of(book)
    assert sum(text.startswith("District") and "(continued)" not in text for page in pages for text in page) == len(
        districts
    )
    assert any("(continued)" in text for page in pages for text in page)
    assert sum(len(one.areas) for one in districts) == 105
    words = [" ".join(text.split()) for page in pages[1:] for text in page]
    for card in book.cards:
        first = " + ".join(card.lines[0].units) + (f" {MARK}" if card.lines[0].departs else "")
        assert first in words
    assert sum(row.starts_area for one in districts for row in one.rows) == 105


def test_every_page_has_the_whole_rule(book: CardBook) -> None:
    """Whoever holds only one page of a district can follow its cards: every sentence of the rule is on it."""
    demo = make_book(solve_department(demo_city(), "closest-first"), depth=2)
    for page in (*texts_of(book), *texts_of(demo)):
        words = " ".join(" ".join(page).split())
        assert all(sentence in words for sentence in RULE)


def test_each_period_has_pages() -> None:
    """A week prints the districts of each period."""
    book = make_book(solve_week(with_days(random_department(1))), depth=2)
    titles = [text for page in texts_of(book) for text in page if text.startswith("District")]
    assert any(", day" in title for title in titles)
    assert any(", night" in title for title in titles)


def test_names_of_any_length_are_printed() -> None:
    """A $ in a name is no mathematics, and long names are cut, not lost or overflowing."""
    city = random_department(1)
    nodes = tuple(replace(node, name="$x^2$ " + "long name " * 12) for node in city.nodes)
    book = make_book(solve_department(replace(city, nodes=nodes)), depth=16)
    for page in pages_of(book, ()):
        page.canvas.draw()


def test_wrong_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another ending, a file without its city for print, and a missing library are said before the work."""
    with pytest.raises(InputError, match=r"expected cards to end in .csv, .xlsx, .pdf, got '.doc'"):
        check_cards_file(tmp_path / "cards.doc")
    department = replace(solve_department(random_department(1), "closest-first"), ground=None)
    with pytest.raises(InputError, match="there is no map to print"):
        check_cards_file(tmp_path / "cards.pdf", department)
    check_cards_file(tmp_path / "cards.csv", department)
    assert write_cards(make_book(department, depth=1), (), tmp_path / "cards.csv").exists()
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with pytest.raises(MissingExtraError, match=r"runcard\[report\]"):
        check_cards_file(tmp_path / "cards.xlsx")
