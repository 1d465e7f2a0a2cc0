"""What `runcard study` does: run experiments, write their Parquet files and the report, print what was found."""

import time
from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from rich.table import Table
from rich.text import Text

from runcard.errors import InputError, MissingExtraError
from runcard.outputs.terminal import make_console
from runcard.outputs.words import counted
from runcard.study.engine import check_engine, run_tasks
from runcard.study.experiment import Experiment, experiment_named, experiments
from runcard.study.findings import FINDINGS, Derivation, derive
from runcard.study.progress import StudyBar
from runcard.study.report import write_report
from runcard.study.result import Result, agreement_of
from runcard.study.store import StudyFolder, connect
from runcard.study.tables import MANY_GRAPHS, Cell, StudyTable
from runcard.study.tasks import tasks_of

FINDING = "finding-"
WIDTH = 140


def list_experiments() -> None:
    """Print the name and title of every experiment and finding."""
    table = Table(box=None, pad_edge=False)
    for head in ("name", "in the paper", "what"):
        table.add_column(head)
    for one in experiments():
        table.add_row(one.name, one.paper, one.title)
    for finding in FINDINGS:
        table.add_row(f"{FINDING}{finding.number}", "a finding about it", finding.title)
    console = make_console()
    console.width = max(console.width, WIDTH)
    console.print(table)


def run_study(
    names: Sequence[str],
    output: Path,
    *,
    num_graphs: int | None,
    jobs: int,
    seed: int,
    backend: str,
    address: str | None,
) -> None:
    """Run the experiments and findings of these names, or all experiments if there are none."""
    numbers = [number for name in names for number in _finding_numbers(name)]
    chosen = [experiment_named(name) for name in names if not _finding_numbers(name)]
    if chosen or not names:
        _run_experiments(
            chosen or experiments(), output, num_graphs=num_graphs, jobs=jobs, seed=seed, backend=backend,
            address=address, in_full=bool(chosen),
        )  # fmt: skip
    if numbers and backend != "loky":
        raise InputError(f"findings run on this machine: expected no --backend for them, got {backend!r}")
    for number in numbers:
        derivation = derive(number, num_graphs=num_graphs, seed=seed, jobs=jobs)
        print_derivation(derivation, few=num_graphs is not None and num_graphs < MANY_GRAPHS)


def _finding_numbers(name: str) -> list[int]:
    """The findings that a name stands for; none if it is the name of an experiment."""
    numbers = [finding.number for finding in FINDINGS]
    if name == "findings":
        return numbers
    if not name.startswith(FINDING):
        return []
    number = name.removeprefix(FINDING)
    if not number.isdecimal() or int(number) not in numbers:
        raise InputError(f"expected a finding from {FINDING}1 to {FINDING}{max(numbers)}, got {name!r}")
    return [int(number)]


def _run_experiments(
    chosen: Sequence[Experiment],
    output: Path,
    *,
    num_graphs: int | None,
    jobs: int,
    seed: int,
    backend: str,
    address: str | None,
    in_full: bool,
) -> None:
    """Run experiments and write their files; `in_full` prints the tables, otherwise only how well they agree."""
    check_engine(backend, address)
    check_extras()  # before the work, not after it
    folder, began, console = StudyFolder(output, seed), time.perf_counter(), make_console()
    folder.prepare(version("runcard"))
    of = {one.name: tasks_of(one, num_graphs=num_graphs, seed=seed) for one in chosen}
    tasks = list({task.key: task for one in chosen for task in of[one.name]}.values())
    before = [task for task in tasks if folder.is_done(task)]
    bar = StudyBar(tasks, len(before), sum(task.weight for task in before))
    try:
        with bar:
            known = {task.key for task in before}
            rest = [task for task in tasks if task.key not in known]
            run_tasks(rest, folder, jobs=jobs, backend=backend, address=address, done=bar.done)
    except BaseException:
        make_console(stderr=True).print(
            f"{output}: {bar.num_done} of {bar.num_tasks} tasks are done; the same command goes on from there.",
            soft_wrap=True,
        )
        raise
    for one in chosen:
        if of[one.name]:
            folder.finish(one, of[one.name])
    seconds = time.perf_counter() - began
    # The report has all that the folder has; a map has no rows, and is found again if it is asked for.
    results = [
        Result(experiment=one, seed=seed, rows=folder.rows(one) if folder.has(one) else {})
        for one in experiments()
        if folder.has(one) or (one.kind == "map" and one in chosen)
    ]
    of_now = [result for result in results if result.experiment in chosen]
    for result in of_now:
        print_result(result, in_full=in_full)
    report = write_report(output / "report.html", results, seconds=seconds)
    if sum(result.is_table for result in of_now) > 1:
        console.print(f"All together: {agreement_of(of_now).words}", style="bold", soft_wrap=True)
    console.print(f"Wrote {report} in {seconds:.0f} s; the rows are in {output}/*.parquet", soft_wrap=True)


def check_extras() -> None:
    """Raise a MissingExtraError if something that a study needs is not installed."""
    connect().close()
    if find_spec("matplotlib") is None:
        raise MissingExtraError("runcard study", "matplotlib", "report")


def print_result(result: Result, *, in_full: bool) -> None:
    """Print a table, or where to find a figure."""
    console, experiment = make_console(), result.experiment
    if not result.is_table:
        console.print(f"{experiment.name}: {experiment.title}: a figure, in the report", soft_wrap=True)
        return
    console.print(f"{experiment.name} ({experiment.paper}): {experiment.title}", style="bold", soft_wrap=True)
    if in_full:
        # A number that is cut off is worse than a line that wraps.
        console.width = max(console.width, WIDTH)
        console.print(study_table(result.table))
        console.print("In percent; the paper's in brackets. Standard errors are in the report.")
    console.print(result.table.words, soft_wrap=True)
    if result.num_open:
        console.print(
            f"Not proven as closely as it should be: {counted(result.num_open, 'late fraction')}", style="yellow"
        )


def study_table(table: StudyTable) -> Table:
    """A table for the terminal: percent, the paper's in brackets, in colour where they are far apart."""
    found = Table(box=None, pad_edge=False)
    for head in ("side", "trucks", "load", "correlated", *table.columns):
        found.add_column(head, justify="right", no_wrap=True)
    for line in table.lines:
        setting = line.setting
        found.add_row(
            str(setting.side), str(setting.trucks), f"{setting.load:g}", "yes" if line.shared_delay else "no",
            *(_cell_text(cell) for cell in line.cells),
        )  # fmt: skip
    return found


def _cell_text(cell: Cell) -> Text:
    """A number, and the paper's; standard errors are in the report."""
    value = round(cell.value, 2) + 0.0  # no minus before a zero
    words = f"{value:.2f}" if cell.paper is None else f"{value:.2f} ({cell.paper:.2f})"
    far = cell.off is not None and abs(cell.off) > 3.0
    return Text(words, style="yellow" if far else "")


def print_derivation(derivation: Derivation, *, few: bool) -> None:
    """Print a finding, and what was found again; `few`: with fewer graphs than it takes to judge."""
    console, finding = make_console(), derivation.finding
    console.print(f"{finding.number}. {finding.title}", style="bold", soft_wrap=True)
    console.print(finding.claim, soft_wrap=True)
    for line in derivation.lines:
        console.print(f"  {line}", soft_wrap=True)
    verdict = "It holds." if derivation.holds else "It does NOT hold here."
    if few and not derivation.holds:
        verdict = f"With so few graphs it cannot be said whether it holds: take {MANY_GRAPHS} or more."
    console.print(verdict, style="green" if derivation.holds else "yellow" if few else "red")
