"""`runcard lateness`: P(late) of every team at a node."""

from typing import Annotated

from runcard.cli.parameters import AsJson, CityFolder, Node, whole_option


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
    from runcard.outputs.lateness import lateness_at

    with Report() as report:
        given = read_city(city)
        report.begin(f"driving times to {at}")
        found = lateness_at(given, at)
    if as_json:
        print_json(found.document())
    else:
        print_lateness(found, top=top)
