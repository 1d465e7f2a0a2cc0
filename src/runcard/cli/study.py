"""`runcard study`: the paper's experiments, and what it leaves open or gets wrong."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from runcard.cli.parameters import Address, Seed, option, path_option, whole_option

if TYPE_CHECKING:
    from runcard.study.tasks import Task


def study(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Experiments or findings; all experiments if left out."),
    ] = None,
    output: Annotated[
        Path, path_option("FOLDER", "Where results and the report are written.", "--output", "-o")
    ] = Path("runcard-study"),
    graphs: Annotated[
        int | None, whole_option("Random graphs for each setting; as in the paper if left out.", least=1, most=10**6)
    ] = None,
    jobs: Annotated[
        int | None, whole_option("Worker processes; one for each processor if left out.", least=1, most=10_000)
    ] = None,
    seed: Seed = 1,
    backend: Annotated[str, option("NAME", "Where workers run: loky (this machine) or dask (a cluster).")] = "loky",
    address: Address = None,
    list_names: Annotated[bool, typer.Option("--list", help="List the experiments and findings, and stop.")] = False,
) -> None:
    """Run the paper's numerical study, and write a report.

    A study that was stopped goes on where it was when the same command is given again.
    """
    from runcard.cli.show_study import print_experiments, print_finding, print_result
    from runcard.cli.terminal import make_console
    from runcard.study.findings import derive
    from runcard.study.run import chosen_work, run_study
    from runcard.study.tables import MANY_GRAPHS, agreement_of
    from runcard.threads import available_threads

    if list_names:
        print_experiments()
        return
    chosen, numbers = chosen_work(names or [], backend)
    workers = jobs or available_threads()
    if chosen:
        report, results, seconds = run_study(
            chosen, output, num_graphs=graphs, jobs=workers, seed=seed, backend=backend, address=address,
            watch=partial(_watched, output),
        )  # fmt: skip
        console = make_console()
        for result in results:
            print_result(result, in_full=bool(names))
        if sum(result.is_table for result in results) > 1:
            console.print(f"All together: {agreement_of(results).words}", style="bold", soft_wrap=True)
        console.print(f"Wrote {report} in {seconds:.0f} s; the rows are in {output}/*.parquet", soft_wrap=True)
    for number in numbers:
        evidence = derive(number, num_graphs=graphs, seed=seed, jobs=workers)
        print_finding(number, evidence, few=graphs is not None and graphs < MANY_GRAPHS)


@contextmanager
def _watched(output: Path, tasks: "list[Task]", done: "list[Task]") -> "Iterator[Callable[[Task], None]]":
    """A bar while a study runs; if it stops, how far it was."""
    from runcard.cli.progress import StudyBar
    from runcard.cli.terminal import make_console

    bar = StudyBar(tasks, done)
    try:
        with bar:
            yield bar.done
    except BaseException:
        make_console(stderr=True).print(
            f"{output}: {bar.num_done} of {bar.num_tasks} tasks are done; the same command goes on from there.",
            soft_wrap=True,
        )
        raise
