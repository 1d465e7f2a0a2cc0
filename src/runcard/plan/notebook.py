"""Answers in a notebook: the units that go in bold, below them what else could go, and a map."""

from runcard.city.model import LATE
from runcard.city.notebook import DEMAND_COLOUR, Pixels, map_html
from runcard.mdp.problem import MINUTES
from runcard.plan.answer import Answer
from runcard.plan.fleet import KindDecision
from runcard.policy.notebook import PRICE, price_cells, price_headings
from runcard.policy.options import team_number
from runcard.table import Table, escaped, html_note, html_title


def answer_html(answer: Answer) -> str:
    """An answer, which names the units of every kind, as HTML."""
    of_type = f" ({answer.type})" if answer.type else ""
    title = f"Send {', '.join(answer.units)} to {answer.node_id}{of_type}"
    tables = [_kind_table(one) for one in answer.kinds]
    notes = [html_note(note) for note in (*answer.notes, PRICE)]
    return f"<div>{html_title(title)}{''.join((*tables, *notes, _map(answer)))}</div>"


def _map(answer: Answer) -> str:
    """Who goes: a line from each unit to the incident; empty if the city is not known."""
    if answer.ground is None:
        return ""
    city = answer.ground.city
    nodes = {station.station_id: station.node_id for station in city.stations}
    starts = []
    for one in answer.kinds:
        for unit, station_id in zip(one.units, one.decision.team, strict=True):
            away = answer.moved.get(unit) or answer.moved.get(station_id)
            node_id = nodes.get(station_id) if away is None else away.node_id
            starts += [(node_id, unit)] if node_id is not None else []  # outside help has no place

    def drawn(pixels: Pixels) -> str:
        x, y = pixels[answer.node_id]
        lines = "".join(
            f'<line x1="{pixels[start][0]:.0f}" y1="{pixels[start][1]:.0f}" x2="{x:.0f}" y2="{y:.0f}">'
            f"<title>{escaped(unit)}</title></line>"
            for start, unit in starts
        )
        place = f'<circle cx="{x:.0f}" cy="{y:.0f}" r="7"><title>the incident</title></circle>'
        return f'<g fill="{DEMAND_COLOUR}" stroke="{DEMAND_COLOUR}" stroke-width="3">{lines}{place}</g>'

    note = "Dot: the incident. A line leads from where each unit stands, as the crow flies. Squares: stations."
    return map_html(city, drawn, note)


def _kind_table(one: KindDecision) -> str:
    """What one kind sends, and could send: chances to miss each standard beside mean minutes, price and sum."""
    fleet, problem = one.fleet, one.fleet.problem
    of_late, minutes = problem.objective == LATE, problem.measures.get(MINUTES)
    standards = fleet.standards_at(one.point)
    late = [f"missed: {standard.rule}, %" for standard in standards] or ["late now, %"]
    response = [] if minutes is None else ["mean response, min"]
    rows = []
    for option in (one.decision, *one.decision.alternatives):
        chances = fleet.chances(one.point, option) if standards else (option.p_late,)
        team = team_number(problem, option.team)
        rows.append(
            [
                ", ".join(fleet.unit_ids(option.team, one.idle)),
                *(f"{100.0 * chance:.3f}" for chance in chances),
                *([] if minutes is None else [f"{minutes[team, one.point]:.2f}"]),
                *price_cells(option, of_late),
            ]
        )
    return Table([fleet.kind, *late, *response, *price_headings(of_late)], rows, strong=[0]).html()
