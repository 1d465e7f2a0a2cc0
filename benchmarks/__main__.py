"""`make bench`: every figure of the project against its target, printed as a table; `--write` adds it to the ledger."""

import argparse
import datetime
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from benchmarks.bound import bound_cases
from benchmarks.calibrate import calibrate_cases
from benchmarks.cards import cards_cases
from benchmarks.cases import Row, all_cases
from benchmarks.cluster import cluster_cases
from benchmarks.department import department_cases
from benchmarks.desk import desk_cases
from benchmarks.explorer import explorer_cases
from benchmarks.gaps import gap_cases
from benchmarks.heuristics import near_cases, online_cases
from benchmarks.one_more import one_more_cases
from benchmarks.report import report_cases
from benchmarks.response import response_cases
from benchmarks.service import SECONDS, service_cases
from benchmarks.simulation import simulation_cases
from benchmarks.study import study_cases

PARTS: Final = {
    "desk": desk_cases,
    "response": response_cases,
    "exact": all_cases,
    "online": online_cases,
    "near": near_cases,
    "simulation": simulation_cases,
    "department": department_cases,
    "cluster": cluster_cases,
    "calibrate": calibrate_cases,
    "cards": cards_cases,
    "report": report_cases,
    "one-more": one_more_cases,
    "study": study_cases,
    "service": service_cases,
    "explorer": explorer_cases,
    "bound": bound_cases,
    "gaps": gap_cases,
}
LEDGER = Path(__file__).parent.parent / "docs" / "results.md"


def machine() -> str:
    """The processor that the figures are of."""
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []:
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def entry(rows: list[Row]) -> str:
    """The ledger's entry for a run: date, commit, machine and the table."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    lines = [
        f"### {datetime.datetime.now(tz=datetime.UTC):%Y-%m-%d}, commit {commit.stdout.strip() or 'unknown'}",
        "",
        f"`make bench` on 2 threads of {machine()}, Python {platform.python_version()}.",
        "",
        "| what | measured | target | |",
        "| --- | --- | --- | --- |",
    ]
    lines += [f"| {row.name} | {row.measured} | {row.target} | {'met' if row.met else '**missed**'} |" for row in rows]
    return "\n".join([*lines, ""])


def main() -> int:
    """0 if every target was met."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave out what takes more than a few seconds")
    parser.add_argument(
        "--only",
        choices=PARTS,
        help="only what a person at the desk waits for, "
        "P(late), the exact solver, how quick or near heuristics are, simulation, a department, fits "
        "to logs, run cards, the report, where one more engine should stand, the study, the service under load, the "
        "explorer in a browser, the bound on every policy, how far from the optimum policies are at 16 and 20 trucks",
    )
    parser.add_argument("--seeds", type=int, default=100, help="made-up logs that a known city is fitted to")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long the service is under load")
    parser.add_argument("--data", type=Path, help="a folder with real raw files: manhattan and sanfrancisco")
    parser.add_argument("--write", action="store_true", help=f"add the table to {LEDGER.name}")
    options = parser.parse_args()
    console = Console()
    rows = []
    of_calibrate = partial(calibrate_cases, seeds=options.seeds, data=options.data)
    every: dict[str, Callable[..., Iterator[Row]]] = {
        **PARTS,
        "calibrate": of_calibrate,
        "report": partial(report_cases, data=options.data),
        "bound": partial(bound_cases, data=options.data),
        "service": partial(service_cases, data=options.data, seconds=options.seconds),
    }
    parts = [every[options.only]] if options.only else list(every.values())
    for row in chain.from_iterable(part(quick=options.quick) for part in parts):
        rows.append(row)
        console.print(
            f"{'[green]met   ' if row.met else '[red]MISSED'}[/] {row.name}: {row.measured} (target {row.target})"
        )
    table = Table("what", "measured", "target", "", title="runcard benchmark")
    for row in rows:
        table.add_row(row.name, row.measured, row.target, "[green]met" if row.met else "[red]MISSED")
    console.print(table)
    if options.write:
        LEDGER.write_text(LEDGER.read_text().rstrip("\n") + "\n\n" + entry(rows))
    return 0 if all(row.met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
