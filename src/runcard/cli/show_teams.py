"""Teams for the terminal: every one at a node, or the one that goes and what else could go."""

from collections.abc import Sequence

from runcard.city.address import Spot
from runcard.cli.terminal import make_console
from runcard.outputs.explain import decision_table, explained, headline_of
from runcard.outputs.lateness import ClassLateness, class_line, lateness_table
from runcard.plan.answer import Answer
from runcard.plan.words import team_words


def print_lateness(spot: Spot, classes: Sequence[ClassLateness], *, top: int) -> None:
    """Print P(late) of the best teams at a node, for each of its incident classes."""
    console, node_id = make_console(), spot.node_id
    if spot.words:
        console.print(spot.words)
    for number, one in enumerate(classes, start=1):
        of_several = f" (incident class {number} of {len(classes)})" if len(classes) > 1 and not one.kind else ""
        console.print(f"{node_id}{of_several}: {class_line(one)}", style="bold")
        console.print(lateness_table(one, top=top))
        if len(one.teams) > top:
            console.print(f"The first {top} of {len(one.teams)} teams; --top shows more.")


def print_answer(answer: Answer) -> None:
    """Print which units to send, and for each kind why, which standards they meet, and what else could be sent."""
    console, kinds = make_console(), explained(answer)
    if answer.period is not None:
        console.print(f"Period: {answer.period}")
    console.print(headline_of(answer, kinds), style="bold green")
    for note in answer.notes:
        console.print(note)
    for one in kinds:
        if len(kinds) > 1:
            console.print()
            console.print(f"{one.fleet.kind}: {team_words(one.decision.team)}", style="bold")
        console.print(*one.reasons, *one.notes, sep="\n")
        if one.decision.alternatives:
            console.print(decision_table(one))
            console.print(one.price_words)
            if one.truck_words:
                console.print(f"Price of each truck that goes, alone: {one.truck_words}.")
