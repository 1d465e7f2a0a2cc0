"""The layers of the explorer's map: for each kind who is first due, what is missed, and where policies differ.

They are what `page/map.js` draws, with one list for each property in place of one object for each area. Colours
of stations and limits of classes do not depend on who is busy, so that only what changes looks different after a click.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from runcard.city.conditions import OUTSIDE_ID
from runcard.city.model import Standard
from runcard.mdp.problem import MINUTES
from runcard.outputs.panels import OUTSIDE_COLOUR
from runcard.page import Classes, Swatch, classes_of, sequential
from runcard.plan.everywhere import Everywhere, everywhere
from runcard.plan.fleet import Fleet
from runcard.plan.reasons import CALLS, met_words, missed_words
from runcard.plan.words import minutes_words, rule_words, team_words

SAME, BEHIND, FIRST = Swatch("#F4EFE0"), Swatch("#C9A66B", "."), Swatch("#8A4B08", "/")
NUM_CLASSES: Final = 6
NUM_TRIES: Final = 3
"""States with busy units that the limits of classes are made for, beside the one with none."""


def points_of(fleet: Fleet, incident_type: str) -> dict[str, int]:
    """By area: its demand point of a type of incident; of several the one with the most incidents."""
    found: dict[str, int] = {}
    rates = fleet.problem.incidents_per_day
    for point, (node_id, of_type) in enumerate(zip(fleet.problem.point_ids, fleet.types, strict=True)):
        if of_type == incident_type and (node_id not in found or rates[point] > rates[found[node_id]]):
            found[node_id] = point
    return found


def chance_classes(fleet: Fleet, incident_type: str) -> Classes:
    """Classes of what is missed, for scenes with all units idle and with some busy."""
    points, random = np.array([*points_of(fleet, incident_type).values()]), np.random.default_rng(1)
    names = [unit.unit_id for unit in fleet.units]
    values = []
    for number in range(1 + NUM_TRIES):
        busy = random.permutation(len(names))[: number * len(names) // (2 * NUM_TRIES)].tolist()
        idle = {name for place, name in enumerate(names) if place not in busy}
        values.append(everywhere(fleet, idle, points).missed_in_all)
    return classes_of(np.concatenate(values), num=NUM_CLASSES, label=lambda limit: f"{CALLS * limit:.6g}")


@dataclass(frozen=True, eq=False)
class Pair:
    """What one kind sends under two policies."""

    own: Everywhere
    other: Everywhere
    areas: tuple[str, ...]
    titles: tuple[str, str]
    """What the two policies are called."""
    standards: tuple[Standard, ...]
    names: Mapping[str, str] = field(default_factory=dict)
    """What a person calls each area."""

    @property
    def kind(self) -> str:
        """The kind."""
        return self.own.fleet.kind

    @property
    def differs(self) -> NDArray[np.bool_]:
        """[n] whether other units go."""
        return np.not_equal(self.own.teams, self.other.teams)

    @property
    def outlined(self) -> list[str]:
        """The areas where other units go."""
        return [area for area, differs in zip(self.areas, self.differs.tolist(), strict=True) if differs]

    def layers(self, colours: Mapping[str, str], classes: Classes) -> list[dict[str, Any]]:
        """First due, what is missed, and the difference."""
        outline = f"Thick border: {self.titles[1]} sends other units"
        shared = {"outlined": self.outlined, "outline_label": outline, "stations": {}}
        return [one | shared for one in (self._first_due(colours), self._missed(classes), self._difference())]

    def _first_due(self, colours: Mapping[str, str]) -> dict[str, Any]:
        """The colour of the station of the unit that is first due."""
        station_ids = self.own.fleet.problem.station_ids
        first = [colours[station_ids[i]] if i >= 0 else OUTSIDE_COLOUR for i in self.own.stations[:, 0].tolist()]
        units = [units[0] for units in self.own.units]
        of_colour: dict[str, dict[str, None]] = {}
        for colour, unit in sorted(zip(first, units, strict=True), key=lambda one: one[1]):
            of_colour.setdefault(colour, {})[unit] = None
        used = list(of_colour)
        legend = [{"colour": one, "hatch": "", "label": ", ".join(of_colour[one])} for one in used]
        return self._layer("first", f"First due {self.kind}", legend, [used.index(one) for one in first], units)

    def _missed(self, classes: Classes) -> dict[str, Any]:
        """What is missed now."""
        values = self.own.missed_in_all.tolist()
        title, legend = missed_words(self.own.fleet.standards), classes.legend(sequential(len(classes)))
        found = [classes.of(one) for one in values]
        return self._layer("missed", f"{title[0].upper()}{title[1:]} ({self.kind})", legend, found)

    def _difference(self) -> dict[str, Any]:
        """Where another unit is first due, or goes behind it."""
        first = self.own.stations[:, 0] != self.other.stations[:, 0]
        marks = [units[0] if differs else "" for units, differs in zip(self.own.units, self.differs, strict=True)]
        words = (
            (SAME, "the same units go"),
            (BEHIND, "the same first due, others behind it"),
            (FIRST, "another first due"),
        )
        legend = [{"colour": one.colour, "hatch": one.hatch, "label": label} for one, label in words]
        found = np.where(first, 2, np.where(self.differs, 1, 0)).tolist()
        return self._layer("differs", f"Where {self.titles[0]} differs from {self.titles[1]}", legend, found, marks)

    def _layer(
        self, name: str, title: str, legend: Sequence[Any], classes: list[int], marks: Sequence[str] = ()
    ) -> dict[str, Any]:
        return {
            "id": f"{name}-{self.kind}", "title": title, "legend": list(legend), "classes": classes,
            "marks": list(marks) or [""] * len(classes),
        }  # fmt: skip

    def lines(self) -> list[list[str]]:
        """[n] the label of each area: who goes, with what chance and when, and who else under the other policy."""
        own, other = (self._words(scene) for scene in (self.own, self.other))
        differs = self.differs.tolist()
        found = []
        for place, area in enumerate(self.areas):
            lines = [f"Area {self.names.get(area, area)}", *own[place]]
            if differs[place]:
                lines += [f"{self.titles[1]}: {other[place][0]}", *(f"  {line}" for line in other[place][1:])]
            found.append(lines)
        return found

    def _words(self, scene: Everywhere) -> list[list[str]]:
        """[n] who goes, and the chances and minutes."""
        rules, found = [rule_words(one) for one in self.standards], []
        missed = [scene.missed(number).tolist() for number in range(len(rules))]
        minutes = None if (known := scene.measure(MINUTES)) is None else known.tolist()
        for place, units in enumerate(scene.units):
            lines = [team_words(units)]
            lines += [f"{rule}: met {met_words(1.0 - of[place])}" for rule, of in zip(rules, missed, strict=True)]
            if minutes is not None:
                assumed = " (assumed)" if units[0] == OUTSIDE_ID else ""
                lines.append(f"first {self.kind} there after {minutes_words(minutes[place])} on average{assumed}")
            found.append(lines)
        return found

    def summary(self) -> dict[str, Any]:
        """The mean over all incidents of the type, under both policies."""
        rates, rows = self.own.fleet.problem.incidents_per_day[self.own.points], []
        for title, scene in zip(self.titles, (self.own, self.other), strict=True):
            measures = {"missed": scene.missed_in_all, "minutes": scene.measure(MINUTES)}
            means = {
                name: None if of is None else float((rates * of).sum() / rates.sum()) for name, of in measures.items()
            }
            rows.append({"policy": title, **means})
        return {
            "kind": self.kind,
            "policies": rows,
            "differs": int(self.differs.sum()),
            "num_areas": len(self.areas),
        }
