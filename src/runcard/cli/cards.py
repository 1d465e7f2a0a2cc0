"""`runcard cards`: run cards from a policy file."""

from pathlib import Path
from typing import Annotated

import typer

from runcard.cli.parameters import Seed, Threads, option, path_argument, path_option, whole_option


def cards(
    file: Annotated[Path, path_argument("FILE", "A policy file.")],
    output: Annotated[Path, path_option("FILE", "The cards to write: .csv, .xlsx or .pdf.", "--output", "-o")],
    depth: Annotated[int, whole_option("Lines of a card.", least=1, most=16)] = 4,
    incident_type: Annotated[str | None, option("TYPE", "Only cards for this type of incident.", "--type")] = None,
    kind: Annotated[str | None, option("KIND", "Only cards of this kind of units.")] = None,
    period: Annotated[str | None, option("PERIOD", "Only cards of this period of the week.")] = None,
    measure: Annotated[
        bool,
        typer.Option(
            "--measure",
            help="Measure what cards of each depth keep of the gain, also where that takes longer than the cards.",
        ),
    ] = False,
    incidents: Annotated[
        int, whole_option("Incidents to simulate, where the department is too large for exact figures.", least=1000)
    ] = 50_000,
    seed: Seed = 1,
    threads: Threads = None,
) -> None:
    """Write run cards: for each area and type of incident, who goes, and who else if these are out.

    A spreadsheet (.csv, .xlsx) has a row for each line of a card; the print (.pdf) a page for each district. What cards
    keep of the policy's gain over closest-first is measured and shown in small departments, or with --measure.
    """
    from runcard.cli.progress import ShownSteps
    from runcard.cli.show_cards import print_cards
    from runcard.errors import InputError
    from runcard.outputs.cards.book import make_book
    from runcard.outputs.cards.depth import AT_ONCE_WORK, DEPTHS, is_quick, measure_depths
    from runcard.outputs.cards.write import check_cards_file, write_cards
    from runcard.plan.file import load
    from runcard.policy.solve_options import SolveOptions

    check_cards_file(output)
    if output.resolve() == file.resolve():
        raise InputError(f"{output}: expected another file to write than the policy file itself")
    with ShownSteps() as report:
        plan = load(file)
        check_cards_file(output, plan)
        measured = measure or is_quick(plan, kind, work=AT_ONCE_WORK)
        book = make_book(
            plan,
            depth=depth,
            incident_type=incident_type,
            kind=kind,
            period=period,
            depth_to_measure=DEPTHS[-1] if measured else 0,
            options=SolveOptions(threads=threads),
            steps=report,
        )
        tables = measure_depths(book, incidents=incidents, seed=seed, threads=threads, steps=report) if measured else ()
        report.begin(f"writing {output.name}")
        write_cards(book, tables, output)
    print_cards(book, tables, output)
