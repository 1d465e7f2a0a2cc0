"""`runcard bound`: what no policy can be better than, and how far from it policies are at most."""

from dataclasses import replace
from typing import Annotated

from runcard.cli.parameters import (
    AsJson,
    CityFolder,
    KindOrAll,
    Seed,
    Threads,
    option,
    read_kind,
    whole_option,
    words_of,
)


def bound(
    city: CityFolder,
    policies: Annotated[
        str | None,
        option(
            "NAMES",
            "Policies to simulate beside it: by name, paper label or policy file, commas between; closest-first and "
            "one-step-mean-field if left out, or one-step-neighbourhoods where trucks are often busy.",
        ),
    ] = None,
    neighbourhood: Annotated[
        int,
        whole_option("Trucks of a neighbourhood: with more the bound is closer and takes longer.", least=2, most=13),
    ] = 9,
    steps: Annotated[int, whole_option("Steps of the search for the best bound.", least=1, most=10**6)] = 300,
    incidents: Annotated[int, whole_option("Incidents to simulate for each policy.", least=100, most=10**8)] = 200_000,
    seed: Seed = 1,
    kind: KindOrAll = None,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Find what no policy can be below, in a city of any size.

    Shows a lower bound on the late fraction that holds for every policy which sends as many units as an incident asks
    for, what policies reach in a simulation, and so how far from the best possible each of them is at most.
    """
    from runcard.assess.auto import Effort
    from runcard.assess.policy_choice import best_policy, policy_choices
    from runcard.cli.progress import ShownSteps
    from runcard.cli.show_bound import print_bound
    from runcard.cli.terminal import print_care, print_json
    from runcard.outputs.bound import bound_city
    from runcard.policy.solve_options import SolveOptions

    options = SolveOptions(threads=threads)
    choices = None if policies is None else policy_choices(words_of(policies), options)
    given = read_kind(city, kind)
    if choices is None:
        best = best_policy(*map(given.of_kind, given.kinds), exact=False)
        choices = policy_choices(["closest-first", best], options)
    with ShownSteps(given.objective) as report:
        watched = replace(options, progress=report.bounds)
        effort = Effort(incidents=incidents, seed=seed, options=watched, steps=report)
        found = bound_city(given, choices, effort, neighbourhood=neighbourhood, num_steps=steps, bounded=report.bounded)
    if as_json:
        print_json(found.document())
    else:
        print_care(city)
        print_bound(given, found)
