"""`runcard lateness` and `runcard decide`: P(late) of every team at a node, and which of them to send."""

from pathlib import Path
from typing import Annotated

from runcard.cli.parameters import AsJson, CityFolder, Node, option, path_argument, path_option, whole_option


def lateness(
    city: CityFolder,
    at: Node,
    top: Annotated[int, whole_option("Teams that the table shows; JSON has all of them.", least=1)] = 20,
    as_json: AsJson = False,
) -> None:
    """Show P(late) of every team at a node, best first."""
    from runcard.city.files import read_city
    from runcard.cli.progress import Report
    from runcard.cli.show_teams import print_lateness
    from runcard.cli.terminal import print_json
    from runcard.outputs.lateness import lateness_at, lateness_document

    with Report() as report:
        given = read_city(city)
        report.begin(f"driving times to {at}")
        found = lateness_at(given, at)
    if as_json:
        print_json(lateness_document(at, found))
    else:
        print_lateness(at, found, top=top)


def decide(
    file: Annotated[Path, path_argument("FILE", "A policy file.")],
    at: Node,
    idle: Annotated[
        str,
        option(
            "STATIONS", "Stations with an idle truck, commas between, once for each truck (s1,s1,s3); or all, or none."
        ),
    ],
    incident_class: Annotated[
        int | None, whole_option("Which row of the node in demand.csv, from 1.", "--class")
    ] = None,
    city: Annotated[Path | None, path_option("CITY", "Refuse a file that was not made for this city.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say which trucks to send, and why."""
    from runcard.city.files import read_city
    from runcard.cli.show_teams import print_explanation
    from runcard.cli.terminal import print_json
    from runcard.mdp.fingerprint import city_fingerprint
    from runcard.outputs.explain import explain
    from runcard.outputs.policy_file import load_policy
    from runcard.outputs.situation import find_point, idle_trucks

    policy = load_policy(file, None if city is None else city_fingerprint(read_city(city)))
    point = find_point(policy.problem, at, incident_class)
    explanation = explain(policy, idle_trucks(policy.problem, idle), point)
    if as_json:
        print_json(explanation.document())
    else:
        print_explanation(explanation)
