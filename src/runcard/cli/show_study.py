"""What a study found, for the terminal."""

from runcard.cli.terminal import make_console
from runcard.plan.words import counted
from runcard.study.evidence import Evidence
from runcard.study.experiment import experiments
from runcard.study.findings import FINDINGS
from runcard.study.run import FINDING
from runcard.study.tables import MANY_GRAPHS, ExperimentResult
from runcard.table import DOUBTFUL, Cell, Row, Table

WIDTH = 140


def print_experiments() -> None:
    """Print the name and title of every experiment and finding."""
    rows = [
        *((one.name, one.paper, one.title) for one in experiments()),
        *((f"{FINDING}{number}", "a finding about it", finding.title) for number, finding in FINDINGS.items()),
    ]
    console = make_console()
    console.width = max(console.width, WIDTH)
    console.print(Table(["name", "in the paper", "what"], rows, left=3, ruled=False))


def print_result(result: ExperimentResult, *, in_full: bool) -> None:
    """Print a table, or where to find a figure."""
    console, experiment = make_console(), result.experiment
    if not result.is_table:
        console.print(f"{experiment.name}: {experiment.title}: a figure, in the report", soft_wrap=True)
        return
    console.print(f"{experiment.name} ({experiment.paper}): {experiment.title}", style="bold", soft_wrap=True)
    if in_full:
        # A number that is cut off is worse than a line that wraps.
        console.width = max(console.width, WIDTH)
        console.print(study_table(result))
        console.print("In percent; the paper's in brackets. Standard errors are in the report.")
    console.print(result.words, soft_wrap=True)
    if result.num_open:
        console.print(
            f"Not proven as closely as it should be: {counted(result.num_open, 'late fraction')}", style=DOUBTFUL
        )


def study_table(result: ExperimentResult) -> Table:
    """A table for the terminal: percent, the paper's in brackets, in colour where they are far apart."""
    rows: list[Row] = []
    for line in result.lines:
        setting, cells = line.setting, []
        for cell in line.cells:
            words = f"{round(cell.value, 2) + 0.0:.2f}"  # no minus before a zero
            words += "" if cell.paper is None else f" ({cell.paper:.2f})"
            cells.append(Cell(words, DOUBTFUL if cell.off is not None and abs(cell.off) > 3.0 else ""))
        correlated = "yes" if line.shared_delay else "no"
        rows.append([str(setting.side), str(setting.trucks), f"{setting.load:g}", correlated, *cells])
    return Table(["side", "trucks", "load", "correlated", *result.columns], rows, left=0, ruled=False)


def print_finding(number: int, evidence: Evidence, *, few: bool) -> None:
    """Print a finding, and what was found again; `few`: with fewer graphs than it takes to judge."""
    console, finding = make_console(), FINDINGS[number]
    console.print(f"{number}. {finding.title}", style="bold", soft_wrap=True)
    console.print(finding.claim, *(f"  {line}" for line in evidence.lines), sep="\n", soft_wrap=True)
    verdict = "It holds." if evidence.holds else "It does NOT hold here."
    if few and not evidence.holds:
        verdict = f"With so few graphs it cannot be said whether it holds: take {MANY_GRAPHS} or more."
    console.print(verdict, style="green" if evidence.holds else "yellow" if few else "red")
