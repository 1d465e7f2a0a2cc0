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
        f"{len(log.incidents):,} incidents, {fit.num_days:.1f} days",
        soft_wrap=True,
    )
    for line in shown_rejections(log):
        console.print(f"  not used, {visible(line)}", soft_wrap=True)
    console.print(_numbers(fit))
    console.print(
        f"Units away when sent: {fit.num_away:,} drives left out, {fit.num_too_fast:,} more are faster than the road. "
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
    table = _table("number", "value", "from", "to", "sample")
    for one in fit.numbers:
        mark = "" if one.fitted is None else f" (overruled: the log says {number_text(one.fitted)})"
        ends = (number_text(one.low), number_text(one.high))
        table.add_row(visible(one.name) + mark, number_text(one.value), *ends, f"{one.sample:,}")
    return table


def _late(goodness: Goodness) -> Table:
    table = _table("missed, for what was really sent", "incidents", "in the log", "predicted")
    for one in goodness.late:
        words = f"{one.standard.type}, {one.standard.kind}, {one.standard.rule}"
        observed = f"{100.0 * one.observed:.1f} % ({100.0 * one.low:.1f} to {100.0 * one.high:.1f})"
        table.add_row(visible(words), f"{one.num:,}", observed, f"{100.0 * one.predicted:.1f} %")
    return table


def _replay(backtest: Backtest) -> Table:
    first = backtest.policies[0].name
    table = _table(
        f"replay of {backtest.num_incidents:,} unseen incidents", "missed per incident", f"fewer than {first}"
    )
    for number, one in enumerate(backtest.policies):
        value, low, high = one.per_incident
        fewer, least, most = backtest.fewer(number)
        gain = "" if number == 0 else f"{fewer:.4f} ({least:.4f} to {most:.4f})"
        table.add_row(visible(one.name), f"{value:.4f} ({low:.4f} to {high:.4f})", gain)
    return table
