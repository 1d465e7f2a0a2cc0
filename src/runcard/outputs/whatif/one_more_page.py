"""The page of where one more unit should stand: one HTML file that needs no network, with a map of all places.

Areas are coloured by how many misses a year one more unit there would save; where a place was not solved to the end,
by about how many. The label of the area says so.
"""

from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from runcard.city.model import LATE
from runcard.outputs.page.colours import classes_of, sequential
from runcard.outputs.page.ground import ground_of
from runcard.outputs.page.parts import embedded, page_parts
from runcard.outputs.whatif.one_more_words import (
    change_a_year,
    decimals_a_year,
    headline,
    misses_per_100,
    place_words,
    proof_words,
    see_more,
    year_span,
)
from runcard.outputs.whatif.places import OneMore, Place
from runcard.outputs.whatif.words import a_year, misses, unit_word, whole


def one_more_layer(found: OneMore) -> dict[str, Any]:
    """A layer of the map (see `page/map.js`): what one more unit in each area would save, for JSON."""
    areas = {point.node_id for point in found.city.demand}
    known = {place.node_id: place for place in reversed(found.places) if place.node_id in areas}
    saved = {node_id: saved_a_year(found, place) for node_id, place in known.items()}
    of_late = found.city.objective == LATE
    yearly = a_year(found.of_period)
    unit = f"fewer {misses(found.city)} {yearly}" if of_late else f"{yearly} less of what is minimised"
    classes = classes_of(list(saved.values()), num=6, label=lambda limit: f"{limit:.6g}")
    ranks = {place.node_id: number for number, place in enumerate(found.best, start=1)}
    return {
        "id": "one-more",
        "title": f"One more {unit_word(found.kind)} here: {unit}",
        "legend": classes.legend(sequential(len(classes))),
        "areas": {
            node_id: {
                "class": classes.of(value),
                "lines": _lines(found, known[node_id], unit),
                "mark": str(ranks.get(node_id, "")),
            }
            for node_id, value in saved.items()
        },
        "outlined": [],
        "stations": {
            place.station_id: _lines(found, place, unit) for place in found.places if place.station_id is not None
        },
    }


def saved_a_year(found: OneMore, place: Place) -> float:
    """What one more unit at a place saves in a year; about that, where it was not solved to the end."""
    assert found.base.cost is not None
    return found.per_year(found.base.cost - found.about(place))


def _lines(found: OneMore, place: Place, unit: str) -> list[str]:
    """What the label of a place says."""
    about = "" if place.cost is not None else "about "
    decimals = decimals_a_year(found)
    lines = [place_words(found, place), f"{about}{whole(saved_a_year(found, place), decimals)} {unit}"]
    if place.lower is not None and place.pruned_by is not None:
        assert found.base.cost is not None
        most = whole(found.per_year(found.base.cost - place.lower), decimals)
        lines.append(f"proven: at most {most}")
    if place.mean_response_minutes is not None:
        lines.append(f"first {unit_word(found.kind)} there after {place.mean_response_minutes:.2f} min")
    return lines


def one_more_page(found: OneMore) -> str:
    """The text of the page."""
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string((files("runcard.outputs.whatif") / "one_more.html").read_text("utf-8"))
    parts = page_parts()
    note = "Dark: one more unit there does most. Numbers are the ranks of the best places."
    data = {"ground": ground_of(found.city), "layers": [one_more_layer(found)], "note": note}
    return template.render(
        found=found,
        headline=headline(found),
        proof=proof_words(found),
        see_more=see_more(found),
        what=misses(found.city),
        unit=unit_word(found.kind),
        place_words=place_words,
        change_a_year=change_a_year,
        misses_per_100=misses_per_100,
        year_span=year_span,
        style=Markup(parts.style),
        script=Markup(parts.script),
        data=Markup(embedded(data)),
    )
