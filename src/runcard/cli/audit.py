"""`runcard audit`: the audit log of the service, as a table, and whether the model still fits."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from runcard.cli.parameters import AsJson, check_page, option, path_option

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from runcard.service.audit.drift import DriftDocument

ACTIONS = ("export", "drift")


def audit(
    url: Annotated[
        str, typer.Argument(metavar="URL", help="The audit log: a path, sqlite:///path or postgresql://host/database.")
    ],
    action: Annotated[
        str, typer.Argument(metavar="ACTION", help="export: write the log as a table; drift: does the model still fit?")
    ],
    output: Annotated[
        Path | None,
        path_option("FILE", "export: the file, .csv, .parquet or .jsonl; drift: a page, .html.", "--output", "-o"),
    ] = None,
    since: Annotated[str | None, option("TIME", "Only decisions from this time on, such as 2026-11-01.")] = None,
    until: Annotated[str | None, option("TIME", "Only decisions before this time.")] = None,
    as_json: AsJson = False,
) -> None:
    """Read the audit log of the service, also while the service runs.

    `export` writes a row for every decision, kind and standard, with the outcome that counts. `drift` compares how
    often each standard was met with the chances that were predicted, by month, and warns where luck does not explain
    the difference.
    """
    from runcard.service.audit import open_audit

    if action not in ACTIONS:
        raise typer.BadParameter(f"expected export or drift, got {action!r}", param_hint="'ACTION'")
    if action == "export" and (output is None or as_json):
        raise typer.BadParameter("export needs a file to write: -o FILE, and takes no --json", param_hint="'-o'")
    if action == "drift":
        check_page(output)
    first, end = _time(since, "--since"), _time(until, "--until")
    log = open_audit(url, create=False)
    try:
        decisions = log.decisions(since=first, until=end)
        if action == "export":
            _export(decisions, output or Path())
        else:
            _drift(decisions, output, as_json=as_json)
    finally:
        log.close()


def _export(decisions: "Iterator[dict[str, Any]]", output: Path) -> None:
    from runcard.cli.terminal import print_written
    from runcard.service.audit.export import export

    path = export(decisions, output)
    print_written(path)


def _drift(decisions: "Iterator[dict[str, Any]]", output: Path | None, *, as_json: bool) -> None:
    import json
    from datetime import UTC, datetime

    from runcard.cli.terminal import print_written
    from runcard.output_file import write_whole
    from runcard.service.audit.drift import find_drift
    from runcard.service.audit.drift_page import drift_page

    found = find_drift(decisions)
    if output is not None:
        write_whole(output, drift_page(found, made=datetime.now(UTC)).encode())
    if as_json:
        print(json.dumps(found.model_dump(), indent=2))
        return
    _print_drift(found)
    print_written(output)


def _print_drift(found: "DriftDocument") -> None:
    """Print a line for each standard and month, and what is to be known of them."""
    from rich.text import Text

    from runcard.cli.terminal import make_console
    from runcard.plan.words import round_percent
    from runcard.service.audit.drift_page import luck
    from runcard.table import Cell, Table

    console = make_console()
    if found.rows:
        headings = ["standard", "month", "incidents", "met", "predicted", "first, min", "predicted, min"]
        headings += ["chance of such luck", ""]
        rows = []
        for row in found.rows:
            minutes = ["–" if one is None else f"{one:.1f}" for one in (row.first_minutes, row.predicted_minutes)]
            met = [round_percent(part, 1) for part in (row.met_fraction, row.predicted)]
            cells = [f"{row.incidents:,}", *met, *minutes, luck(row.p_value), "drift" if row.warns else ""]
            words = [row.words, row.when, *cells]
            rows.append([Cell(word, "bold" if row.warns else "") for word in words])
        console.print(Table(headings, rows, left=2, ruled=False))
    for sentence in (found.headline, *found.warnings, *found.notes):
        console.print(Text(sentence), soft_wrap=True)


def _time(text: str | None, name: str) -> "datetime | None":
    """A time that limits what is read."""
    if text is None:
        return None
    from runcard.service.audit.outcomes import limit_of

    try:
        return limit_of(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=f"'{name}'") from error
