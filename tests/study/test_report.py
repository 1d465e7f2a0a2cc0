"""The report of a study, and the results that it shows."""

import platform
import re
from dataclasses import replace
from datetime import date
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
from tests.markup import Markup
from tests.study.results import made

from runcard.study.experiment import Experiment, experiment_named, experiments
from runcard.study.report import FLAR_NOTE, shade_of, write_study_report
from runcard.study.tables import HEADS, OURS, ExperimentResult, agreement_of, read_paper

SHADES = {"near", "fair", "far", "apart"}
DAY = date(2024, 2, 29)


class Page(Markup):
    """What is on a page, and the rows of its tables as (tag, class, text)."""

    @property
    def rows(self) -> list[list[list[tuple[str, str, str]]]]:
        """By table: the cells of each row."""
        return [
            [[(tag, name, " ".join(" ".join(pieces).split())) for tag, name, pieces in row] for row in table]
            for table in self.cells
        ]

    def numbers(self, name: str) -> list[list[tuple[str, str, str]]]:
        """The rows of numbers of an experiment: their heads and cells."""
        labels = [attrs.get("aria-labelledby") for tag, attrs in self.tags if tag == "table"]
        return [row for row in self.rows[labels.index(f"{name}-caption")] if any(tag == "td" for tag, _, _ in row)]


def small(experiment: Experiment) -> Experiment:
    """An experiment of at most two values of each setting."""
    shorter = {name: getattr(experiment, name)[:2] for name in ("sides", "trucks", "loads", "gammas")}
    return replace(experiment, **shorter)


def page_of(folder: Path, *results: ExperimentResult) -> Page:
    """The report on some results."""
    return Page(write_study_report(folder / "report.html", results, seconds=61.4, today=DAY).read_text("utf-8"))


@pytest.fixture(scope="module")
def table3() -> ExperimentResult:
    """The whole of Table 3, with made-up numbers."""
    return made(experiment_named("table3"))


@pytest.fixture(scope="module")
def table3_page(table3: ExperimentResult, tmp_path_factory: pytest.TempPathFactory) -> Page:
    """The report on Table 3."""
    return page_of(tmp_path_factory.mktemp("table3"), table3)


@pytest.fixture(scope="module")
def everything() -> list[ExperimentResult]:
    """Every experiment, made small, with made-up numbers."""
    return [made(small(one), num_graphs=3) for one in experiments()]


@pytest.fixture(scope="module")
def whole_text(everything: list[ExperimentResult], tmp_path_factory: pytest.TempPathFactory) -> str:
    """The text of the report on every experiment: two of one day are the same file, and there is no other file."""
    folder = tmp_path_factory.mktemp("report")
    first, again = (write_study_report(folder / "report.html", everything, today=DAY).read_bytes() for _ in range(2))
    assert first == again
    assert [path.name for path in folder.iterdir()] == ["report.html"]
    return first.decode()


@pytest.fixture(scope="module")
def whole(whole_text: str) -> Page:
    """The same, read."""
    return Page(whole_text)


def test_the_page_is_well_nested_and_has_every_experiment(whole: Page) -> None:
    """Every tag is closed in order; each experiment has a section, its title and its notes, and is in the contents."""
    sections = [attrs["id"] for tag, attrs in whole.tags if tag == "section"]
    assert sections == ["reading", *(one.name for one in experiments()), "made-with"]
    for one in experiments():
        assert whole.words.count(one.title) >= 2
        assert all(note in whole.words for note in one.notes)


def test_each_experiment_is_a_table_or_a_figure(whole: Page, everything: list[ExperimentResult]) -> None:
    """There are as many figures as results that are no table, and as many tables of numbers as the others."""
    num_tables = sum(result.is_table for result in everything)
    assert sum(tag == "svg" for tag, _ in whole.tags) == len(everything) - num_tables
    assert sum(tag == "table" and attrs["class"] == "cells" for tag, attrs in whole.tags) == num_tables


