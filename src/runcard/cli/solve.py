"""`runcard solve`: a policy file."""

from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Annotated

from runcard.cli.parameters import CityFolder, Horizon, Threads, Tolerance, option, path_option


def solve(
    city: CityFolder,
    output: Annotated[Path, path_option("FILE", "The policy file to write.", "--output", "-o")],
    policy: Annotated[str, option("NAME", "A policy by name or paper label.")] = "optimal",
    tolerance: Tolerance = 1e-9,
    horizon_busy_times: Horizon = None,
    threads: Threads = None,
) -> None:
    """Solve a policy and write its policy file.

    The file decides for every demand point and every set of idle trucks.
    """
    from runcard.city.files import read_city
    from runcard.cli.progress import Report
    from runcard.cli.tables import city_line, proven_words
    from runcard.cli.terminal import make_console
    from runcard.errors import NotConvergedError
    from runcard.outputs.files import check_output_file, size_in_words
    from runcard.outputs.policy_file import save_policy
    from runcard.outputs.steps import city_problem
    from runcard.policy.solve import check_size, has_values, policy_names, solve_named
    from runcard.policy.solve_options import SolveOptions

    options = SolveOptions(tolerance=tolerance, horizon_busy_times=horizon_busy_times, threads=threads)
    (name,) = policy_names([policy], options)
    check_output_file(output)
    given = read_city(city)
    trucks = [station.trucks for station in given.stations]
    check_size(trucks, [name])
    began = perf_counter()
    with Report(given.objective) as report:
        problem = city_problem(given, minutes=has_values(trucks, name), steps=report)
        report.begin(name)
        solved = solve_named(problem, name, replace(options, progress=report.bounds))
    seconds = perf_counter() - began
    certificate, proven = solved.certificate, ""
    if certificate is not None:
        proven = proven_words(given.objective, certificate.lower, certificate.upper)
        if not certificate.converged:
            raise NotConvergedError(f"{given.name}: {name} did not converge: {proven}; nothing was written")
    save_policy(solved, output)
    console = make_console()
    console.print(city_line(given), style="bold")
    if proven:
        console.print(f"{name}: {proven}")
    states = f", {problem.num_states:,} states" if problem.num_states < 10**9 else ""
    console.print(f"Wrote {output} ({size_in_words(output)}{states}) in {seconds:.1f} s", soft_wrap=True)
