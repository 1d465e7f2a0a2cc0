"""The page of where one more unit should stand: one HTML file that needs no network, with a map of all places.

Areas are coloured by how many misses a year one more unit there would save; where a place was not solved to the end,
by about how many. The label of the area says so.
"""

from math import inf
from typing import Any, Final

from runcard.city.areas import NO_AREA, area_of_nodes, demand_nodes
from runcard.city.model import LATE
from runcard.outputs import fit_file
from runcard.outputs.ground import ground_of
from runcard.outputs.whatif import one_more_words as words
from runcard.outputs.whatif.one_more_words import decimals_a_year, place_words
from runcard.outputs.whatif.places import OneMore, Place
from runcard.outputs.whatif.words import a_year, whole
from runcard.page import classes_of, page_of, sequential
from runcard.plan.words import certainty, misses, table_words

NOWHERE: Final = {"colour": "var(--rc-empty)", "hatch": "", "label": "no station here, so not looked at"}
"""How areas are shown in which no place was looked at."""


def one_more_map(found: OneMore) -> dict[str, Any]:
    """All that the map shows (see `page/map.js`), for JSON: the best places stand out, at stations and elsewhere."""
    ground, ranks = ground_of(found.city), _ranks(found)
    at_stations = {place.station_id: rank for place, rank in ranks.items() if place.station_id is not None}
    for station in ground["stations"]:
        if station["id"] in at_stations:
            station |= {"state": "best", "words": rank_words(at_stations[station["id"]])}
    note = f"Dark: one more unit there does most. {rank_words(1)} is the best place, {rank_words(2)} the next one."
    return {"ground": ground, "layers": [one_more_layer(found)], "note": note}


def one_more_layer(found: OneMore) -> dict[str, Any]:
    """A layer of the map: what one more unit would save at the best place of each area.

    A place is in the area of the demand node that is nearest by driving time.
    """
    ranks, places_of = _ranks(found), _places_by_area(found)
    of_late, yearly = found.city.objective == LATE, a_year(found.of_period)
    unit = f"fewer {misses(found.city)} {yearly}" if of_late else f"{yearly} less of what is minimised"
    best = {node_id: places[0] for node_id, places in places_of.items() if places}
    saved = {node_id: saved_a_year(found, place) for node_id, place in best.items()}
    classes = classes_of(list(saved.values()), num=6, label=lambda limit: f"{limit:.6g}")
    legend = classes.legend(sequential(len(classes)))
    areas: dict[str, dict[str, Any]] = {}
    for node_id, places in places_of.items():
        if not places:
            lines = [f"Area {found.city.name_of(node_id)}", NOWHERE["label"]]
            areas[node_id] = {"class": len(legend), "lines": lines, "mark": ""}
            continue
        ranked = [place for place in places if place in ranks]
        areas[node_id] = {
            "class": classes.of(saved[node_id]),
            "lines": [line for place in ranked or places[:1] for line in _lines(found, place, unit, ranks.get(place))],
            # Those at stations are marked there.
            "mark": " ".join(rank_words(ranks[place]) for place in ranked if place.station_id is None),
        }
    return {
        "id": "one-more",
        "title": f"One more {found.kind} here: {unit}",
        "legend": [*legend, NOWHERE] if len(best) < len(areas) else legend,
        "areas": areas,
        "outlined": [node_id for node_id, place in best.items() if place in ranks],
        "outline_label": f"Thick border: one of the best {len(ranks)} is here",
        "stations": {
            place.station_id: _lines(found, place, unit, ranks.get(place))
            for place in found.places
            if place.station_id is not None
        },
    }


def _ranks(found: OneMore) -> dict[Place, int]:
    """The best places with their ranks, from 1 on."""
    return {place: rank for rank, place in enumerate(found.best, start=1)}


def _places_by_area(found: OneMore) -> dict[str, list[Place]]:
    """The places that were looked at, by the demand node of their area: the best first, then those that save most."""
    nodes, ranks = demand_nodes(found.city), _ranks(found)
    area_of = dict(zip((node.node_id for node in found.city.nodes), area_of_nodes(found.city).tolist(), strict=True))
    by_area: dict[str, list[Place]] = {node_id: [] for node_id in nodes}
    for place in sorted(found.places, key=lambda place: (ranks.get(place, inf), -saved_a_year(found, place))):
        if area_of[place.node_id] != NO_AREA:
            by_area[nodes[area_of[place.node_id]]].append(place)
    return by_area


def rank_words(rank: int) -> str:
    """A rank as it stands on the map, where stations may have numbers for names."""
    return f"#{rank}"


def saved_a_year(found: OneMore, place: Place) -> float:
    """What one more unit at a place saves in a year; about that, where it was not solved to the end."""
    assert found.base.cost is not None
    return found.per_year(found.base.cost - found.about(place))


def _lines(found: OneMore, place: Place, unit: str, rank: int | None) -> list[str]:
    """What the label of a place says; its rank is None if it is not among the best."""
    about = "" if place.cost is not None else "about "
    decimals = decimals_a_year(found)
    lines = [
        f"{rank_words(rank)}: {place_words(found, place)}" if rank else place_words(found, place),
        f"{about}{whole(saved_a_year(found, place), decimals)} {unit}",
    ]
    if place.lower is not None and place.pruned_by is not None:
        assert found.base.cost is not None
        most = whole(found.per_year(found.base.cost - place.lower), decimals)
        lines.append(f"{certainty(found.proven)}: at most {most}")
    if place.mean_response_minutes is not None:
        lines.append(f"first {found.kind} there after {place.mean_response_minutes:.2f} min")
    return lines


def one_more_page(found: OneMore) -> str:
    """The text of the page."""
    map_data, missed = one_more_map(found), table_words(found.city)
    return page_of("one_more.html", map_data=map_data, found=found, words=words, fit_file=fit_file, missed=missed)
