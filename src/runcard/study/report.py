"""The report of a study: one HTML file that needs neither a network nor a script.

Every experiment has its settings, its notes and its table or figure. A cell of a table holds our mean ± its standard
error and, where they are known, the paper's number and how many standard errors ours is from it (see `tables.py`):

    near     at most 2
    fair     more than 2, at most 3
    far      more than 3, at most 4
    apart    more than 4

The words of `experiments.toml` are text here, never markup: the template escapes everything except figures.
"""

import os
import platform
from collections import defaultdict
from collections.abc import Sequence
from datetime import date
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from runcard.output_file import write_whole
from runcard.page import page_of
from runcard.plan.words import counted
from runcard.study.experiment import Experiment, Setting
from runcard.study.figures import CAPTIONS, figure_svg, look_of
from runcard.study.tables import HEADS, MANY_GRAPHS, OURS, ExperimentResult, TableLine, TableNumber, agreement_of

PACKAGES: Final = ("runcard", "numpy", "scipy", "numba", "joblib", "duckdb", "matplotlib")
MINUS: Final = "\N{MINUS SIGN}"

TABLE_CAPTIONS: Final = {
    "improvement": "Late incidents under closest-first (CF late), and mean improvement δ over it, all in percent",
    "range": "Improvement δ over closest-first in percent: smallest, mean and largest of OPT, and means of ours",
    "gap": "Mean gap to OPT: how many more incidents are late, in percent",
    "ignoring": "How many more incidents are late, in percent, when OPT is found as if there were no correlation",
}
"""By kind of table: what its numbers are."""

CF_LATE: Final = "CF late"
FLAR_NOTE: Final = (
    "† The paper's late fractions (its FLAR) are shown as printed and not compared: they are about 1/17 of what its "
    "own model gives, at every number of trucks and load, and cannot be right (finding 7). At 3 trucks and load 0.6 no "
    "truck is idle 32.8 % of the time under every policy, and a truck from outside is late almost surely, yet the "
    "paper has 2.74 %."
)
FEW_NOTE: Final = (
    "With so few graphs the standard errors are rough, and all rows with the same trucks are of the same graphs: read "
    f"little into the colours below {MANY_GRAPHS} graphs."
)
RANGE_NOTE: Final = (
    "The smallest and the largest of other random graphs have no standard error, so they are not compared."
)


def write_study_report(
    path: Path, results: Sequence[ExperimentResult], *, seconds: float | None = None, today: date | None = None
) -> Path:
    """The file that now holds the report; `seconds` is how long this run of the study took."""
    page = page_of(
        "study.html",
        ours={HEADS[policy] for policy in OURS},
        shade_of=shade_of,
        with_minus=with_minus,
        sections=[_section(result) for result in results],
        summary=_summary(results),
        has_tables=any(result.is_table for result in results),
        facts=_facts(results, seconds, today or date.today()),
    )
    return write_whole(path, page.encode())


def shade_of(off: float | None) -> str:
    """The shade of a cell that is so many standard errors off; none where that is not known."""
    if off is None:
        return ""
    return next((name for name, most in (("near", 2.0), ("fair", 3.0), ("far", 4.0)) if abs(off) <= most), "apart")


def _summary(results: Sequence[ExperimentResult]) -> str:
    """What was done and how well it agrees, in a few sentences."""
    num_tables = sum(result.is_table for result in results)
    numbers = {"table": num_tables, "figure": len(results) - num_tables}
    parts = [counted(number, noun) for noun, number in numbers.items() if number]
    done = f"This report has {' and '.join(parts)} with our own numbers, from random cities of seed {_seeds(results)}."
    agreement = agreement_of(results)
    return f"{done} Where the paper's numbers are known to us, {agreement.words}" if agreement.num_cells else done


def _seeds(results: Sequence[ExperimentResult]) -> str:
    return ", ".join(str(seed) for seed in sorted({result.seed for result in results}))


