"""Which nodes can be reached: every station needs a route to every demand point."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

_MAX_NAMED: Final = 3


def route_faults(links: Sequence[Any], stations: Sequence[Any], demand: Sequence[Any]) -> Iterator[tuple[int, str]]:
    """The position of every station without a route to some demand point, and what is wrong with it.

    A station with a route to one that reaches everything reaches everything too. So in a sound city two searches from
    the first station are enough, one with and one against the direction of the links.
    """
    ahead, back = _neighbours(links)
    wanted = dict.fromkeys(point.node_id for point in demand)
    reached = _reachable(stations[0].node_id, ahead)
    sound = _reachable(stations[0].node_id, back) if reached.issuperset(wanted) else set()
    for index, station in enumerate(stations):
        if station.node_id in sound:
            continue
        reached = _reachable(station.node_id, ahead)
        missed = [node_id for node_id in wanted if node_id not in reached]
        if missed:
            named = ", ".join(missed[:_MAX_NAMED])
            more = f" and {len(missed) - _MAX_NAMED} more" if len(missed) > _MAX_NAMED else ""
            yield index, f"expected a route to every demand point, got none to {named}{more}"


def _neighbours(links: Sequence[Any]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """The nodes next to each node, along the direction of the links and against it."""
    ahead: dict[str, list[str]] = defaultdict(list)
    back: dict[str, list[str]] = defaultdict(list)
    for link in links:
        start, end = link.from_node_id, link.to_node_id
        ahead[start].append(end)
        back[end].append(start)
        if not link.directed:
            ahead[end].append(start)
            back[start].append(end)
    return ahead, back


def _reachable(start: str, neighbours: Mapping[str, list[str]]) -> set[str]:
    seen = {start}
    waiting = [start]
    while waiting:
        for node_id in neighbours.get(waiting.pop(), ()):
            if node_id not in seen:
                seen.add(node_id)
                waiting.append(node_id)
    return seen
