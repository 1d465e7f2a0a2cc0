"""The layers of the map of a report: for each kind the chance of a miss, who goes first, and where that departs.

A layer is plain values, as `page/map.js` wants them. An area is a node with demand points, one for each type of
incident; what an area has is the mean over its incidents, those of every type.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runcard.assess.team_shares import TeamShares
from runcard.city.model import City
from runcard.mdp.problem import MINUTES, P_LATE, DispatchProblem
from runcard.outputs.areas import NOBODY, AreaShapes, station_colours
from runcard.outputs.report.findings import Report, StationUnits
from runcard.page import classes_of, sequential
from runcard.plan.everywhere import Everywhere
from runcard.plan.words import and_list, minutes_words, named_units, percent_words, price_words, rule_words, table_words

Layer = dict[str, Any]


@dataclass(frozen=True, eq=False)
class KindMap:
    """What the layers of one kind are made from."""

    report: Report
    kind: str
    city: City
    """That the kind sees."""
    points: Mapping[str, list[int]]
    """By node: its demand points."""
    sent: Everywhere
    """Who goes with every unit idle."""

    @cached_property
    def teams(self) -> list[tuple[tuple[int, ...], ...]]:
        """[J] the stations of the recommended team and of that of closest-first, of each the closest first."""
        pairs = zip(self.sent.stations.tolist(), self.sent.closest.stations.tolist(), strict=True)
        return [tuple(tuple(i for i in team if i >= 0) for team in pair) for pair in pairs]

    @cached_property
    def departing(self) -> list[str]:
        """The areas where some type of incident is not sent the closest units."""
        departs = self.sent.teams != self.sent.closest.teams
        return [node for node, points in self.points.items() if departs[points].any()]

    @property
    def problem(self) -> DispatchProblem:
        """The problem of the kind."""
        return self.report.solved.last.policies[self.kind].problem

    @property
    def shares(self) -> tuple[TeamShares, TeamShares]:
        """Who goes how often, with closest-first and with the recommended dispatch."""
        return self.report.solved.shares[0][self.kind], self.report.solved.shares[-1][self.kind]

    def unit(self, stations: tuple[int, ...]) -> tuple[str, ...]:
        """The units of a team: of each station the first of its roster, or its name where there is no roster."""
        found = []
        for place, i in enumerate(stations):
            station = self.city.stations[i]
            named = named_units(self.city, station.station_id)
            found.append(named[stations[:place].count(i)].unit_id if named else station.name or station.station_id)
        return tuple(found)

    def heading(self, node_id: str) -> str:
        """The first line of the label of an area."""
        per_day = sum(self.city.demand[point].incidents_per_day for point in self.points[node_id])
        return f"Area {self.city.name_of(node_id)}: {per_day:.2g} incidents a day"

    def mean(self, values: NDArray[np.float64], node_id: str) -> float:
        """The mean of a number of demand points over the incidents of an area; nan where it is not known."""
        points = [point for point in self.points[node_id] if np.isfinite(values[point])]
        rates = self.problem.incidents_per_day[points]
        return float((rates * values[points]).sum() / rates.sum()) if len(points) and rates.sum() > 0.0 else np.nan

    def title(self, words: str) -> str:
        """The title of a layer, with the kind before it where there are several."""
        return (
            words[0].upper() + words[1:] if len(self.report.city.kinds) == 1 else f"{self.kind.capitalize()}: {words}"
        )


def layers_of(report: Report, areas: AreaShapes) -> list[Layer]:
    """Every layer of the map, kind after kind."""
    found = []
    for kind in report.city.kinds:
        seen, points = report.city.of_kind(kind), dict[str, list[int]]()
        for number, point in enumerate(seen.demand):
            points.setdefault(point.node_id, []).append(number)
        own = KindMap(report, kind, seen, points, report.answers[kind])
        found += [miss_layer(own), team_layer(own, areas), departure_layer(own)]
    return found


def miss_layer(own: KindMap) -> Layer:
    """The chance that a standard is missed in each area in the long run, with the recommended dispatch."""
    chances = [_chances(own, shares) for shares in own.shares]
    minutes = [shares.mean(own.problem.measures[MINUTES]) for shares in own.shares]
    means = {node: own.mean(_mean_of(chances[1]), node) for node in own.points}
    known = {node: mean for node, mean in means.items() if np.isfinite(mean)}
    classes = classes_of(list(known.values()), num=6)
    areas = {}
    for node, mean in known.items():
        lines = [own.heading(node)]
        for point in own.points[node]:
            demand = own.city.demand[point]
            for number, standard in enumerate(own.city.standards_of(demand)):
                after, before = chances[1][number][point], chances[0][number][point]
                if np.isfinite(after):
                    was = f" (closest first {percent_words(before)})" if np.isfinite(before) else ""
                    lines.append(f"{rule_words(standard)}: missed {percent_words(after)}{was}")
            if np.isfinite(minutes[1][point]):
                lines.append(f"  first {own.kind} after {minutes_words(minutes[1][point])} on average")
        areas[node] = {"class": classes.of(mean), "lines": lines, "mark": ""}
    return {
        "id": f"miss-{own.kind}",
        "title": own.title(f"chance {table_words(own.city).chance}"),
        "legend": classes.legend(sequential(len(classes))),
        "areas": areas,
        "outlined": own.departing,
        "stations": _station_lines(own),
    }


def _chances(own: KindMap, shares: TeamShares) -> list[NDArray[np.float64]]:
    """[standard][J] the chance that each standard of a demand point is missed; nan where it has fewer."""
    if own.city.plain:
        return [shares.mean(own.problem.measures[P_LATE])]
    num = [len(own.city.standards_of(demand)) for demand in own.city.demand]
    return [
        np.where(np.array(num) > number, shares.mean(own.problem.missed(number)), np.nan) for number in range(max(num))
    ]


def _mean_of(chances: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """[J] the mean over the standards of each demand point; nan where none is known."""
    known = np.isfinite(chances)
    total: NDArray[np.float64] = np.where(known, chances, 0.0).sum(axis=0)
    return np.where(known.any(axis=0), total / np.maximum(1, known.sum(axis=0)), np.nan)


def team_layer(own: KindMap, areas_drawn: AreaShapes) -> Layer:
    """The unit that is first due in each area with every unit idle, and the others that go."""
    # An area is coloured by the answer to the type of incident with the most units; of these, the first.
    shown = {node: max((own.teams[point][0] for point in points), key=len) for node, points in own.points.items()}
    first = {node: team[0] for node, team in shown.items() if team}
    owners = [first.get(node, NOBODY) for node in areas_drawn.node_ids]
    numbers = own.report.city.node_numbers
    places = areas_drawn.plane.nodes[[numbers[station.node_id] for station in own.city.stations]]
    colours = station_colours(places, areas_drawn, [owners])
    first_due = sorted(set(first.values()))
    used = list(dict.fromkeys(colours[i] for i in first_due))
    units = {colour: [own.unit((i,))[0] for i in first_due if colours[i] == colour] for colour in used}
    areas = {
        node: {
            "class": used.index(colours[i]),
            "lines": [own.heading(node), *_team_lines(own, node)],
            "mark": own.unit((i,))[0],
        }
        for node, i in first.items()
    }
    return {
        "id": f"team-{own.kind}",
        "title": own.title("first due, every unit in quarters"),
        "legend": [{"colour": colour, "hatch": "", "label": ", ".join(units[colour])} for colour in used],
        "areas": areas,
        "outlined": own.departing,
        "stations": _station_lines(own),
    }


def _team_lines(own: KindMap, node_id: str) -> list[str]:
    """Who goes to each type of incident; types with the same answer share a line."""
    found: dict[tuple[tuple[int, ...], ...], list[str]] = {}
    for point in own.points[node_id]:
        found.setdefault(own.teams[point], []).append(own.city.demand[point].type)
    lines = []
    for (team, closest), types in found.items():
        of_types = f"{', '.join(filter(None, types))}: " if any(types) else ""
        instead = f" (closest first: {and_list(own.unit(closest))})" if team != closest else ""
        lines.append(f"{of_types}{and_list(own.unit(team))}{instead}")
    return lines


def departure_layer(own: KindMap) -> Layer:
    """Where the recommended units are not the closest ones, and what that gains."""
    gains, missed, closest_missed = own.sent.gains(), own.sent.missed_in_all, own.sent.closest.missed_in_all
    means = {node: own.mean(gains, node) for node in own.departing}
    times, unit = price_words(own.city)
    classes = classes_of([times * mean for mean in means.values()], num=3, label=lambda value: f"{value:g}")
    swatches = sequential(len(classes) + 1)
    same = {"colour": swatches[0].colour, "hatch": "", "label": "the closest units go"}
    named = classes.legend(swatches[1:]) if own.departing else []
    legend = [same, *({**one, "label": f"others go: {one['label']} avoided"} for one in named)]
    areas = {}
    for node, points in own.points.items():
        lines = [own.heading(node)]
        for point in points:
            (team, closest), name = own.teams[point], own.city.demand[point].type
            if team != closest:
                of_type, instead = f"{name}: " if name else "", percent_words(closest_missed[point])
                lines += [
                    f"{of_type}{and_list(own.unit(team))} instead of {and_list(own.unit(closest))}",
                    f"  missed now {percent_words(missed[point])} instead of {instead}; in all "
                    f"{times * gains[point]:.2g} {unit} avoided",
                ]
        lines += ["The closest units go."] if len(lines) == 1 else []
        number = 1 + classes.of(times * means[node]) if node in means else 0
        areas[node] = {"class": number, "lines": lines, "mark": ""}
    return {
        "id": f"departs-{own.kind}",
        "title": own.title(f"where not the closest go, and {unit} avoided"),
        "legend": legend,
        "areas": areas,
        "outlined": own.departing,
        "stations": _station_lines(own),
    }


def _station_lines(own: KindMap) -> dict[str, list[str]]:
    """What the label of each station says about its units of a kind."""
    return {one.station_id: [_work(one)] for one in own.report.stations if one.kind == own.kind}


def _work(one: StationUnits) -> str:
    """The work of the units of a station in a line."""
    names = ", ".join(one.units) or one.kind
    return f"{names}: {one.calls_per_day[1]:.1f} calls a day, busy {percent_words(one.busy_fractions[1])} of the time"
