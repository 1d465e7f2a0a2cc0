"""The layers of the map say what the policies do."""

import re
from dataclasses import replace

import numpy as np
import pytest

from runcard.assess.auto import Effort
from runcard.city import City
from runcard.mdp.problem import MINUTES
from runcard.outputs.areas import areas_of
from runcard.outputs.ground import ground_of
from runcard.outputs.report.findings import Report, find
from runcard.outputs.report.layers import KindMap, Layer, layers_of


@pytest.fixture(scope="module")
def layers(report: Report) -> dict[str, Layer]:
    """The layers of the town, by id."""
    return {layer["id"]: layer for layer in layers_of(report, areas_of(report.city))}


def test_each_kind_has_three_layers(layers: dict[str, Layer], plain_report: Report) -> None:
    """Of the chance of a miss, of who is first due, and of where that departs, with titles of their own."""
    assert list(layers) == [f"{name}-{kind}" for kind in ("engine", "ladder") for name in ("miss", "team", "departs")]
    assert len({layer["title"] for layer in layers.values()}) == 6
    assert [layer["id"] for layer in layers_of(plain_report, areas_of(plain_report.city))] == [
        "miss-truck",
        "team-truck",
        "departs-truck",
    ]


def test_every_area_of_a_layer_is_on_the_ground(report: Report, layers: dict[str, Layer]) -> None:
    """Its areas and stations are known there, every class has a legend, and every area has words."""
    ground = ground_of(report.city)
    known, stations = {area["id"] for area in ground["areas"]}, {one["id"] for one in ground["stations"]}
    for layer in layers.values():
        assert set(layer["areas"]) <= known
        assert set(layer["stations"]) <= stations
        assert set(layer["outlined"]) <= set(layer["areas"])
        for area in layer["areas"].values():
            assert 0 <= area["class"] < len(layer["legend"])
            assert len(area["lines"]) >= 2
    assert len(layers["miss-engine"]["areas"]) == len(known)


def test_chances_by_area_add_up_to_the_table(report: Report, town: City) -> None:
    """The mean over areas of the chance to miss a standard, and of the minutes, is what the table says."""
    for number in (0, -1):
        result = report.solved.outcomes[number]
        for kind, shares in report.solved.shares[number].items():
            seen, rates = town.of_kind(kind), shares.problem.incidents_per_day
            minutes = float((rates * shares.mean(shares.problem.measures[MINUTES])).sum() / rates.sum())
            assert minutes == pytest.approx(result.fleets[kind].first_minutes, rel=1e-6)
            missed = 0.0
            for one in result.standards:
                if one.standard.kind == kind:
                    here = np.array([point.type == one.standard.type for point in seen.demand])
                    place = seen.standards_of(seen.demand[int(here.argmax())]).index(one.standard)
                    chances = shares.mean(shares.problem.missed(place))
                    missed = float((rates * chances)[here].sum() / rates[here].sum())
                    assert one.missed is not None
                    assert missed == pytest.approx(one.missed.value, rel=1e-6)
            assert missed > 0.0


def test_what_an_area_has_is_the_mean_over_its_incidents(report: Report, town: City) -> None:
    """Of several types each counts with its rate, and one of which nothing is known does not count."""
    seen, points = town.of_kind("engine"), dict[str, list[int]]()
    for number, point in enumerate(seen.demand):
        points.setdefault(point.node_id, []).append(number)
    rates = np.array([one.incidents_per_day for one in seen.demand])
    values = np.random.default_rng(1).random(len(rates))
    own = KindMap(report, "engine", seen, points, report.answers["engine"])
    assert all(len(here) >= 2 and np.ptp(rates[here]) > 0.0 for here in points.values())
    for node, here in points.items():
        assert own.mean(values, node) == pytest.approx(np.average(values[here], weights=rates[here]), rel=1e-12)
        known = np.where(np.arange(len(values)) == here[0], np.nan, values)
        assert own.mean(known, node) == pytest.approx(np.average(values[here[1:]], weights=rates[here[1:]]), rel=1e-12)
        assert np.isnan(own.mean(np.full(len(values), np.nan), node))


def test_outlined_areas_are_those_where_another_team_goes(report: Report, layers: dict[str, Layer], town: City) -> None:
    """With every unit idle, for some type of incident; elsewhere the label says that the closest units go."""
    for kind, policy in report.solved.last.policies.items():
        closest, problem = report.solved.first.policies[kind], policy.problem
        expected = {
            town.of_kind(kind).demand[j].node_id
            for j in range(problem.num_points)
            if sorted(policy.decide(problem.trucks, j).team) != sorted(closest.decide(problem.trucks, j).team)
        }
        for name in ("miss", "team", "departs"):
            assert set(layers[f"{name}-{kind}"]["outlined"]) == expected
        for node, area in layers[f"departs-{kind}"]["areas"].items():
            assert (area["class"] == 0) == (node not in expected)
            assert ("The closest units go." in area["lines"]) == (node not in expected)


def test_marks_are_the_first_due_units(report: Report, layers: dict[str, Layer], town: City) -> None:
    """Each area is marked with a unit of the kind, which the legend lists under its colour."""
    layer = layers["team-engine"]
    engines = {unit.unit_id for unit in town.units if unit.kind == "engine"}
    for area in layer["areas"].values():
        assert area["mark"] in engines
        assert area["mark"] in layer["legend"][area["class"]]["label"].split(", ")
    assert report.solved.exact


def test_labels_show_misses_and_minutes_side_by_side(layers: dict[str, Layer]) -> None:
    """Of every type: how often a standard is missed, under both rules, and when the first unit is there."""
    for area in layers["miss-engine"]["areas"].values():
        text = "\n".join(area["lines"])
        assert re.search(r"missed [\d.]+ % \(closest first [\d.]+ %\)", text)
        assert re.search(r"first engine after [\d.]+ min on average", text)


def test_an_area_without_simulated_incidents_is_left_out(simulated: City) -> None:
    """Nothing is said of a place where a short simulation saw nothing."""
    quiet = replace(simulated.demand[0], incidents_per_day=1e-7)
    rest = tuple(point for point in simulated.demand if point.node_id != quiet.node_id)
    city = replace(simulated, demand=(quiet, *rest))
    report = find(city, Effort(incidents=500), quick=True)
    layer = next(one for one in layers_of(report, areas_of(report.city)) if one["id"] == "miss-engine")
    assert quiet.node_id not in layer["areas"]
    assert layer["areas"]
