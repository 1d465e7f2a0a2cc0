"""The files of the demonstration, and commands that show more of its city."""

import shutil
import sys
from os.path import relpath
from pathlib import Path
from shlex import join
from typing import Final

from runcard.city.files import write_city
from runcard.outputs.compare import Comparison
from runcard.outputs.map import draw_map
from runcard.outputs.policy_file import save_policy

CITY_FOLDER: Final = "city"
POLICY_FILE: Final = "optimal.policy"


def write_demo(comparison: Comparison, folder: Path) -> list[Path]:
    """The files of the demonstration, now written: the maps, the city folder and the policy file."""
    closest, optimal = (comparison.result(name) for name in ("closest-first", "optimal"))
    write_city(comparison.city, folder / CITY_FOLDER, overwrite=True)
    save_policy(optimal.policy, folder / POLICY_FILE)
    maps, evaluations = [folder / "map.png", folder / "map.svg"], [closest.evaluation, optimal.evaluation]
    draw_map(comparison.city, [closest.policy, optimal.policy], *maps, results=evaluations)
    return [*maps, folder / CITY_FOLDER, folder / POLICY_FILE]


def next_commands(comparison: Comparison, folder: Path) -> list[str]:
    """Commands that show more of the demonstration's city, as they can be typed here."""
    node_id, called = _telling_node(comparison), Path(sys.argv[0])
    # This program may be in a virtual environment that is not active.
    program = relpath(called) if called.name == "runcard" and not shutil.which("runcard") else "runcard"
    commands = (
        ("decide", str(folder / POLICY_FILE), "--at", node_id, "--idle", "all"),
        ("lateness", str(folder / CITY_FOLDER), "--at", node_id),
        ("compare", str(folder / CITY_FOLDER), "--policies", "closest-first,optimal", "--json"),
        ("map", str(folder / CITY_FOLDER), "--policies", "fixed-card", "-o", str(folder / "fixed-card.png")),
    )
    return [join([program, *words]) for words in commands]


def _telling_node(comparison: Comparison) -> str:
    """The node where the optimal team of all idle trucks differs from closest-first and most incidents start."""
    problem = comparison.problem
    optimal, closest = (comparison.result(name).policy for name in ("optimal", "closest-first"))
    differing = (
        point
        for point in range(problem.num_points)
        if optimal.decide(problem.trucks, point).team != closest.decide(problem.trucks, point).team
    )
    return problem.point_ids[max(differing, key=problem.incidents_per_day.__getitem__, default=0)]
