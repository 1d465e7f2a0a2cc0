"""`runcard compare`: policies, or weights of a minute, side by side."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from runcard.cli.parameters import (
    AsJson,
    CityFolder,
    Device,
    Horizon,
    KindOrAll,
    Threads,
    Tolerance,
    option,
    path_option,
    words_of,
)
from runcard.errors import NotConvergedError


def compare(
    city: CityFolder,
    policies: Annotated[
        str | None,
        option(
            "NAMES",
            "Policies by name, paper label (CF, OSI, OSIA, OPT) or policy file, commas between; "
            "closest-first,one-step,optimal if left out, and only optimal with --weights. In a city with periods, "
            "optimal/week is solved once for the whole week, and stands in place of one-step if left out.",
        ),
    ] = None,
    weights: Annotated[
        str | None,
        option(
            "NUMBERS",
            "Compare weights instead: late incidents that a minute of mean response counts as, commas between.",
        ),
    ] = None,
    curve: Annotated[
        Path | None,
        path_option("FILE", "With --weights: draw late fraction against minutes, as .svg, .png or .pdf."),
    ] = None,
    kind: KindOrAll = None,
    as_json: AsJson = False,
    tolerance: Tolerance = 1e-9,
    horizon_busy_times: Horizon = None,
    threads: Threads = None,
    device: Device = "auto",
) -> None:
    """Compare policies exactly.

    Shows the late fraction with its proof, the mean response time, and how much each station works; where there are
    kinds of units and standards, how often each standard is missed. Or, with --weights, how much late fraction a
    shorter mean response costs.
    """
    from runcard.assess.exact import DEFAULT_POLICIES, assess_exactly
    from runcard.assess.plans import WEEK_POLICIES
    from runcard.city.files import read_city
    from runcard.city.model import Objective
    from runcard.cli.progress import ShownSteps
    from runcard.cli.show_comparison import print_assessment, print_weights
    from runcard.cli.terminal import make_console, print_care, print_json, print_written
    from runcard.outputs.curve import draw_curve
    from runcard.outputs.weights import compare_weights, failed_weights, weights_document
    from runcard.page.picture import check_picture_file
    from runcard.policy.solve_options import SolveOptions

    options = SolveOptions(tolerance=tolerance, horizon_busy_times=horizon_busy_times, threads=threads, device=device)
    if curve is not None and weights is None:
        raise typer.BadParameter("expected --weights with it: the curve has a point for each", param_hint="'--curve'")
    names = None if policies is None else words_of(policies)
    try:
        numbers = None if weights is None else [float(word) for word in words_of(weights)]
    except ValueError as error:
        expected = f"expected numbers with commas between, got {weights!r}"
        raise typer.BadParameter(expected, param_hint="'--weights'") from error
    if curve is not None:
        check_picture_file(curve, "curve")
    given = read_city(city)
    if weights is not None and kind is None and len(given.kinds) > 1:
        kinds = ", ".join(given.kinds)
        raise typer.BadParameter(
            f"expected --kind with it, one of {kinds}: each has its own curve", param_hint="'--weights'"
        )
    if kind is not None or weights is not None:
        given = given.of_kind(kind)
    if numbers is None:
        with ShownSteps(given.objective) as report:
            default = WEEK_POLICIES if given.has_periods else DEFAULT_POLICIES
            asked = default if names is None else names
            found = assess_exactly(given, asked, replace(options, progress=report.bounds), steps=report)
        document, failed = found.document(), found.failed
    else:
        with ShownSteps(Objective("late+minutes")) as report:
            watched = replace(options, progress=report.bounds)
            curves = compare_weights(given, numbers, ["optimal"] if names is None else names, watched, steps=report)
        if curve is not None:
            draw_curve(curves, curve)
        document, failed = weights_document(given, curves), failed_weights(curves)
    if as_json:
        print_json(document)
    else:
        print_care(city)
        if numbers is None:
            print_assessment(found)
        else:
            print_weights(curves)
            if given.has_periods:
                make_console().print("Rates are the means of the week, not those of its periods.")
            print_written(curve)
    if failed:
        raise NotConvergedError(f"{given.name}: not converged: {', '.join(failed)}; the intervals still hold")
