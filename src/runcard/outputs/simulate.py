"""Simulations of one city as documents for programs: one scenario with all that was found, or many side by side."""

from collections.abc import Sequence
from typing import Any

from runcard.assess.assessment import pairs_by_hour
from runcard.assess.policy_choice import PolicyChoice
from runcard.city.model import City, Standard
from runcard.interval import Interval
from runcard.simulate.result import KindSimulation, Simulation
from runcard.simulate.tables import SHOWN, survives


def stress_document(
    city: City, simulations: Sequence[Simulation], not_possible: Sequence[tuple[str, str]]
) -> dict[str, Any]:
    """The same policies in several scenarios as plain values, for JSON; and why a city does not allow others."""
    return {
        "city": city.name,
        "scenarios": [document_of(city, one, trucks=False) for one in simulations],
        "not_possible": [{"scenario": name, "reason": reason} for name, reason in not_possible],
    }


def document_of(city: City, simulation: Simulation, *, trucks: bool = True) -> dict[str, Any]:
    """What a simulation found as plain values, for JSON: all kinds together, every standard, and each kind by itself.

    With what each truck does, if wanted. Of a plain city it is what its one kind does.
    """
    if city.plain:
        return _about(city, simulation) | _kind_document(simulation.first, trucks=trucks)
    by_kind = {kind: _kind_document(one, trucks=trucks) for kind, one in simulation.kinds.items()}
    policies = []
    for number, name in enumerate(simulation.names):
        missed = simulation.missed(number).document()
        document: dict[str, Any] = {
            "name": name, "late_fraction": missed.pop("mean"), **missed, "incidents": simulation.num_incidents
        }  # fmt: skip
        if number > 0:
            document["improvement_over_first"] = simulation.improvement(number).document()
            document["fewer_missed"] = simulation.fewer_missed(number).document()
            document["survives"] = survives(simulation.improvement(number))
        document["standards"] = [_standard(one, missed) for one, missed in simulation.standards(number)]
        document["kinds"] = [{"kind": kind} | found["policies"][number] for kind, found in by_kind.items()]
        policies.append(document)
    return _about(city, simulation) | {"policies": policies}


def _standard(standard: Standard, missed: Interval) -> dict[str, Any]:
    """How often a standard is missed, as plain values."""
    found = missed.document()
    return standard.document() | {"miss_fraction": found.pop("mean"), **found}


def _about(city: City, simulation: Simulation) -> dict[str, Any]:
    """What was simulated, as plain values."""
    return {
        "city": city.name,
        "scenario": simulation.scenario.name,
        "title": simulation.scenario.title,
        "seed": simulation.seed,
        "precise": simulation.precise,
    }


def _kind_document(simulation: KindSimulation, *, trucks: bool = True) -> dict[str, Any]:
    """What one kind does as plain values, for JSON; with what each truck does, if wanted."""
    policies = []
    for number, result in enumerate(simulation.policies):
        late = result.missed.document()  # the late fraction, where there is one standard of weight 1
        document: dict[str, Any] = {
            "name": result.name,
            "late_fraction": late.pop("mean"),
            **late,
            "incidents": result.num_incidents,
        }
        if number > 0:
            document["improvement_over_first"] = simulation.improvement(number).document()
            document["fewer_late"] = simulation.fewer_late(number).document()
            document["survives"] = survives(simulation.improvement(number))
        for which in ("first", "last"):
            document[f"{which}_minutes"] = {of: result.minutes(f"{which}_{of}").document() for of in SHOWN}
            if number > 0:
                document[f"more_{which}_minutes"] = {
                    of: simulation.more_minutes(number, f"{which}_{of}").document() for of in SHOWN
                }
        document["outside_per_incident"] = result.outside_per_incident
        document["turned_back_per_incident"] = result.turned_per_incident
        if trucks:
            stations = simulation.station_of
            document["trucks"] = [
                {
                    "station_id": station,
                    "truck": stations[: n + 1].count(station),
                    **({"unit_id": simulation.units[n]} if simulation.units else {}),
                    "busy_fraction": float(result.busy_fractions[n]),
                    "dispatches_per_day": float(result.dispatches_per_day[n]),
                }
                for n, station in enumerate(stations)
            ]
        policies.append(document)
    return {"policies": policies}


def hour_gains(city: City, found: Simulation, choices: Sequence[PolicyChoice]) -> dict[str, Any]:
    """What knowing the hour gains in a simulation, as plain values, for JSON; nothing in a city without periods."""
    if not city.has_periods:
        return {}
    gains = []
    for blind, knowing in pairs_by_hour(choices):
        gain = found.gain_over(blind, knowing).document()
        gains.append({"name": choices[knowing].label, "without": choices[blind].label, "improvement": gain})
    return {"knowing_the_hour": gains}
