"""Where the incident is and which trucks are idle, from the words of a person to the numbers of a problem."""

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from runcard.errors import InputError
from runcard.mdp.problem import DispatchProblem
from runcard.outputs.words import counted, expected_one_of, incidents_a_day


def find_point(problem: DispatchProblem, node_id: str, incident_class: int | None = None) -> int:
    """The demand point of a node; where it has several incident classes, the one numbered `incident_class` from 1."""
    points = [number for number, point_id in enumerate(problem.point_ids) if point_id == node_id]
    if not points:
        raise InputError(expected_one_of("demand point", problem.point_ids, node_id))
    if incident_class is None and len(points) > 1:
        classes = ", ".join(
            f"{number} ({_class_facts(problem, point)})" for number, point in enumerate(points, start=1)
        )
        raise InputError(f"node {node_id} has {len(points)} incident classes; choose one with --class: {classes}")
    wanted = 1 if incident_class is None else incident_class
    if not 1 <= wanted <= len(points):
        found = "only class 1" if len(points) == 1 else f"the classes 1 to {len(points)}"
        raise InputError(f"node {node_id} has {found}, got --class {incident_class}")
    return points[wanted - 1]


def class_words(problem: DispatchProblem, point: int) -> str:
    """In brackets, which incident class of its node a demand point is; empty if the node has only one."""
    points = [number for number, point_id in enumerate(problem.point_ids) if point_id == problem.point_ids[point]]
    if len(points) == 1:
        return ""
    return f" (incident class {points.index(point) + 1} of {len(points)}: {_class_facts(problem, point)})"


def _class_facts(problem: DispatchProblem, point: int) -> str:
    return f"{class_name(problem, point)}, {incidents_a_day(float(problem.incidents_per_day[point]), digits=6)}"


def class_name(problem: DispatchProblem, point: int) -> str:
    """What tells the incidents of a demand point from others of its node, in words."""
    if problem.class_names:
        return problem.class_names[point]
    return f"needs {counted(int(problem.trucks_needed[point]), 'truck')}"


def idle_trucks(problem: DispatchProblem, words: str, *, what: str = "idle") -> NDArray[np.int64]:
    """[I] the idle trucks, or `what` they are: station ids with commas, one for each truck, or "all" or "none"."""
    station_ids = problem.station_ids
    if words in ("all", "none") and words not in station_ids:
        return problem.trucks.copy() if words == "all" else np.zeros_like(problem.trucks)
    named = Counter(word.strip() for word in words.split(","))
    for word, number in named.items():
        if word not in station_ids:
            raise InputError(f"{what} trucks: {expected_one_of('station', station_ids, word)}; or say just all or none")
        trucks = int(problem.trucks[station_ids.index(word)])
        if number > trucks:
            raise InputError(f"{what} trucks: station {word} has {counted(trucks, 'truck')}, got it {number} times")
    return np.array([named[station_id] for station_id in station_ids], np.int64)
