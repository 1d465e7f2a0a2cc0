"""Decisions in a notebook: the team that goes in bold, and below it what else could go."""

from runcard.city.model import LATE
from runcard.city.notebook import DEMAND_COLOUR, Pixels, map_html
from runcard.html_table import escaped, html_note, html_table, html_title
from runcard.mdp.problem import MINUTES
from runcard.policy.base import Decision, Option
from runcard.policy.department import DepartmentDecision, KindDecision
from runcard.policy.options import team_number

PRICE = "Price: what taking these units now is expected to cost later. Sum: now and later together."


def decision_html(decision: Decision) -> str:
    """A decision that names stations, as HTML."""
    options: tuple[Option, ...] = (decision, *decision.alternatives)
    of_late = decision.cost is None
    headings = ["team", "late now, %", *([] if of_late else ["mean response, min"]), *price_headings(of_late)]
    rows = [
        [
            ", ".join(one.team),
            f"{100.0 * one.p_late:.3f}",
            *([] if of_late else ["" if one.minutes is None else f"{one.minutes:.2f}"]),
            *price_cells(one, of_late),
        ]
        for one in options
    ]
    note = f"{PRICE} Where there are standards, late counts the missed ones, each with its weight."
    return f"<div>{html_table(headings, rows, strong={0})}{html_note(note)}</div>"


def department_decision_html(decision: DepartmentDecision) -> str:
    """A decision that names units, of every kind, as HTML."""
    of_type = f" ({decision.type})" if decision.type else ""
    title = f"Send {', '.join(decision.units)} to {decision.node_id}{of_type}"
    tables = [_kind_table(one) for one in decision.kinds]
    notes = [html_note(note) for note in (*decision.notes, PRICE)]
    return f"<div>{html_title(title)}{''.join((*tables, *notes, _map(decision)))}</div>"


def _map(decision: DepartmentDecision) -> str:
    """Who goes: a line from each unit to the incident; empty if the city is not known."""
    if decision.ground is None:
        return ""
    city = decision.ground.city
    nodes = {station.station_id: station.node_id for station in city.stations}
    starts = []
    for one in decision.kinds:
        for unit, station_id in zip(one.units, one.decision.team, strict=True):
            away = decision.moved.get(unit) or decision.moved.get(station_id)
            node_id = nodes.get(station_id) if away is None else away.node_id
            starts += [(node_id, unit)] if node_id is not None else []  # outside help has no place

    def drawn(pixels: Pixels) -> str:
        x, y = pixels[decision.node_id]
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
    return html_table([fleet.kind, *late, *response, *price_headings(of_late)], rows, strong={0})


def price_headings(of_late: bool) -> list[str]:
    """The headings of price and sum."""
    return ["price, %", "sum, %"] if of_late else ["price", "sum"]


def price_cells(option: Option, of_late: bool) -> list[str]:
    """Price and sum, in percent if they are late incidents."""
    times = 100.0 if of_late else 1.0
    return [f"{times * number:.3f}" for number in (option.price, option.total)]