def _facts(results: Sequence[ExperimentResult], seconds: float | None, today: date) -> tuple[tuple[str, str], ...]:
    """What the numbers were made with; nothing that names a machine or a person."""
    cores = counted(os.cpu_count() or 1, "core")
    minutes, rest = divmod(round(seconds or 0.0), 60)
    time = f"{minutes} min {rest} s" if minutes else f"{rest} s"
    return (
        ("Date", today.isoformat()),
        ("Seed", _seeds(results)),
        *([] if seconds is None else [("Time of this run", time)]),
        ("Python", platform.python_version()),
        *((package, version(package)) for package in PACKAGES),
        ("Platform", f"{platform.system()} on {platform.machine()}, {cores}"),
    )


def _section(result: ExperimentResult) -> dict[str, Any]:
    """An experiment as the page shows it: a table, or a figure with a caption."""
    experiment, num_open, where = result.experiment, result.num_open, result.experiment.paper
    open_note = f"Not proven as closely as it should be: {counted(num_open, 'late fraction')}."
    return {
        "name": experiment.name,
        "title": experiment.title,
        "where": _capital(where) if "paper" in where else f"{where} of the paper",
        "settings": _settings(result),
        "notes": [*experiment.notes, *([open_note] if num_open else [])],
        "table": _table(result) if result.is_table else None,
        "figure": None if result.is_table else figure_svg(result),  # matplotlib has escaped its text
        "caption": CAPTIONS.get(experiment.kind, ""),
    }


def _settings(result: ExperimentResult) -> list[tuple[str, str]]:
    """The settings of an experiment, each with its values."""
    experiment = result.experiment
    asked, found = experiment.graphs, result.num_graphs
    names = ("Sides", "Trucks (I)", "Loads (ρ)", "Targets (γ)", "Shared delays (q)")
    several = zip(names, (*experiment.axes, experiment.shared_delays), strict=True)
    return [
        *((name, ", ".join(f"{number:g}" for number in numbers)) for name, numbers in several),
        ("Graphs", str(found) if found == asked else f"{found} (the experiment has {asked})"),
        ("Seed", str(result.seed)),
    ]


def _table(result: ExperimentResult) -> dict[str, Any]:
    """A table as the page shows it: its columns are those of one half, without or with correlation."""
    experiment, first = result.experiment, result.lines[0]
    has_flar = any(cell.column == CF_LATE and cell.paper is not None for cell in first.cells)
    footnotes = [FLAR_NOTE] if has_flar else []
    if experiment.kind == "ignoring" and first.cells[0].paper is not None:
        footnotes.append(RANGE_NOTE)
    if result.agreement.num_cells and result.num_graphs < MANY_GRAPHS:
        footnotes.append(FEW_NOTE)
    last, groups = _groups(experiment, result.lines)
    return {
        "caption": TABLE_CAPTIONS[experiment.kind],
        "last_setting": last.capitalize(),
        "halves": [look_of(one)[0].capitalize() for one in experiment.shared_delays],
        "columns": result.columns,
        "with_footnote": CF_LATE if has_flar else None,
        "groups": groups,
        "decimals": 1 if experiment.kind == "ignoring" else 2,
        "footnotes": footnotes,
        "agreement": result.words,
    }


def _groups(
    experiment: Experiment, lines: Sequence[TableLine]
) -> tuple[str, dict[str, list[tuple[str, list[TableNumber]]]]]:
    """The setting that heads the rows, and the rows by what the others are, such as "Side 4, 3 trucks"."""
    several = zip(Setting._fields, experiment.axes, strict=True)
    *first, last = [name for name, values in several if len(values) > 1] or ["trucks"]
    groups: dict[str, list[tuple[str, list[TableNumber]]]] = defaultdict(list)
    for setting, of_setting in groupby(lines, key=lambda line: line.setting):
        values = setting._asdict()
        words = [f"{values[name]} trucks" if name == "trucks" else f"{name} {values[name]:g}" for name in first]
        cells = [cell for line in of_setting for cell in line.cells]
        groups[_capital(", ".join(words))].append((f"{values[last]:g}", cells))
    return last, groups


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def with_minus(number: float, form: str) -> str:
    """A number with a minus sign that is as wide as a plus; zero has no sign."""
    text = format(number, form)
    return text.replace("-", MINUS) if text.strip("+-0.") else text.lstrip("+-")
