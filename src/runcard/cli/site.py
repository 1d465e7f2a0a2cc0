"""`runcard site`: where one more unit should stand."""

from dataclasses import replace
from typing import Annotated

import typer

from runcard.cli.parameters import (
    AsJson,
    CityFolder,
    OfWeek,
    Page,
    Seed,
    Threads,
    Tolerance,
    ToSimulate,
    check_page,
    option,
    whole_option,
)


def site(
    city: CityFolder,
    kind: Annotated[
        str | None, option("KIND", "The kind of the unit; it may be left out where incidents need only one.")
    ] = None,
    anywhere: Annotated[
        bool, typer.Option("--anywhere", help="Rank all nodes of the roads, not only the stations.")
    ] = False,
    top: Annotated[int, whole_option("The places to show.", least=1, most=1000)] = 10,
    output: Page = None,
    period: OfWeek = None,
    incidents: ToSimulate = None,
    seed: Seed = 1,
    as_json: AsJson = False,
    tolerance: Tolerance = 1e-9,
    threads: Threads = None,
) -> None:
    """Rank the places where one more unit could stand.

    Every station, by what the best policy misses with the unit there; all of them solved where they can be, and then
    proven or estimated as the chances are.
    """
    from runcard.city.files import read_city
    from runcard.cli.progress import ShownSteps
    from runcard.cli.show_whatif import print_one_more
    from runcard.cli.terminal import print_json, print_written
    from runcard.output_file import write_whole
    from runcard.outputs.fit_file import fit_faults, read_fit
    from runcard.outputs.whatif.one_more import rank_one_more
    from runcard.outputs.whatif.one_more_page import one_more_page

    check_page(output)
    given, faults = read_city(city), fit_faults(read_fit(city))
    with ShownSteps(given.objective) as report:
        found = rank_one_more(
            given,
            kind,
            anywhere=anywhere,
            top=top,
            period=period,
            tolerance=tolerance,
            incidents=incidents,
            seed=seed,
            threads=threads,
            steps=report,
        )
        found = replace(found, fit_faults=faults)
        if output is not None:
            report.begin("writing")
            write_whole(output, one_more_page(found).encode())
    if as_json:
        print_json(found.document())
        return
    print_one_more(found)
    print_written(output)
