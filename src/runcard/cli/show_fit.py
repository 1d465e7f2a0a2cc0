"""What `runcard fit` prints."""

import json
from pathlib import Path
from typing import Any

from rich.table import Table

from runcard.calibrate.backtest import Backtest
from runcard.calibrate.fit import Fit
from runcard.calibrate.goodness import Goodness
from runcard.calibrate.log import shown_rejections
from runcard.calibrate.page import number_text
from runcard.cli.terminal import make_console
from runcard.cli.visible import visible


def show_fit(
    fit: Fit, goodness: Goodness, backtest: Backtest | None, document: dict[str, Any] | None, output: Path | None
) -> None:
    """Print a fit: as JSON if there is a document, else as tables."""
    if document is not None:
        print(json.dumps(document))
        return
    console = make_console()
    log = fit.log
    console.print(
        f"{visible(log.name)}: {log.num_rows:,} rows, {len(log.responses):,} responses used, "
        f"{f'{log.num_elsewhere:,} kept for the replay, ' if log.num_elsewhere else ''}"
        f"{len(log.incidents):,} incidents, {fit.num_days:.1f} days",
        soft_wrap=True,
    )
    for line in shown_rejections(log):
        console.print(f"  not used, {visible(line)}", soft_wrap=True)
    console.print(_numbers(fit))
    console.print(
        f"Units away when sent: {fit.num_away:,} drives left out, {fit.num_too_fast:,} more are faster than the road "
        f"({fit.too_fast_by_chance:,.0f} by chance). "
        f"{fit.num_slow:,} drives are too slow to count. "
        f"Routes explain {100.0 * fit.driving.explained:.0f} % of the variance of driving times.",
        soft_wrap=True,
    )
    for note in fit.notes:
        console.print(f"Note: {visible(note)}", soft_wrap=True)
    if goodness.late:
        console.print(_late(goodness))
    if backtest is not None:
        console.print(_replay(backtest))
    if goodness.faults:
        console.print("The fit is bad in these ways:")
        for fault in goodness.faults:
            console.print(f"  - {visible(fault)}", soft_wrap=True)
    else:
        console.print("Nothing is badly fitted.")
    if output is not None:
        console.print(f"Wrote {output}: the city, fit.html, fit.json and rejected.csv", soft_wrap=True)


def _table(*heads: str, left: int = 1) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for place, head in enumerate(heads):
        table.add_column(head, justify="left" if place < left else "right", no_wrap=place == 0)
    return table


def _numbers(fit: Fit) -> Table:
    """The numbers; those that somebody overruled, and what is most common, have no interval."""
    heads = ("number", "value", "from", "to", "sample")
    any_overruled = any(one.fitted is not None for one in fit.numbers)
    table = _table(*heads, *["overruled, the log says"] * any_overruled)
    for one in fit.numbers:
        ends = (number_text(one.low), number_text(one.high)) if one.low != one.high else ("", "")
        said = ["" if one.fitted is None else number_text(one.fitted)] * any_overruled
        table.add_row(visible(one.name), number_text(one.value), *ends, f"{one.sample:,}", *said)
    return table


def _late(goodness: Goodness) -> Table:
    table = _table("missed, for what was really sent", "incidents", "in the log", "predicted")
    for one in goodness.late:
        words = f"{one.standard.type}, {one.standard.kind}, {one.standard.rule}"
        observed = f"{100.0 * one.observed:.1f} % ({100.0 * one.low:.1f} to {100.0 * one.high:.1f})"
        table.add_row(visible(words), f"{one.num:,}", observed, f"{100.0 * one.predicted:.1f} %")
    return table


def _replay(backtest: Backtest) -> Table:
    """Policies; the gain is over the first."""
    table = _table(f"replay of {backtest.num_incidents:,} incidents", "missed", "from", "to", "fewer", "from", "to")
    for number, one in enumerate(backtest.policies):
        ends = [f"{value:.4f}" for value in one.per_incident]
        fewer = ["", "", ""] if number == 0 else [f"{value:.4f}" for value in backtest.fewer(number)]
        table.add_row(visible(one.name), *ends, *fewer)
    return table