def test_ids_are_unique_and_every_link_leads_somewhere(whole: Page) -> None:
    """The contents, the captions and the parts of figures find what they name, and heads say what they head."""
    ids = [attrs["id"] for _, attrs in whole.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    targets = {attrs["href"] for _, attrs in whole.tags if "href" in attrs}
    targets |= {f"#{attrs['aria-labelledby']}" for _, attrs in whole.tags if "aria-labelledby" in attrs}
    assert targets <= {f"#{one}" for one in ids}
    assert {attrs.get("scope") for tag, attrs in whole.tags if tag == "th"} == {"row", "col", "rowgroup", "colgroup"}


def test_nothing_comes_from_elsewhere(whole: Page, whole_text: str) -> None:
    """No script, no style sheet, no picture and no font is fetched, from a network or a file."""
    assert not {"script", "link", "img", "iframe", "object", "embed"} & whole.names
    for _, attrs in whole.tags:
        assert not {"src", "srcset", "data"} & attrs.keys()
        links = [value for name, value in attrs.items() if name.endswith("href")]
        assert all(link.startswith("#") for link in links)
    assert not re.search(r"@import|url\((?!#)", whole_text)


def test_the_whole_of_the_papers_table_is_shown(table3: ExperimentResult, table3_page: Page) -> None:
    """Every number of the CSV stands in the cell of its row and column, as does ours with its standard error."""
    rows = table3_page.numbers("table3")
    known = list(read_paper("table3_mean_performance.csv").values())
    assert len(rows) == len(known) == 20
    for row, printed in zip(rows, known, strict=True):
        texts = [text for _, _, text in row[1:]]
        for half, side in enumerate(("uncorrelated", "correlated")):
            columns = (f"flar_cf_{side}", f"delta_opt_{side}", f"delta_osi_{side}", f"delta_osia_{side}")
            for place, column in enumerate(columns):
                assert f"paper {float(printed[column]):.2f}" in texts[7 * half + place].replace("  ", " ")
    first = table3.lines[0].cells[1]
    assert rows[0][2][2].startswith(f"{first.value:.2f}")
    assert f"± {first.error:.2f}" in rows[0][2][2]


def test_rows_are_grouped_by_all_settings_but_the_last(table3_page: Page) -> None:
    """Table 3 has a group for each number of trucks, and in each a row for each load."""
    heads = [row[0][2] for row in table3_page.numbers("table3")]
    assert heads == ["0.02", "0.04", "0.1", "0.4", "0.6"] * 4
    groups = [row[0][2] for table in table3_page.rows for row in table if len(row) == 1 and row[0][0] == "th"]
    assert groups == ["3 trucks", "4 trucks", "5 trucks", "6 trucks"]


def test_shades_follow_the_standard_errors() -> None:
    """Up to 2, 3 and 4 on either side, and beyond; none where there is nothing to compare."""
    off = (None, 0.0, -2.0, 2.01, -3.0, 3.01, 4.0, -4.01, 171.0)
    shades = ["", "near", "near", "fair", "fair", "far", "far", "apart", "apart"]
    assert [shade_of(one) for one in off] == shades


def test_each_cell_has_the_colour_and_the_number_of_its_distance(table3: ExperimentResult, table3_page: Page) -> None:
    """The colour of a cell is never the only sign: the standard errors stand in it."""
    rows = table3_page.numbers("table3")
    shown = [cell for row in rows for cell in row[1:]]
    by_half = list(zip(table3.lines[::2], table3.lines[1::2], strict=True))
    cells = [cell for pair in by_half for line in pair for cell in line.cells]
    found = set()
    for (_, classes, text), cell in zip(shown, cells, strict=True):
        shades = SHADES & set(classes.split())
        found |= shades
        assert shades == ({shade_of(cell.off)} if cell.off is not None else set())
        if cell.off is not None:
            number = f"{cell.off:+.1f}".replace("-", "\N{MINUS SIGN}")
            assert f"{number} SE" in text or f"{cell.off:.1f}".strip("-") == "0.0"
    assert "near" in found
    assert "apart" in found


def test_the_late_fraction_is_shown_without_colour_and_with_the_reason(table3_page: Page, tmp_path: Path) -> None:
    """The paper's FLAR stands there, uncoloured, and a footnote says why; without it there is no footnote."""
    late = table3_page.numbers("table3")[0][1]
    assert "paper 0.39" in late[2].replace("  ", " ")
    assert not SHADES & set(late[1].split())
    assert FLAR_NOTE in table3_page.words
    assert "CF late†" in table3_page.words.replace("\n", "")
    other = page_of(tmp_path, made(small(experiment_named("appendix-load-01")), num_graphs=3))
    assert FLAR_NOTE not in other.words
    assert "CF late†" not in other.words


def test_our_columns_are_marked(table3_page: Page) -> None:
    """The head and every cell of a policy that the paper does not have are marked, and no others."""
    heads = [
        cell
        for table in table3_page.rows
        for row in table
        for cell in row
        if cell[2].removesuffix(" ours") in HEADS.values()
    ]
    ours = {HEADS[policy] for policy in OURS}
    assert {text for _, classes, text in heads if "ours" in classes.split()} == {f"{head} ours" for head in ours}
    for row in table3_page.numbers("table3"):
        places = [place for place, (_, classes, _) in enumerate(row) if "ours" in classes.split()]
        assert places == [5, 6, 7, 12, 13, 14]


def test_one_graph_has_no_standard_error(tmp_path: Path) -> None:
    """A mean of one is shown without ± and without a colour, beside the paper's."""
    rows = page_of(tmp_path, made(experiment_named("table4"), num_graphs=1)).numbers("table4")
    for _, classes, text in (cell for row in rows for cell in row):
        assert "±" not in text
        assert "SE" not in text
        assert not SHADES & set(classes.split())
    assert "paper 2.36" in rows[0][3][2].replace("  ", " ")


def test_the_range_of_the_papers_second_table_has_one_decimal(tmp_path: Path) -> None:
    """Smallest and largest are shown as printed, without a colour; only the mean is compared."""
    page = page_of(tmp_path, made(experiment_named("table2")))
    low, mean, high, *ours = (text.replace("  ", " ") for _, _, text in page.numbers("table2")[1][1:])
    assert len(ours) == 3
    assert "paper" not in " ".join(ours)
    assert low.endswith("paper 0.2")
    assert "paper 2.8" in mean
    assert mean.endswith("SE")
    assert high.endswith("paper 12.2")
    assert "Without correlation" not in page.words


def test_few_graphs_come_with_a_warning(table3_page: Page, tmp_path: Path) -> None:
    """Standard errors from a handful of graphs say little; those from 150 need no warning."""
    few = made(small(experiment_named("table3")), num_graphs=5)
    assert "With so few graphs" in page_of(tmp_path, few).words
    assert "With so few graphs" not in table3_page.words


def test_settings_say_how_many_graphs_there_are(table3: ExperimentResult, tmp_path: Path) -> None:
    """A number of graphs that is not that of the experiment is shown beside it."""
    page = page_of(tmp_path, table3, made(small(experiment_named("table4")), num_graphs=5))
    first, second = ({row[0][2]: row[1][2] for row in table if len(row) == 2} for table in (page.rows[0], page.rows[2]))
    assert first["Graphs"] == "150"
    assert second["Graphs"] == "5 (the experiment has 150)"
    assert first["Loads (ρ)"] == "0.02, 0.04, 0.1, 0.4, 0.6"
    assert (first["Seed"], first["Shared delays (q)"]) == ("7", "0, 1")


def test_late_fractions_that_are_not_certain_are_counted(
    table3: ExperimentResult, table3_page: Page, tmp_path: Path
) -> None:
    """A result with open rows says how many."""
    rows = table3.rows | {"converged": np.arange(len(table3.rows["side"])) >= 2}
    page = page_of(tmp_path, replace(table3, rows=rows))
    assert "Not proven as closely as it should be: 2 late fractions." in page.words
    assert "Not proven" not in table3_page.words


def test_the_summary_says_how_well_it_agrees(
    table3: ExperimentResult, table3_page: Page, whole: Page, tmp_path: Path
) -> None:
    """In words, for one experiment and for all; a figure alone has nothing to agree with."""
    assert agreement_of([table3]).words in table3_page.words
    assert agreement_of([table3, table3]).num_cells == 2 * agreement_of([table3]).num_cells > 0
    assert "9 tables and 6 figures" in whole.words
    figure = page_of(tmp_path, made(small(experiment_named("figure-load")), num_graphs=2))
    assert "has 1 figure with our own numbers" in figure.words
    assert "standard error" not in figure.words


def test_words_of_settings_are_never_markup(tmp_path: Path) -> None:
    """Titles, places and notes with signs of markup are shown as they are written."""
    odd = '<script>alert("x")</script> & <b>'
    result = made(replace(small(experiment_named("table3")), title=odd, paper=odd, notes=(odd,)), num_graphs=3)
    text = write_study_report(tmp_path / "report.html", [result]).read_text("utf-8")
    assert "<script" not in text
    assert "<b>&" not in text
    assert Page(text).words.count(odd) == 5


def test_the_end_says_what_it_was_made_with(
    table3: ExperimentResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Versions, seed, time and date; nothing that names the machine or a person's folders."""
    machine = platform.uname_result("Linux", "name-of-a-host", "release-of-a-host", "version", "x86_64")
    monkeypatch.setattr(platform, "uname", lambda: machine)
    text = write_study_report(tmp_path / "report.html", [table3], seconds=61.4, today=DAY).read_text("utf-8")
    page = Page(text)
    facts = {row[0][2]: row[1][2] for row in page.rows[-1]}
    assert (facts["Date"], facts["Seed"], facts["Time of this run"]) == ("2024-02-29", "7", "1 min 1 s")
    assert facts["Python"] == platform.python_version()
    for package in ("runcard", "numpy", "scipy", "numba", "joblib", "duckdb"):
        assert facts[package] == version(package)
    assert str(tmp_path) not in text
    assert facts["Platform"].startswith("Linux on x86_64, ")
    assert "of-a-host" not in text
