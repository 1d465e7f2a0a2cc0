"""How long trucks drive: link by link along a route, with the delays of one incident.

With a chance, all trucks of an incident meet the same delay on a link; otherwise each meets its own. Both are drawn by
key, so two trucks find the same on a link, whichever is asked first. Where driving has a scale, every delay is the sum
of a part that is the same for all trucks and one of each truck.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from runcard.mdp.kernels.bare import bare_kernel
from runcard.simulate.kernels.draws import EVERYBODY, FLAG, LINK, draw_gamma, draw_key, draw_time, uniform

_SMALL = 1e-200
"""Far above the smallest double, so that one more factor does not take a product to 0."""


@bare_kernel
def scale_time(laws: Any, mean: float, ours: np.uint64, own: np.uint64) -> float:
    """A time of a law with a scale from two hashes: of the part that all trucks share, and of a truck's own part."""
    loose = laws.apart.loose * mean
    minutes = laws.apart.fixed * mean
    if laws.chance > 0.0:
        minutes += draw_gamma(laws.chance * loose / laws.scale, laws.scale, ours)
    if laws.chance < 1.0:
        minutes += draw_gamma((1.0 - laws.chance) * loose / laws.scale, laws.scale, own)
    return float(minutes)


@bare_kernel
def link_time(roads: Any, key: np.uint64, truck: int, link: int) -> float:
    """The minutes that a truck of an incident takes on a link."""
    laws, mean = roads.laws, roads.links[link].minutes
    if laws.scale > 0.0:
        return scale_time(laws, mean, draw_key(key, LINK, EVERYBODY, link), draw_key(key, LINK, truck, link))
    together = laws.chance >= 1.0
    if 0.0 < laws.chance < 1.0:
        together = uniform(draw_key(key, FLAG, EVERYBODY, link)) < laws.chance
    if together:
        return draw_time(laws.together, mean, draw_key(key, LINK, EVERYBODY, link))
    return draw_time(laws.apart, mean, draw_key(key, LINK, truck, link))


@bare_kernel
def drive_route(roads: Any, number: int, key: np.uint64, truck: int) -> float:
    """The minutes that a truck of an incident takes on a route."""
    first, last, minutes = roads.first_link[number], roads.first_link[number + 1], 0.0
    if not roads.alike:
        for n in range(first, last):
            minutes += link_time(roads, key, truck, roads.route[n])
        return minutes
    # All links are exponential with one mean: one logarithm is enough for many links.
    product, chance = 1.0, roads.laws.chance
    for n in range(first, last):
        link, who = roads.route[n], EVERYBODY
        if chance < 1.0 and (chance == 0.0 or uniform(draw_key(key, FLAG, EVERYBODY, link)) >= chance):
            who = truck
        product *= uniform(draw_key(key, LINK, who, link))
        if product < _SMALL:
            minutes -= np.log(product)
            product = 1.0
    return float(roads.links[0].minutes * (minutes - np.log(product)))


@bare_kernel
def drive_tree(
    roads: Any, next_link: NDArray[np.int32], row: int, node: int, key: np.uint64, truck: int, factor: float,
    until: float,
) -> tuple[float, int]:  # fmt: skip
    """Minutes from a node along a row of trees, to the end or to the first node after `until` minutes; and that node.

    Each link takes `factor` times as long as on the way there.
    """
    minutes = 0.0
    while next_link[row, node] >= 0 and minutes < until:
        link = next_link[row, node]
        minutes += factor * link_time(roads, key, truck, link)
        node = roads.links[link].ends - node
    return minutes, node


@bare_kernel
def drive_until(
    roads: Any, number: int, next_link: NDArray[np.int32], row: int, node: int, key: np.uint64, truck: int, until: float
) -> tuple[float, int, float, int]:
    """Where a truck is `until` minutes after it left a node, on a route or, if `number` is -1, on a row of trees.

    Returns the minutes to the last node that it has passed, that node, and the minutes and number of the next link.
    """
    minutes, place, link = 0.0, 0, -1
    while True:
        link = next_link[row, node] if number < 0 else roads.route[roads.first_link[number] + place]
        time = link_time(roads, key, truck, link)
        if minutes + time >= until:
            return minutes, node, time, link
        minutes += time
        node = roads.links[link].ends - node
        place += 1
