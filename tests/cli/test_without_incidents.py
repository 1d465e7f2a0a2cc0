"""Demand points without incidents: the folder is valid, and every command takes it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from runcard.city import City, generate_grid, write_city
from runcard.response.table import response_table


@pytest.fixture(scope="module")
def city() -> City:
    """A small city in which trucks on one link meet the same delay half of the time."""
    return replace(generate_grid(side=3, num_stations=3, load=0.2, seed=5), shared_delay=0.5)


def test_lateness_at_a_node_without_incidents(run, city: City, tmp_path: Path) -> None:
    """P(late) of a team does not depend on how many incidents there are: it is that of the node with some."""
    silent = tuple(replace(one, incidents_per_day=0.0) if one.node_id == "n5" else one for one in city.demand)
    folder = write_city(replace(city, demand=silent), tmp_path / "city")
    ran = run("lateness", folder, "--at", "n5", "--json")
    assert (ran.code, ran.err) == (0, "")
    late = sorted(team["p_late"] for team in json.loads(ran.out)["teams"])
    (point,) = [number for number, one in enumerate(city.demand) if one.node_id == "n5"]
    column = response_table(city).p_late[:, point]
    assert late == pytest.approx(sorted(column[column <= 1.0].tolist()), abs=1e-9)


@pytest.mark.parametrize("trucks", [1, 3])
@pytest.mark.parametrize("driving", [{}, {"model": "lognormal", "cv": 0.8}], ids=["exponential", "lognormal"])
def test_compare_with_a_class_without_incidents(
    run, city: City, tmp_path: Path, trucks: int, driving: dict[str, float]
) -> None:
    """A class of its own size that never happens changes no late fraction."""
    usual = replace(city, driving=replace(city.driving, **driving))
    never = replace(usual.demand[5], incidents_per_day=0.0, trucks=trucks)
    found = []
    for name, demand in (("usual", usual.demand), ("with", (*usual.demand, never))):
        folder = write_city(replace(usual, demand=demand), tmp_path / name)
        ran = run("compare", folder, "--policies", "CF,OPT", "--json")
        assert (ran.code, ran.err) == (0, "")
        found.append([policy["late_fraction"] for policy in json.loads(ran.out)["policies"]])
    assert found[0] == pytest.approx(found[1], rel=1e-6)
