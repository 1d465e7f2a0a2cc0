"""`runcard report`: one page for a fire chief."""

from dataclasses import replace
from pathlib import Path
from shlex import join
from typing import Annotated

import typer

from runcard.cli.parameters import (
    Address,
    Backend,
    CityFolder,
    Kind,
    Seed,
    Threads,
    check_page,
    path_option,
    read_kind,
    whole_option,
)


def report(
    city: CityFolder,
    output: Annotated[Path, path_option("FILE", "The page to write: .html.", "--output", "-o")] = Path("report.html"),
    kind: Kind = None,
    incidents: Annotated[
        int | None,
        whole_option(
            "Incidents to simulate for each policy, where the city is too large to be solved exactly; as many as take "
            "some seconds if left out.",
            least=100,
            most=10**8,
        ),
    ] = None,
    seed: Seed = 1,
    quick: Annotated[bool, typer.Option("--quick", help="Leave out what changes if the city is different.")] = False,
    threads: Threads = None,
    backend: Backend = "threads",
    address: Address = None,
) -> None:
    """Write a report for a fire chief.

    One HTML file that needs no network: what the best dispatch changes, a map, each unit's work, and whether the gain
    survives if the city is not as described.
    """
    from runcard.assess.workers import Workers
    from runcard.cli.progress import ShownSteps
    from runcard.cli.terminal import make_console, print_written
    from runcard.outputs.fit_file import read_fit
    from runcard.outputs.report import write_report
    from runcard.plan.words import city_line
    from runcard.policy.solve_options import SolveOptions

    check_page(output)
    workers = Workers(backend=backend, address=address)
    given = read_kind(city, kind)
    words = ["runcard", "report", str(city), "-o", str(output)]
    words += [] if kind is None else ["--kind", kind]
    words += [] if incidents is None else ["--incidents", str(incidents)]
    words += [*([] if seed == 1 else ["--seed", str(seed)]), *(["--quick"] if quick else [])]
    with ShownSteps(given.objective) as shown:
        options = replace(SolveOptions(threads=threads), progress=shown.bounds)
        write_report(
            given,
            output,
            incidents=incidents,
            seed=seed,
            quick=quick,
            fit=read_fit(city),
            command=join(words),
            options=options,
            steps=shown,
            workers=workers,
        )
    make_console().print(city_line(given), style="bold")
    print_written(output, more=": open it in a browser; it needs no network")
