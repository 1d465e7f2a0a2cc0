"""The paper's study against its targets: how long it takes, in how much memory, and how well it agrees."""

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.cases import THREADS, Row
from runcard.study.experiment import experiment_named
from runcard.study.store import StudyFolder
from runcard.study.tables import ExperimentResult, agreement_of

RUN = "import sys; from runcard.cli import main; sys.exit(main())"
COMPARED = ("table2", "table3", "table4")


def seconds_of(folder: Path, names: Sequence[str], num_graphs: int | None) -> float:
    """How long a study takes on two workers, started as a process of its own."""
    graphs = [] if num_graphs is None else ["--graphs", str(num_graphs)]
    command = [sys.executable, "-c", RUN, "study", *names, "-o", str(folder), "--jobs", str(THREADS), *graphs]
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def study_cases(*, quick: bool) -> Iterator[Row]:
    """Tables 3 and 4, and then all of the study; `quick` takes few graphs, and only the tables."""
    num_graphs = 20 if quick else None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "tables"
        seconds = seconds_of(folder, ("table3", "table4"), num_graphs)
        graphs = f"{num_graphs or experiment_named('table3').graphs} graphs"
        yield Row(f"Tables 3 and 4, {graphs}, all policies", f"{seconds:.0f} s", "< 300 s", seconds < 300)
        seconds_of(folder, ("table2",), num_graphs)
        results = [
            ExperimentResult(experiment=one, seed=1, rows=StudyFolder(folder, 1).rows(one))
            for one in map(experiment_named, COMPARED)
        ]
        found = agreement_of(results)
        share = found.within_3 / found.num_cells
        yield Row(
            f"Tables 2, 3 and 4, {graphs}: cells within 3 standard errors of the paper's",
            f"{found.within_3} of {found.num_cells} ({100 * share:.0f} %)",
            ">= 95 %",
            share >= 0.95,
        )
        yield Row(
            "  within 4",
            f"{found.within_4} of {found.num_cells}; the farthest is {found.farthest:.1f} off",
            "all",
            found.within_4 == found.num_cells,
        )
        if not quick:
            seconds = seconds_of(Path(name) / "all", (), None)
            yield Row("the whole study", f"{seconds / 60:.1f} min", "< 20 min", seconds < 1200)
    gib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    yield Row("memory of the largest process of the study", f"{gib:.2f} GiB", "< 2 GiB", gib < 2)
