"""`runcard solve`: a policy file."""

from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

from runcard.cli.parameters import CityFolder, Device, Horizon, Threads, Tolerance, option, path_option

if TYPE_CHECKING:
    from runcard.policy.base import Policy


def solve_city(
    city: CityFolder,
    output: Annotated[Path, path_option("FILE", "The policy file to write.", "--output", "-o")],
    policy: Annotated[
        str,
        option(
            "NAME",
            "A policy by name or paper label; or one for each kind of units, such as "
            "engine=one-step-mean-field,ladder=optimal.",
        ),
    ] = "optimal",
    tolerance: Tolerance = 1e-9,
    horizon_busy_times: Horizon = None,
    threads: Threads = None,
    device: Device = "auto",
) -> None:
    """Solve a policy and write its policy file.

    The file decides for every demand point and every set of idle trucks; where the city has periods of the week, for
    each of them.
    """
    from runcard.assess.policy_choice import policy_note, policy_of_kinds
    from runcard.assess.steps import city_problem
    from runcard.city.files import read_city
    from runcard.cli.progress import ShownSteps
    from runcard.cli.terminal import make_console, print_care
    from runcard.errors import NotConvergedError
    from runcard.output_file import check_output_file, size_in_words
    from runcard.outputs.fit_file import fit_faults, read_fit
    from runcard.plan.plan import plan_of_periods, problems_of_periods
    from runcard.plan.words import bounds_words, city_line
    from runcard.policy.solve import check_size, has_values, solve_named
    from runcard.policy.solve_options import SolveOptions

    options = SolveOptions(tolerance=tolerance, horizon_busy_times=horizon_busy_times, threads=threads, device=device)
    if "=" not in policy:
        policy_of_kinds(policy, [], options)  # a name that is none is refused before anything is read
    check_output_file(output)
    given = read_city(city)
    names = policy_of_kinds(policy, given.sent_kinds, options)
    seen = {kind: given.of_kind(kind) for kind in names}
    for kind, name in names.items():
        check_size(seen[kind].trucks, [name], kind=given.said(kind), device=device)
    began, lines = perf_counter(), list[str]()
    solved: dict[str, list[Policy]] = {}
    with ShownSteps(given.objective) as report:
        for kind, name in names.items():
            problem = city_problem(seen[kind], minutes=has_values(seen[kind].trucks, name), arrivals=True, steps=report)
            problems = problems_of_periods(seen[kind], problem)
            for number, (period, own) in enumerate(problems.items(), start=1):
                parts = given.said(kind), period if given.has_periods else ""
                words = "".join(f"{part}: " for part in parts if part)
                report.begin(f"{words}{name}" + (f", period {number} of {len(problems)}" if given.has_periods else ""))
                found = solve_named(own, name, replace(options, progress=report.bounds))
                certificate = found.certificate
                if certificate is not None:
                    ends = certificate.lower, certificate.upper
                    interval = bounds_words(given, *ends, proven=own.proven)
                    if not certificate.converged:
                        raise NotConvergedError(
                            f"{given.name}: {words}{name} did not converge: {interval}; nothing was written"
                        )
                    lines.append(f"{words}{name}: {interval}")
                elif words:
                    lines.append(f"{words}{name}")
                solved.setdefault(kind, []).append(found)
            if note := policy_note(seen[kind], name):
                lines.append(f"{kind}: {note}" if given.said(kind) else note)
    seconds = perf_counter() - began
    faults = fit_faults(read_fit(city))
    replace(plan_of_periods(given, solved), fit_faults=faults).save(output)
    console = make_console()
    console.print(city_line(given), style="bold")
    print_care(faults)
    for line in lines:
        console.print(line, soft_wrap=True)
    counts = [policies[0].problem.num_states for policies in solved.values()]
    times = f" × {len(given.periods)} periods" if given.has_periods else ""
    states = f", {' + '.join(f'{count:,}' for count in counts)} states{times}" if max(counts) < 10**9 else ""
    console.print(f"Wrote {output} ({size_in_words(output)}{states}) in {seconds:.1f} s", soft_wrap=True)
