"""Where one more unit should stand, for the terminal: the best places side by side."""

from runcard.city.model import LATE
from runcard.cli.show_whatif import print_care, print_faults
from runcard.cli.terminal import make_console
from runcard.outputs.whatif.one_more_words import (
    change_a_year,
    misses_per_100,
    one_more_headline,
    place_words,
    proof_words,
    see_more,
    year_span,
)
from runcard.outputs.whatif.places import OneMore
from runcard.plan.words import city_line, misses
from runcard.table import Cell, Row, Table


def print_one_more(found: OneMore) -> None:
    """Print where one more unit should stand."""
    console = make_console()
    console.print(city_line(found.city_of_period), style="bold")
    console.print()
    print_care(console, found.fit_faults)
    console.print(one_more_headline(found), style="bold", soft_wrap=True)
    console.print(proof_words(found), soft_wrap=True)
    console.print()
    console.print(place_table(found))
    console.print(see_more(found), soft_wrap=True)
    print_faults(console, found.fit_faults)


def place_table(found: OneMore) -> Table:
    """The best places, below them the department as it is."""
    what = misses(found.city).replace(" ", "\n")
    headings = [
        f"one more {found.kind} at",
        f"{what}\nper 100",
        "change\na year",
        "first there\nmin",
        "s less",
    ]
    other = found.city.objective != LATE
    headings += ["what is\nminimised"] if other else []
    base = found.base
    assert base.mean_response_minutes is not None
    rows: list[Row] = []
    for place in found.best:
        assert place.mean_response_minutes is not None
        between = year_span(found, place)
        shorter = 60.0 * (base.mean_response_minutes - place.mean_response_minutes)
        cells: list[str | Cell] = [
            # Beside the first line of a number that has its interval in a second one.
            Cell(place_words(found, place), below=[""] if between else []),
            misses_per_100(found, place),
            Cell(change_a_year(found, place), below=[between] if between else []),
            f"{place.mean_response_minutes:.2f}",
            f"{round(shorter, 1) + 0.0:.1f}",
        ]
        rows.append(cells + ([f"{place.cost:.5f}"] if other else []))
    foot: list[str | Cell] = ["as it is", misses_per_100(found, base), "", f"{base.mean_response_minutes:.2f}", ""]
    rows.append(foot + ([f"{base.cost:.5f}"] if other else []))
    return Table(headings, rows, has_foot=True)
