"""`runcard lateness` and `runcard decide`: P(late) of every team at a node, and which of them to send."""

import re
from pathlib import Path
from typing import Annotated, Final

import typer

from runcard.cli.parameters import (
    AsJson,
    CityFolder,
    Coordinates,
    Kind,
    Node,
    moved_of,
    option,
    path_argument,
    path_option,
    place_of,
    whole_option,
)


def lateness(
    city: CityFolder,
    at: Node = None,
    at_xy: Coordinates = None,
    kind: Kind = None,
    incident_type: Annotated[str | None, option("TYPE", "Only incidents of this type.", "--type")] = None,
    top: Annotated[int, whole_option("Teams that the table shows; JSON has all of them.", least=1)] = 20,
    as_json: AsJson = False,
) -> None:
    """Show P(late) of every team at a node, best first."""
    from runcard.city.address import Spots
    from runcard.city.files import read_city
    from runcard.cli.progress import ShownSteps
    from runcard.cli.show_teams import print_lateness
    from runcard.cli.terminal import print_json
    from runcard.outputs.lateness import lateness_at, lateness_document

    place = place_of(at, at_xy)
    with ShownSteps() as report:
        given = read_city(city)
        spot = Spots(given).find(place)
        report.begin(f"driving times to {spot.node_id}")
        found = lateness_at(given if kind is None else given.of_kind(kind), spot.node_id, incident_type)
    if as_json:
        print_json(lateness_document(spot, found))
    else:
        print_lateness(spot, found, top=top)


def decide(
    file: Annotated[Path, path_argument("FILE", "A policy file, or a CSV file of run cards.")],
    at: Node = None,
    at_xy: Coordinates = None,
    idle: Annotated[
        str | None,
        option(
            "UNITS",
            "The idle units, commas between; or all, or none. Without a roster: stations with an idle truck, once for "
            "each truck (s1,s1,s3).",
        ),
    ] = None,
    busy: Annotated[
        str | None, option("UNITS", "The busy units instead, in the same way; all others are idle.")
    ] = None,
    incident_type: Annotated[
        str | None, option("TYPE", "The type of the incident, where there are several at the node.", "--type")
    ] = None,
    row: Annotated[int | None, whole_option("Which row of the node in demand.csv, from 1.", "--class")] = None,
    time: Annotated[
        str | None,
        option(
            "TIME",
            "When the incident is, by the clock of the city, where the file has periods: 2017-01-03T14:00, tue 14:00 "
            "or now.",
        ),
    ] = None,
    moved: Annotated[
        list[str] | None,
        option(
            "UNIT=PLACE",
            "An idle unit that is not at home, and the node or the coordinates (@X,Y) where it is; may be given again.",
            "--from",
        ),
    ] = None,
    city: Annotated[Path | None, path_option("CITY", "Refuse a file that was not made for this city.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say which trucks to send, and why."""
    from runcard.city.files import read_city
    from runcard.city.periods import parse_time
    from runcard.cli.show_cards import print_card_answer
    from runcard.cli.show_teams import print_answer
    from runcard.cli.terminal import print_care, print_json
    from runcard.errors import InputError
    from runcard.outputs.cards.answer import decide_by_cards
    from runcard.outputs.cards.csv_file import CARDS_ENDING, CardFile, read_cards
    from runcard.plan.file import load
    from runcard.plan.situation import Situation, units_said

    if (idle is None) == (busy is None):
        got = "neither" if idle is None else "both"
        raise typer.BadParameter(f"expected --idle or --busy, got {got}", param_hint="'--idle'")
    place, elsewhere = place_of(at, at_xy), moved_of(moved or [])
    hour = None if time is None else parse_time(time)
    by_cards = file.suffix.lower() == CARDS_ENDING
    for name, value in {"--at-xy": at_xy, "--from": moved, "--city": city}.items():
        if by_cards and value:
            raise InputError(
                f"{file}: run cards are for areas, with every unit at home: expected no {name}; a policy file takes it"
            )
    source = read_cards(file) if by_cards else load(file, None if city is None else read_city(city))
    units = {
        what: [*units_said(words, source.capacity, what).elements()]
        for what, words in (("idle", idle), ("busy", busy))
        if words is not None
    }
    try:
        situation = Situation(at=place, type=incident_type, moved=elsewhere, time=hour, row=row, **units)
        if isinstance(source, CardFile):
            print_card_answer(decide_by_cards(source, situation), as_json=as_json)
            return
        answer = source.decide(situation)
    except InputError as error:  # the parts of a situation are options here
        raise InputError(_PART.sub(r"\1--\2", str(error), count=1)) from error
    if as_json:
        print_json(answer.whole_document())
    else:
        print_answer(answer)
        print_care(source.fit_faults)


_PART: Final = re.compile(r"(^|: )((?:type|class|time): expected)")
