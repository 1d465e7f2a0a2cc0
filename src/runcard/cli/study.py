"""`runcard study`: the paper's experiments, and what it leaves open or gets wrong."""

from pathlib import Path
from typing import Annotated

import typer

from runcard.cli.parameters import Seed, option, path_option, whole_option


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
    address: Annotated[str | None, option("ADDRESS", "The Dask scheduler, such as tcp://10.0.0.1:8786.")] = None,
    list_names: Annotated[bool, typer.Option("--list", help="List the experiments and findings, and stop.")] = False,
) -> None:
    """Run the paper's numerical study, and write a report.

    A study that was stopped goes on where it was when the same command is given again.
    """
    from runcard.cli.progress import StudyBar
    from runcard.cli.show_study import print_derivation, print_experiments, print_result
    from runcard.cli.terminal import make_console
    from runcard.study.findings import derive
    from runcard.study.run import StudyRun, chosen_work
    from runcard.study.tables import MANY_GRAPHS, agreement_of
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
        prepared, console = run.prepare(), make_console()
        bar = StudyBar(prepared.tasks, prepared.done_before)
        try:
            with bar:
                report, results, seconds = prepared.finish(bar.done)
        except BaseException:
            make_console(stderr=True).print(
                f"{output}: {bar.num_done} of {bar.num_tasks} tasks are done; the same command goes on from there.",
                soft_wrap=True,
            )
            raise
        for result in results:
            print_result(result, in_full=bool(names))
        if sum(result.is_table for result in results) > 1:
            console.print(f"All together: {agreement_of(results).words}", style="bold", soft_wrap=True)
        console.print(f"Wrote {report} in {seconds:.0f} s; the rows are in {output}/*.parquet", soft_wrap=True)
    for number in numbers:
        derivation = derive(number, num_graphs=graphs, seed=seed, jobs=workers)
        print_derivation(derivation, few=graphs is not None and graphs < MANY_GRAPHS)
