"""`runcard whatif`: what a new, moved or missing unit, a closed station, or more incidents would change."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from runcard.cli.parameters import (
    AsJson,
    CityFolder,
    Seed,
    Threads,
    Tolerance,
    check_page_name,
    option,
    path_option,
    whole_option,
)
from runcard.errors import InputError, NotConvergedError

if TYPE_CHECKING:
    from runcard.city.model import City


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
    one_more: Annotated[
        str | None,
        option("KIND", "Instead of changes: where should one more unit of this kind stand? Ranks all stations."),
    ] = None,
    anywhere: Annotated[
        bool, typer.Option("--anywhere", help="With --one-more: rank all nodes of the roads, too.")
    ] = False,
    top: Annotated[
        int | None, whole_option("With --one-more: the places to show; 10 if left out.", least=1, most=1000)
    ] = None,
    output: Annotated[Path | None, path_option("FILE", "Write a page with the map: .html.", "--output", "-o")] = None,
    write_city: Annotated[Path | None, path_option("DIR", "Write the changed city to this new folder.")] = None,
    policy: Annotated[
        str | None,
        option(
            "NAME",
            "The policy, by name or paper label; optimal if left out, or in a large department one-step-mean-field, "
            "or one-step-neighbourhoods where units are often busy.",
        ),
    ] = None,
    period: Annotated[
        str | None, option("PERIOD", "The period of the week, where the city has periods; if left out, the mean rates.")
    ] = None,
    incidents: Annotated[
        int | None,
        whole_option("Simulate so many incidents, also where it could be calculated.", least=1000, most=10**8),
    ] = None,
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
    from runcard.cli.terminal import make_console, print_json
    from runcard.output_file import check_output_file, size_in_words, write_whole
    from runcard.outputs.fit_file import changed_faults, fit_faults, read_fit
    from runcard.outputs.whatif.changes import apply_changes, read_changes
    from runcard.outputs.whatif.effect import find_effect
    from runcard.outputs.whatif.outside import city_to_write
    from runcard.outputs.whatif.page import whatif_page
    from runcard.policy.solve_options import SolveOptions

    options = SolveOptions(tolerance=tolerance, threads=threads)
    if output is not None:
        check_page_name(output)
        check_output_file(output)
    given, fit = files.read_city(city), read_fit(city)
    faults = fit_faults(fit)
    if one_more is not None:
        changing = {"--add": add, "--close": close, "--remove": remove, "--move": move, "--load": load}
        for name, value in {**changing, "--policy": policy, "--write-city": write_city}.items():
            if value:
                raise typer.BadParameter(f"expected no {name} with it", param_hint="'--one-more'")
        _one_more(given, one_more, output, faults, as_json=as_json, anywhere=anywhere, top=top or 10, period=period,
                  incidents=incidents, seed=seed, tolerance=tolerance, threads=threads)  # fmt: skip
        return
    for name, given_too in (("--anywhere", anywhere), ("--top", top is not None)):
        if given_too:
            raise typer.BadParameter("expected --one-more KIND with it", param_hint=f"'{name}'")
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
        for path in (output, write_city):
            if path is not None:
                size = f" ({size_in_words(path)})" if path.is_file() else ""
                make_console().print(f"Wrote {path}{size}", soft_wrap=True)
    if found.failed:
        raise NotConvergedError(f"{given.name}: not converged: {', '.join(found.failed)}; the intervals still hold")


def _one_more(
    given: "City", kind: str, output: Path | None, faults: tuple[str, ...], *, as_json: bool, **options: Any
) -> None:
    """Show where one more unit of a kind should stand."""
    from runcard.cli.progress import ShownSteps
    from runcard.cli.show_one_more import print_one_more
    from runcard.cli.terminal import make_console, print_json
    from runcard.output_file import size_in_words, write_whole
    from runcard.outputs.whatif.one_more import rank_one_more
    from runcard.outputs.whatif.one_more_page import one_more_page

    with ShownSteps(given.objective) as report:
        found = replace(rank_one_more(given, kind, steps=report, **options), fit_faults=faults)
        if output is not None:
            report.begin("writing")
            write_whole(output, one_more_page(found).encode())
    if as_json:
        print_json(found.document())
        return
    print_one_more(found)
    if output is not None:
        make_console().print(f"Wrote {output} ({size_in_words(output)})", soft_wrap=True)
