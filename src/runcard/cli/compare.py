"""`runcard compare`: policies, or weights of a minute, side by side."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from runcard.cli.parameters import (
    AsJson,
    CityFolder,
    Horizon,
    Threads,
    Tolerance,
    named_path,
    numbers_of,
    solve_options,
    unset,
    words_of,
)
from runcard.errors import NotConvergedError

if TYPE_CHECKING:
    from runcard.policy.solve_options import SolveOptions


def compare(
    city: CityFolder,
    policies: Annotated[
        str | None,
        unset(
            "NAMES",
            "Policies by name, paper label (CF, OSI, OSIA, OPT) or policy file, commas between; "
            "closest-first,one-step,optimal if left out, and only optimal with --weights.",
        ),
    ] = None,
    weights: Annotated[
        str | None,
        unset(
            "NUMBERS",
            "Compare weights instead: late incidents that a minute of mean response counts as, commas between.",
        ),
    ] = None,
    curve: Annotated[
        Path | None,
        unset("FILE", "With --weights: draw late fraction against minutes, as .svg, .png or .pdf.", parser=named_path),
    ] = None,
    as_json: AsJson = False,
    tolerance: Tolerance = 1e-9,
    horizon_busy_times: Horizon = None,
    threads: Threads = None,
) -> None:
    """Compare policies exactly.

    Shows the late fraction with its proof, the mean response time, and how much each station works; or, with --weights,
    how much late fraction a shorter mean response costs.
    """
    options = solve_options(tolerance, horizon_busy_times, threads)
    if weights is not None:
        names = words_of("optimal" if policies is None else policies)
        _compare_weights(city, numbers_of(weights, "--weights"), names, options, curve=curve, as_json=as_json)
        return
    if curve is not None:
        raise typer.BadParameter("expected --weights with it: the curve has a point for each", param_hint="'--curve'")
    names = words_of("closest-first,one-step,optimal" if policies is None else policies)
    _compare_policies(city, names, options, as_json=as_json)


def _compare_policies(folder: Path, policies: Sequence[str], options: "SolveOptions", *, as_json: bool) -> None:
    """Print how policies do in the city of a folder."""
    from runcard.city.files import read_city
    from runcard.cli.progress import Report
    from runcard.cli.show_comparison import print_comparison
    from runcard.cli.terminal import print_json
    from runcard.outputs.compare import compare_policies

    city = read_city(folder)
    with Report(city.objective) as report:
        comparison = compare_policies(city, policies, replace(options, progress=report.bounds), steps=report)
    if as_json:
        print_json(comparison.document())
    else:
        print_comparison(comparison)
    _check_converged(city.name, comparison.failed)


def _compare_weights(
    folder: Path,
    weights: Sequence[float],
    policies: Sequence[str],
    options: "SolveOptions",
    *,
    curve: Path | None,
    as_json: bool,
) -> None:
    """Print what each weight of a minute costs in late fraction, and draw the curve if a file is named."""
    from runcard.city.files import read_city
    from runcard.city.model import Objective
    from runcard.cli.progress import Report
    from runcard.cli.show_comparison import print_weights
    from runcard.cli.terminal import make_console, print_json
    from runcard.outputs.curve import check_curve_file, draw_curve
    from runcard.outputs.files import check_output_file
    from runcard.outputs.weights import compare_weights

    if curve is not None:
        check_curve_file(curve)
        check_output_file(curve)
    city = read_city(folder)
    with Report(Objective("late+minutes")) as report:
        comparison = compare_weights(city, weights, policies, replace(options, progress=report.bounds), steps=report)
    if curve is not None:
        draw_curve(comparison, curve)
    if as_json:
        print_json(comparison.document())
    else:
        print_weights(comparison)
        if curve is not None:
            make_console().print(f"Wrote {curve}", soft_wrap=True)
    _check_converged(city.name, comparison.failed)


def _check_converged(city: str, failed: Sequence[str]) -> None:
    """Raise an error that names what did not converge."""
    if failed:
        raise NotConvergedError(f"{city}: not converged: {', '.join(failed)}; the proven intervals still hold")
