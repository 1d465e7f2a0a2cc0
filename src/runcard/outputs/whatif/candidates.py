"""Where one more unit could stand: at every station, or at every node of the roads."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from runcard.assess.first_guess import FirstGuess
from runcard.assess.steps import Steps
from runcard.city.aprons import apron_nodes
from runcard.city.model import City
from runcard.outputs.whatif.changes import Add, apply_changes
from runcard.outputs.whatif.outside import same_outside
from runcard.outputs.whatif.places import Place
from runcard.plan.words import counted
from runcard.response.routes import road_graph


@dataclass(frozen=True, eq=False)
class OneMoreCity:
    """A city without periods, and a kind of which it may get one more unit."""

    whole: City
    kind: str

    @cached_property
    def base(self) -> City:
        """The city that the kind sees now, with its trucks from outside at a stated distance."""
        seen = self.whole.of_kind(self.kind)
        return same_outside(seen, seen)

    def with_unit_at(self, place: Place) -> City:
        """The city that the kind sees with one more unit."""
        return apply_changes(self._same_outside, [Add(self.kind, place.place)]).of_kind(self.kind)

    @cached_property
    def _same_outside(self) -> City:
        """The whole city with trucks from outside as far away as this kind has them, whatever other kinds have."""
        return replace(self.whole, outside=self.base.outside)

    def candidates(self, *, anywhere: bool, only_demand: bool = False) -> tuple[Place, ...]:
        """Every station, of whatever kinds; with `anywhere` also every other node with a way to all demand points.

        With `only_demand` only nodes with incidents are among the others.
        """
        aprons = apron_nodes(self.whole)
        stations = [Place(aprons.get(one.node_id, one.node_id), one.station_id) for one in self.whole.stations]
        taken = {one.node_id for one in stations}
        others = (one for one in self._nodes_with_ways() if one not in aprons and one not in taken) if anywhere else ()
        if only_demand:
            wanted = {point.node_id for point in self.base.demand}
            others = (one for one in others if one in wanted)
        return (*stations, *map(Place, others))

    def nearest_stations(self) -> dict[str, tuple[str, float]]:
        """By node: the station that a drive from there reaches first, and its minutes; not nodes without a way."""
        roads, place = road_graph(self.whole), {node.node_id: n for n, node in enumerate(self.whole.nodes)}
        aprons, stations = apron_nodes(self.whole), self.whole.stations
        at = [place[aprons.get(one.node_id, one.node_id)] for one in stations]
        minutes = np.concatenate([found for _, _, found in roads.minutes_to(at)])
        nearest, least = minutes.argmin(axis=0).tolist(), minutes.min(axis=0).tolist()
        named = zip(self.whole.nodes, nearest, least, strict=True)
        return {node.node_id: (stations[i].station_id, far) for node, i, far in named if far < np.inf}

    def _nodes_with_ways(self) -> Iterator[str]:
        """The nodes from which a road leads to every demand point."""
        roads, place = road_graph(self.base), {node.node_id: n for n, node in enumerate(self.base.nodes)}
        wanted = np.array(list({place[point.node_id] for point in self.base.demand}), np.int32)
        reaches = np.ones(roads.num_nodes, np.bool_)
        for _, _, minutes in roads.minutes_to(wanted):
            reaches &= np.isfinite(minutes).all(axis=0)
        return (node.node_id for node, good in zip(self.base.nodes, reaches.tolist(), strict=True) if good)


def by_guess(places: Sequence[Place], first: FirstGuess, steps: Steps) -> list[Place]:
    """Places with a first guess at the cost there, the smallest first."""
    steps.begin(f"a first guess at {counted(len(places), 'place')}")
    guesses = first.costs([place.node_id for place in places], steps.part).tolist()
    guessed = [replace(place, guess=guess) for place, guess in zip(places, guesses, strict=True)]
    return sorted(guessed, key=lambda place: place.guess)
