"""`runcard whatif`: what a new, moved or missing unit, a closed station, or more incidents would change."""

import sys
from dataclasses import replace
from pathlib import Path
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
    path_option,
)
from runcard.cli.site import site
from runcard.errors import InputError, NotConvergedError

OF_SITE = "Of `runcard site`, for one release."


def whatif(
    city: CityFolder,
    add: Annotated[
        list[str] | None,
        option("KIND@PLACE", "One more unit of a kind at a station or node; a node without a station gets one."),
    ] = None,
    close: Annotated[list[str] | None, option("STATION", "Close a station; its units go.")] = None,
    remove: Annotated[
        list[str] | None, option("UNIT", "Take a unit away; without a roster, a truck of this station.")
    ] = None,
    move: Annotated[
        list[str] | None,
        option("UNIT:PLACE", "Move a unit to a station or node; without a roster, a truck of this station."),
    ] = None,
    load: Annotated[float | None, option("X", "So many times as many incidents, such as 1.2.")] = None,
    one_more: Annotated[str | None, typer.Option(hidden=True, help=OF_SITE)] = None,
    anywhere: Annotated[bool, typer.Option("--anywhere", hidden=True, help=OF_SITE)] = False,
    top: Annotated[int | None, typer.Option(hidden=True, min=1, max=1000, help=OF_SITE)] = None,
    output: Page = None,
    write_city: Annotated[Path | None, path_option("DIR", "Write the changed city to this new folder.")] = None,
    policy: Annotated[
        str | None,
        option(
            "NAME",
            "The policy, by name or paper label; optimal if left out, or in a large department one-step-mean-field, "
            "or one-step-neighbourhoods where units are often busy.",
        ),
    ] = None,
    period: OfWeek = None,
    incidents: ToSimulate = None,
    seed: Seed = 1,
    as_json: AsJson = False,
    tolerance: Tolerance = 1e-9,
    threads: Threads = None,
) -> None:
    """Show what changes of a department change.

    Every standard before and after, with intervals; how busy units are; and which areas gain and lose. Options may be
    given several times, or with commas between.
    """
    from runcard.city import files
    from runcard.cli.progress import ShownSteps
    from runcard.cli.show_whatif import print_effect
    from runcard.cli.terminal import print_json, print_written
    from runcard.output_file import write_whole
    from runcard.outputs.fit_file import changed_faults, fit_faults, read_fit
    from runcard.outputs.whatif.changes import apply_changes, read_changes
    from runcard.outputs.whatif.effect import find_effect
    from runcard.outputs.whatif.outside import city_to_write
    from runcard.outputs.whatif.page import whatif_page
    from runcard.policy.solve_options import SolveOptions

    options = SolveOptions(tolerance=tolerance, threads=threads)
    check_page(output)
    if one_more is None and (anywhere or top is not None):
        raise typer.BadParameter("expected it with runcard site", param_hint="'--anywhere' / '--top'")
    if one_more is not None:
        changing = {"--add": add, "--close": close, "--remove": remove, "--move": move, "--load": load}
        for name, value in {**changing, "--policy": policy, "--write-city": write_city}.items():
            if value:
                raise typer.BadParameter(f"expected no {name} with it", param_hint="'--one-more'")
        again = f"runcard site {city} --kind {one_more}"
        print(f"runcard: whatif --one-more is a command of its own now, and goes with the next release: {again}",
              file=sys.stderr)  # fmt: skip
        site(city, one_more, anywhere, top or 10, output, period, incidents, seed, as_json, tolerance, threads)
        return
    given, fit = files.read_city(city), read_fit(city)
    faults = fit_faults(fit)
    changes = read_changes(given, add=add or (), close=close or (), remove=remove or (), move=move or (), load=load)
    changed = apply_changes(given, changes)
    in_use = write_city is not None and write_city.exists() and (write_city.is_file() or any(write_city.iterdir()))
    if in_use:
        raise InputError(f"{write_city}: expected an empty or new folder for the changed city, got one that is in use")
    with ShownSteps(given.objective) as report:
        found = find_effect(
            given,
            changes,
            policy=policy,
            period=period,
            incidents=incidents,
            seed=seed,
            options=replace(options, progress=report.bounds),
            steps=report,
        )
        found = replace(found, fit_faults=(*changed_faults(fit, given, changed), *faults))
        report.begin("writing")
        if output is not None:
            write_whole(output, whatif_page(found).encode())
        if write_city is not None:
            files.write_city(city_to_write(given, changed), write_city)
    if as_json:
        print_json(found.document())
    else:
        print_effect(found)
        print_written(output, write_city)
    if found.failed:
        raise NotConvergedError(f"{given.name}: not converged: {', '.join(found.failed)}; the intervals still hold")
