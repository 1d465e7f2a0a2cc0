"""Teams for the terminal: every one at a node, or the one that goes and what else could go."""

from collections.abc import Sequence

from runcard.city.address import Spot
from runcard.cli.terminal import make_console
from runcard.outputs.explain import Explanation, explained, headline_of
from runcard.outputs.lateness import ClassLateness
from runcard.plan.answer import Answer
from runcard.plan.words import counted, decimals_for, in_decimals, incidents_a_day, team_words
from runcard.table import Table


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
            console.print(f"{one.kind}: {team_words(one.decision.team)}", style="bold")
        console.print(*one.reasons, *one.notes, sep="\n")
        if one.decision.alternatives:
            console.print(decision_table(one))
            console.print(one.price_words)
            if one.truck_words:
                console.print(f"Price of each truck that goes, alone: {one.truck_words}.")


def class_line(one: ClassLateness) -> str:
    """An incident class in one line."""
    name = f"{one.name}, " if one.name else ""
    if one.kind:
        rules = "; ".join(standard.rule for standard in one.standards)
        what = f"{name}{one.type}, " if one.type else name
        return f"{what}{counted(one.trucks, one.kind)}, {rules}, {incidents_a_day(one.incidents_per_day)}"
    in_time = "" if one.arrivals == 1 else f", {one.arrivals} of them in time"
    return (
        f"{name}{counted(one.trucks, 'truck')}{in_time}, target {one.target_minutes:g} min, "
        f"{incidents_a_day(one.incidents_per_day)}"
    )


def lateness_table(lateness: ClassLateness, *, top: int | None = None) -> Table:
    """The teams of an incident class with P(late), best first; only the first `top` if given."""
    several = lateness.trucks > 1
    headings = ["team", "late\n%", "first\nmean min", "90 % in\nmin"]
    headings += ["last\nmean min", "90 % in\nmin"] if several else []
    if lateness.standards:
        headings[1] = "missed\nin all, %"
        headings[2:2] = [standard.rule.replace(" in ", "\nin ") + ", %" for standard in lateness.standards]
    if any(team.shared_links is not None for team in lateness.teams):
        headings.append("shared\nlinks")
    decimals = decimals_for((100.0 * team.p_late for team in lateness.teams), significant=2)
    rows = [
        (
            ", ".join(team.team),
            in_decimals(100.0 * team.p_late, decimals),
            *(in_decimals(100.0 * missed, decimals) for missed in team.missed),
            f"{team.mean_minutes:.3f}",
            f"{team.first_p90_minutes:.2f}",
            *([f"{team.last_minutes:.3f}", f"{team.last_p90_minutes:.2f}"] if several else []),
            "" if team.shared_links is None else str(team.shared_links),
        )[: len(headings)]
        for team in lateness.teams[:top]
    ]
    return Table(headings, rows)


def decision_table(explanation: Explanation) -> Table:
    """The team that goes, then the alternatives, with what counts now, price and their sum; P(late now) always."""
    minimise, options = explanation.objective.minimise, [explanation.decision, *explanation.decision.alternatives]
    several = len(explanation.decision.team) > 1
    if minimise == "late":
        now = "missed\nnow, %" if explanation.counts == "standards" else "late now\n%"
        times, headings = 100.0, [now, "price\n%", "sum\n%"]
    elif minimise == "minutes":
        times, headings = 1.0, ["minutes\nnow", "price\nmin", "sum\nmin", "late now\n%"]
    else:
        times, headings = 1.0, ["P(late)\nnow", "minutes\nnow", "price", "sum"]
    decimals, rows = decimals_for(times * option.total for option in options), []
    for option in options:
        cells = [in_decimals(times * number, decimals) for number in (option.p_late, option.price, option.total)]
        if option.minutes is not None:
            cells.insert(1, f"{option.minutes:.3f}")
        if minimise == "minutes":
            cells = [*cells[1:], f"{100.0 * option.p_late:.3f}"]
        if option.team in explanation.arrivals:
            known = explanation.arrivals[option.team]
            cells += [f"{minutes:.1f}" for minutes in (known if several else known[:2])]
        rows.append([", ".join(option.team), *cells])
    if explanation.arrivals:
        headings += ["first\nmean min", "90 % in\nmin", "last\nmean min", "90 % in\nmin"][: 4 if several else 2]
    return Table(["team", *headings], rows, strong=[0])
