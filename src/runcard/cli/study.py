"""`runcard study`: the paper's experiments, and what it leaves open or gets wrong."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from runcard.cli.parameters import Seed, named_path, unset, whole_number

if TYPE_CHECKING:
    from runcard.study.run import StudyRun


def study(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...", help="Experiments or findings; all experiments if left out.", show_default=False
        ),
    ] = None,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", parser=named_path, metavar="FOLDER", help="Where results and the report are written."
        ),
    ] = Path("runcard-study"),
    graphs: Annotated[
        int | None,
        unset("N", "Random graphs for each setting; as in the paper if left out.", parser=whole_number(1, 10**6)),
    ] = None,
    jobs: Annotated[
        int | None, unset("N", "Worker processes; one for each processor if left out.", parser=whole_number(1, 10_000))
    ] = None,
    seed: Seed = 1,
    backend: Annotated[
        str, typer.Option(metavar="NAME", help="Where workers run: loky (this machine) or dask (a cluster).")
    ] = "loky",
    address: Annotated[str | None, unset("ADDRESS", "The Dask scheduler, such as tcp://10.0.0.1:8786.")] = None,
    list_names: Annotated[bool, typer.Option("--list", help="List the experiments and findings, and stop.")] = False,
) -> None:
    """Run the paper's numerical study, and write a report.

    A study that was stopped goes on where it was when the same command is given again.
    """
    from runcard.cli.show_study import print_derivation, print_experiments
    from runcard.study.findings import derive
    from runcard.study.run import StudyRun, chosen_work
    from runcard.study.tables import MANY_GRAPHS
    from runcard.threads import available_threads

    if list_names:
        print_experiments()
        return
    chosen, numbers = chosen_work(names or [], backend)
    workers = jobs or available_threads()
    if chosen:
        run = StudyRun(
            experiments=chosen, output=output, num_graphs=graphs, jobs=workers, seed=seed, backend=backend,
            address=address,
        )  # fmt: skip
        _run_experiments(run, in_full=bool(names))
    for number in numbers:
        derivation = derive(number, num_graphs=graphs, seed=seed, jobs=workers)
        print_derivation(derivation, few=graphs is not None and graphs < MANY_GRAPHS)


def _run_experiments(run: "StudyRun", *, in_full: bool) -> None:
    """Run experiments; `in_full` prints their tables, otherwise only how well they agree."""
    from runcard.cli.show_study import print_result
    from runcard.cli.study_bar import StudyBar
    from runcard.cli.terminal import make_console
    from runcard.study.tables import agreement_of

    study, console = run.prepare(), make_console()
    bar = StudyBar(study.tasks, len(study.done_before), sum(task.weight for task in study.done_before))
    try:
        with bar:
            report, results, seconds = study.finish(bar.done)
    except BaseException:
        make_console(stderr=True).print(
            f"{run.output}: {bar.num_done} of {bar.num_tasks} tasks are done; the same command goes on from there.",
            soft_wrap=True,
        )
        raise
    for result in results:
        print_result(result, in_full=in_full)
    if sum(result.is_table for result in results) > 1:
        console.print(f"All together: {agreement_of(results).words}", style="bold", soft_wrap=True)
    console.print(f"Wrote {report} in {seconds:.0f} s; the rows are in {run.output}/*.parquet", soft_wrap=True)
