"""What `runcard fit` prints."""

import json
from pathlib import Path
from typing import Any

from runcard.calibrate.backtest import Backtest
from runcard.calibrate.fit import Fit
from runcard.calibrate.goodness import Goodness
from runcard.calibrate.log import shown_rejections
from runcard.calibrate.page import number_text
from runcard.cli.terminal import make_console
from runcard.table import Table, visible


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


def _numbers(fit: Fit) -> Table:
    """The numbers; those that somebody overruled, and what is most common, have no interval."""
    any_overruled = any(one.fitted is not None for one in fit.numbers)
    headings = ["number", "value", "from", "to", "sample", *["overruled,\nthe log says"] * any_overruled]
    rows = []
    for one in fit.numbers:
        ends = (number_text(one.low), number_text(one.high)) if one.low != one.high else ("", "")
        said = ["" if one.fitted is None else number_text(one.fitted)] * any_overruled
        rows.append([one.name, number_text(one.value), *ends, f"{one.sample:,}", *said])
    return Table(headings, rows, ruled=False)


def _late(goodness: Goodness) -> Table:
    headings, rows = ["missed, for what was really sent", "incidents", "in the log", "predicted"], []
    for one in goodness.late:
        words = f"{one.standard.type}, {one.standard.kind}, {one.standard.rule}"
        observed = f"{100.0 * one.observed:.1f} % ({100.0 * one.low:.1f} to {100.0 * one.high:.1f})"
        rows.append([words, f"{one.num:,}", observed, f"{100.0 * one.predicted:.1f} %"])
    return Table(headings, rows, ruled=False)


def _replay(backtest: Backtest) -> Table:
    """Policies; the gain is over the first."""
    headings = [f"replay of {backtest.num_incidents:,} incidents", "missed", "from", "to", "fewer", "from", "to"]
    rows = []
    for number, one in enumerate(backtest.policies):
        ends = [f"{value:.4f}" for value in one.per_incident]
        fewer = ["", "", ""] if number == 0 else [f"{value:.4f}" for value in backtest.fewer(number)]
        rows.append([one.name, *ends, *fewer])
    return Table(headings, rows, ruled=False)
