"""The city of fitted numbers: what a fit found, or somebody put in its place, in the words of a city folder.

Standards that the city had keep their targets and weights. How many units go is a fitted number, so that of a standard
may change, and is noted. A type and kind that had no standard gets one: the first unit within the target. Units keep
the order of the roster.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from runcard.calibrate.driving import DrivingFit
from runcard.calibrate.homes import Home, roster_of
from runcard.calibrate.hours import PeriodFit
from runcard.calibrate.numbers import Fitted
from runcard.calibrate.rates import RateFit
from runcard.calibrate.sent import SentFit
from runcard.calibrate.trips import link_classes
from runcard.calibrate.turnout import TOGETHER, TurnoutFit
from runcard.city.aprons import with_aprons
from runcard.city.conditions import MAX_TRUCKS_PER_INCIDENT
from runcard.city.model import City, DemandPoint, Driving, Standard, Turnout, Unit
from runcard.city.periods import Period
from runcard.errors import InputError

LEAST_PERIOD_RATE = 0.001
LEAST_SCALE = 1e-3
"""Minutes; driving times that vary less are as good as fixed."""

Floats = NDArray[np.float64]


def build_city(
    city: City,
    numbers: Sequence[Fitted],
    *,
    homes: Sequence[Home],
    types: Sequence[str],
    sent: Sequence[SentFit],
    turnout: Mapping[str, TurnoutFit],
    driving: DrivingFit,
    rates: RateFit,
    periods: PeriodFit | None,
    centres: Sequence[str],
    target_minutes: float | None,
    notes: list[str],
    rules: Sequence[Standard] = (),
) -> City:
    """The city with fitted numbers; what a reader should know is added to the notes.

    `rules` are the standards by which types and kinds get theirs, instead of those of the city.
    """
    value = {one.name: one.value for one in numbers}
    overruled = {one.name for one in numbers if one.fitted is not None}
    surely = {one.name: one.low for one in numbers}
    units, known = (city.units, city.has_roster) if city.has_roster or not homes else (roster_of(list(homes)), True)
    # Without names of units nobody can tell kinds apart: all trucks are of one.
    named = {one.kind: one.kind if known else units[0].kind for one in sent}
    target = target_minutes or city.target_minutes
    rules = rules or (() if city.plain else city.standards)
    standards = _standards(rules, value, overruled, sent, named, units, target, notes)
    answered = [name for name in types if any(one.type == name for one in standards)]
    lost = [name for name in types if name not in answered]
    notes += [f"no kind of units goes to most incidents of type {name}: it is left out" for name in lost]
    demand = []
    for place, node_id in enumerate(centres):
        for t, name in enumerate(types):
            if name in answered:
                total = max(float(rates.per_day[:, t].sum()), 1e-300)
                demand.append(
                    DemandPoint(node_id, float(rates.per_day[place, t]) * value[f"rate.{name}"] / total, type=name)
                )
    kinds = tuple(dict.fromkeys(unit.kind for unit in units))
    busy = _busy(value, kinds, named)
    factors = np.array([value[f"driving.factor.{name}"] for name in driving.classes])[driving.group]
    found = replace(
        city,
        links=with_factors(city, factors[link_classes(city)[1]]).links,
        units=units,
        standards=tuple(standards),
        demand=tuple(demand),
        target_minutes=None,
        busy_minutes=busy if known else busy[units[0].kind],
        driving=Driving(
            "gamma", route_seed=city.driving.route_seed, scale_minutes=max(value["driving.scale_minutes"], LEAST_SCALE)
        ),
        turnout=city.turnout if known else _turnout(city, value, surely, turnout, next(iter(turnout), "")),
        turnout_by_kind={
            **{kind: law for kind, law in city.turnout_by_kind.items() if kind in kinds},
            **{kind: _turnout(city, value, surely, turnout, kind) for kind in kinds if known and kind in turnout},
        },
        shared_delay=min(1.0, max(0.0, value["shared_delay"])),
        periods=() if periods is None else _periods(value, periods, answered),
    )
    return with_aprons(found, max(value["driving.start_minutes"], 0.0))


def with_factors(city: City, factors: Floats) -> City:
    """The city with the minutes of each link multiplied [link]."""
    links = (
        replace(link, mean_minutes=link.mean_minutes * float(factor))
        for link, factor in zip(city.links, factors, strict=True)
    )
    return replace(city, links=tuple(links))


def _standards(
    rules: Sequence[Standard],
    value: Mapping[str, float],
    overruled: Set[str],
    sent: Sequence[SentFit],
    named: Mapping[str, str],
    units: Sequence[Unit],
    target: float | None,
    notes: list[str],
) -> list[Standard]:
    own = {unit.kind for unit in units}
    found = []
    for one in sent:
        kind, name = named[one.kind], one.type or "incident"
        number_name = f"sent.{name}.{one.kind}"
        number, asked = round(value[number_name]), number_name in overruled
        known = [rule for rule in rules if (rule.type, rule.kind) == (name, kind)]
        if number < 1:
            notes += [
                f"{name}, {kind}: {rule.rule} is left out: most incidents of the log get none; --standards keeps it"
                for rule in ([] if asked else known)
            ]
            continue
        if kind not in own:
            notes.append(f"{name} gets {number} {kind}, but no {kind} has a known station: it is left out")
            continue
        if number >= MAX_TRUCKS_PER_INCIDENT and not asked:
            notes.append(
                f"{name} gets {MAX_TRUCKS_PER_INCIDENT} or more of {kind}: {MAX_TRUCKS_PER_INCIDENT} are counted"
            )
            number = MAX_TRUCKS_PER_INCIDENT
        if not known and target is None:
            raise InputError(f"expected a target for {kind} at {name}: say it with --target-minutes")
        if not known:
            notes.append(f"no standard for {kind} at {name}: the first within {target:g} min is taken")
        busy = value.get(f"busy_minutes.{name}.{one.kind}")
        for rule in known or [Standard(name, kind, number, 1, float(target or 0.0))]:
            fitted = replace(rule, trucks=number, arrivals=min(rule.arrivals, number), busy_minutes=busy)
            found.append(fitted)
            if asked and fitted.arrivals < rule.arrivals:
                notes.append(f"{name}, {kind}: {rule.rule} becomes {fitted.rule}, because --set sends {number}")
            elif not asked and fitted.rule != rule.rule:
                notes.append(
                    f"{name}, {kind}: {rule.rule} becomes {fitted.rule}, because the log mostly sends {number}; "
                    "--standards keeps it"
                )
    kinds_of_log = {(one.type or "incident", named[one.kind]) for one in sent}
    notes += [
        f"{rule.type}, {rule.kind}: {rule.rule} is left out: the log has no such incidents, or no such units"
        for rule in rules
        if (rule.type, rule.kind) not in kinds_of_log
    ]
    if not found:
        raise InputError("expected a log in which some kind of units goes to some type of incident, got none")
    unique = {(one.type, one.kind, one.arrivals, one.target_minutes): one for one in found}
    return list(unique.values())


def _busy(value: Mapping[str, float], kinds: Sequence[str], named: Mapping[str, str]) -> dict[str, float]:
    listed = dict.fromkeys((*named, *kinds))
    of_kind = {named.get(kind, kind): value[name] for kind in listed if (name := f"busy_minutes.{kind}") in value}
    if not of_kind:
        raise InputError("expected times at which units were free again, to know how long they are busy, got none")
    mean = sum(of_kind.values()) / len(of_kind)
    return {kind: of_kind.get(kind, mean) for kind in kinds}


def _turnout(
    city: City, value: Mapping[str, float], surely: Mapping[str, float], turnout: Mapping[str, TurnoutFit], kind: str
) -> Turnout:
    if kind not in turnout:
        return city.turnout
    return Turnout(
        value[f"turnout.{kind}.mean_minutes"],
        turnout[kind].model,
        value.get(f"turnout.{kind}.cv"),
        surely[f"turnout.{kind}.shared"] > TOGETHER,
    )


def _periods(value: Mapping[str, float], periods: PeriodFit, types: Sequence[str]) -> tuple[Period, ...]:
    found = []
    for number, name in enumerate(periods.names):
        rates = {one: max(LEAST_PERIOD_RATE, value[f"period.{name}.{one}"]) for one in types}
        found.append(Period(name, tuple(np.flatnonzero(periods.period == number).tolist()), rates))
    return tuple(found)
