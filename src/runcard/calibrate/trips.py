"""The drives of a log: from where, over which links, and how long. Routes are those of the model.

The routes to one node form a tree, so what two units share is the common last part of their routes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from runcard.city.aprons import ROAD_CLASS
from runcard.city.model import City
from runcard.response.routes import road_graph

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

PAIRS_AT_ONCE = 20_000


@dataclass(frozen=True, eq=False)
class Paths:
    """The links of some routes, each from its end backwards, and how long they take."""

    links: NDArray[np.int32]
    """[path, place] link numbers from the end on, -1 behind the first."""
    minutes: Floats
    """[path] mean."""

    def sums(self, of_link: Floats) -> Floats:
        """[path] the sum of a number of each link."""
        padded = np.append(of_link, 0.0)
        found: Floats = padded[self.links].sum(axis=1)
        return found

    def shared(self, first: Ints, second: Ints, of_link: Floats) -> Floats:
        """[pair] the sum of a number of each link over the common last part of two paths."""
        padded, found = np.append(of_link, 0.0), np.empty(len(first))
        for low in range(0, len(first), PAIRS_AT_ONCE):
            part = slice(low, low + PAIRS_AT_ONCE)
            one, other = self.links[first[part]], self.links[second[part]]
            same = np.logical_and.accumulate((one == other) & (one >= 0), axis=1)
            found[part] = np.where(same, padded[one], 0.0).sum(axis=1)
        return found


def find_paths(city: City, starts: Sequence[int] | Ints, ends: Sequence[int] | Ints) -> Paths:
    """The shortest route between each pair of nodes, by number in `city.nodes`."""
    roads = road_graph(city)
    starts, ends = np.asarray(starts, np.int64), np.asarray(ends, np.int64)
    nodes, rows = np.unique(ends, return_inverse=True)
    minutes = np.empty(len(starts))
    found: list[tuple[Ints, NDArray[np.int32]]] = []
    for part, own, to_node in roads.minutes_to(nodes.astype(np.int32)):
        following = roads.next_links(own, to_node)
        pairs = np.flatnonzero((rows >= part.start) & (rows < part.stop))
        row, at = rows[pairs] - part.start, starts[pairs].copy()
        minutes[pairs] = to_node[row, at]
        steps = []
        while ((link := following[row, at]) >= 0).any():
            steps.append(link)
            other_end = np.where(roads.from_node[link] == at, roads.to_node[link], roads.from_node[link])
            at = np.where(link < 0, at, other_end)
        found.append((pairs, _backwards(steps, len(pairs))))
    links = np.full((len(starts), max((table.shape[1] for _, table in found), default=1)), -1, np.int32)
    for pairs, table in found:
        links[pairs, : table.shape[1]] = table
    return Paths(links, minutes)


def _backwards(steps: list[NDArray[np.int32]], num: int) -> NDArray[np.int32]:
    """[path, place] the links of paths from their ends on, given those of every step, -1 after the last."""
    if not steps:
        return np.full((num, 1), -1, np.int32)
    table = np.stack(steps, axis=1)
    place = (table >= 0).sum(axis=1)[:, None] - 1 - np.arange(table.shape[1])[None, :]
    return np.where(place >= 0, np.take_along_axis(table, np.maximum(place, 0), axis=1), np.int32(-1))


def link_classes(city: City) -> tuple[tuple[str, ...], Ints]:
    """The classes of road, and [link] the number of each link's class."""
    words = [dict(link.extra).get(ROAD_CLASS, "") or "road" for link in city.links]
    classes = tuple(sorted(set(words)))
    number = {word: place for place, word in enumerate(classes)}
    return classes, np.array([number[word] for word in words], np.int64)


def minutes_between(city: City, starts: Sequence[int] | Ints, ends: Sequence[int] | Ints) -> Floats:
    """[start, end] the mean minutes between nodes, by number in `city.nodes`."""
    roads = road_graph(city)
    found = np.empty((len(starts), len(ends)))
    for part, _, to_node in roads.minutes_to(np.asarray(ends, np.int32)):
        found[:, part] = to_node[:, np.asarray(starts, np.int64)].T
    return found
