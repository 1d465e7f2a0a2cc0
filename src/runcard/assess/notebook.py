"""Assessments in a notebook and as text: what plans miss, with its interval, beside its mean response, and a map."""

from runcard.assess.assessment import Assessment
from runcard.assess.tables import period_table, policy_table, standard_table
from runcard.city.notebook import PLACES_NOTE, map_html, places_svg
from runcard.plan.words import CHANCE_ONLY, city_line
from runcard.table import html_note, html_title

NOTE = "Response: until the first unit is there. The interval holds the exact number, whatever rounding did."
NOTE_SIMULATED = f"Response: until the first unit is there. {CHANCE_ONLY}"


def assessment_html(found: Assessment) -> str:
    """The plans side by side, every standard and each period, as HTML."""
    tables = [policy_table(found, response=True)]
    tables += [period_table(found)] if len(found.first.periods) > 1 else []
    tables += [] if found.city.plain else [standard_table(found)]
    parts = (
        html_title(found.city.name),
        *(table.html() for table in tables),
        _departures(found),
        html_note(NOTE if found.exact else NOTE_SIMULATED),
    )
    return f"<div>{''.join(parts)}</div>"


def assessment_text(found: Assessment) -> str:
    """The plans side by side, and every standard, as plain text."""
    table = policy_table(found, response=True)
    tables = [table] if found.city.plain else [table, standard_table(found)]
    how = "Every state was evaluated." if found.exact else f"{found.num_incidents:,} incidents were simulated."
    return "\n".join([city_line(found.city), *(table.text() for table in tables), how])


def _departures(found: Assessment) -> str:
    """A map of the places where the best of the others sends other units than the first plan, all units free."""
    city, first = found.city, found.first
    if len(found.outcomes) == 1:
        return map_html(city, lambda pixels: places_svg(city, pixels), PLACES_NOTE)
    best = min(found.outcomes[1:], key=lambda outcome: outcome.missed.value)
    departing: set[str] = set()
    for period, fleets in first.periods.items():
        for kind, fleet in fleets.items():
            problem, other = fleet.problem, best.periods[period][kind]
            for point, node_id in enumerate(problem.point_ids):
                if node_id not in departing:
                    teams = (sorted(of.policy.decide(problem.trucks, point).team) for of in (fleet, other))
                    departing |= {node_id} if next(teams) != next(teams) else set()
    same = {point.node_id for point in city.demand} - departing
    when = " in some period" if len(first.periods) > 1 else ""
    note = (
        f"Full dots: with every unit free, {best.name} sends others than {first.name}{when}. Circles: "
        "the same ones. The larger, the more incidents a day."
    )
    return map_html(city, lambda pixels: places_svg(city, pixels, hollow=same), note)
