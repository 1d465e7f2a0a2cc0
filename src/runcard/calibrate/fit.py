"""A city fitted to a log: every number of it from the data, with its interval, unless somebody overrules it.

In this order: where incidents are, what they are and what goes there; where units live, how long they take to leave and
to drive, and how much two of them are delayed together; how long they are busy; when incidents happen and where. Roads
keep their shape. Their minutes are multiplied by the factors of their classes, and because that changes routes and the
way home, driving is fitted again until they stay. A unit that was placed by its drives is placed again after the fit.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import nan
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from runcard.calibrate.build import build_city, with_factors
from runcard.calibrate.driving import DrivingFit, SharedDelayFit, fit_driving, fit_shared_delay
from runcard.calibrate.homes import (
    Drives,
    Home,
    doubtful,
    expected_too_fast,
    find_drives,
    find_homes,
    is_away,
    origins,
    placed_again,
    too_fast,
    with_roster_kinds,
    without_home,
)
from runcard.calibrate.hours import (
    HOURS,
    LEAST_DAYS,
    PeriodFit,
    exposure,
    find_periods,
    given_periods,
    hourly_counts,
    hours_of_week,
)
from runcard.calibrate.log import Log
from runcard.calibrate.numbers import Fitted, finite_or_none, mean_interval, overruled
from runcard.calibrate.placing import Placed, of_placed, place_incidents
from runcard.calibrate.rates import RateFit, fit_rates, total_rates
from runcard.calibrate.sent import BusyFit, SentFit, fit_busy, fit_sent
from runcard.calibrate.strays import CLEAR, Strays, find_strays
from runcard.calibrate.trips import Paths, find_paths, link_classes, minutes_between
from runcard.calibrate.turnout import (
    LEAST_TIMES,
    TOGETHER,
    TogetherFit,
    TurnoutFit,
    fit_together,
    fit_turnout,
    without_strays,
)
from runcard.city.aprons import without_aprons
from runcard.city.conditions import MAX_TRUCKS_PER_INCIDENT
from runcard.city.model import City, Standard
from runcard.city.periods import Period
from runcard.errors import InputError
from runcard.plan.words import round_percent

ROUNDS: Final = 4
"""Fits of driving, at most: each may change routes a little."""
MOVES: Final = 2
"""How often, at most, units that were placed by their drives are placed again after a fit."""
SAME_FACTOR: Final = 1e-4
ONE_TYPE: Final = "incident"
"""The type of every incident of a log that does not say it."""
MANY: Final = 0.1
"""A larger part of responses without an arrival is worth a note."""
TOGETHER_SECONDS: Final = 120.0
"""Two units that left within this time of one another drove at the same time."""
COARSE_MINUTES: Final = 1.0
"""With a clock of larger steps units that drive together seem to be delayed together."""
MOST_TOGETHER: Final = 12
"""Of a large fire each unit has pairs with the next eleven at most."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Progress = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class DrivingData:
    """The drives that the fit used: from home, to a placed incident."""

    drives: Drives
    used: NDArray[np.bool_]
    """[drive] whether it is of the fit: not of a unit that was away, and not too slow."""
    path: Ints
    """[drive] its place in `paths`."""
    paths: Paths
    """Without aprons; the link numbers are those of the fitted city too."""
    mean: Floats
    """[drive] mean minutes in the fitted city, the start included."""
    paired: NDArray[np.bool_]
    """[drive] whether shared delay is found from it, too: no clear stray."""
    of_route: Floats
    """[drive] the chance of being of its route and no stray."""
    strays: Strays | None
    """Drives that have nothing to do with their route, if the log shows that there are some."""


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted city, its numbers, and all that they come from."""

    city: City
    numbers: tuple[Fitted, ...]
    before: City
    log: Log
    placed: Placed
    types: tuple[str, ...]
    incident_type: Ints
    """[incident] its type, by number in `types`; -1: not placed."""
    num_days: float
    homes: tuple[Home, ...]
    station: Ints
    """[response] the station that it comes from, by number; -1: unknown."""
    sent: tuple[SentFit, ...]
    busy: tuple[BusyFit, ...]
    turnout: Mapping[str, TurnoutFit]
    driving: DrivingFit
    driving_data: DrivingData
    shared_delay: SharedDelayFit
    rates: RateFit
    periods: PeriodFit | None
    num_away: int
    num_too_fast: int
    too_fast_by_chance: float
    """How many of these are that fast by chance, if all were at home."""
    num_slow: int
    """Drives that took too long to be of the law."""
    call_minutes: tuple[float, float, float] | None
    """The mean time from the call to dispatch, with its interval, where the log has it."""
    notes: tuple[str, ...]
    """What a reader of the numbers should know."""

    @property
    def share_strays(self) -> float:
        """The part of drives that have nothing to do with their route, 0 if the log does not show any."""
        return 0.0 if self.driving_data.strays is None else self.driving_data.strays.share

    @cached_property
    def link_minutes(self) -> Floats:
        """The mean minutes of each link of the fitted city, and behind them those of an apron at each of its nodes."""
        start = self.number("driving.start_minutes").value
        return np.array([link.mean_minutes for link in self.city.links] + [start] * len(self.city.nodes))

    def number(self, name: str) -> Fitted:
        """The fitted number of that name."""
        return next(one for one in self.numbers if one.name == name)

    def document(self) -> dict[str, Any]:
        """All numbers as plain values, ready for JSON."""
        return {
            "city": self.city.name,
            "log": self.log.name,
            "rows": self.log.num_rows,
            "incidents": len(self.log.incidents),
            "responses": len(self.log.responses),
            "days": self.num_days,
            "rejected": self.log.rejected.counts,
            "numbers": [one.document() for one in self.numbers],
            "away": {"sent before they could be home": self.num_away, "faster than the road": self.num_too_fast,
                     "so fast by chance": self.too_fast_by_chance, "strays": self.share_strays},
            "slow_drives": self.num_slow,
            "lognormal_better": self.driving.lognormal_better,
            "clock_times_twice": self.log.read_twice,
            "clock_seconds": self.log.clock_steps,
            "homes": [
                {"unit": one.unit, "kind": one.kind, "station": one.station, "known_by": one.known_by,
                 "margin": finite_or_none(one.margin)}
                for one in self.homes
            ],
            "smoothing": [
                {"type": name, "width_minutes": width, "mixing": mixing, "floor": floor, "log_likelihood_gain": gain}
                for name, width, mixing, floor, gain in zip(
                    self.types, self.rates.width_minutes, self.rates.mixing, self.rates.floor, self.rates.gained,
                    strict=True,
                )
            ],
            "areas": [
                {"node": node_id, "type": name, "incidents": int(self.rates.counts[a, t]),
                 "per_day": float(self.rates.per_day[a, t]), "low": float(self.rates.low[a, t]),
                 "high": float(self.rates.high[a, t])}
                for a, node_id in enumerate(self.placed.centres) for t, name in enumerate(self.types)
            ],
            "notes": list(self.notes),
        }  # fmt: skip


def fit_city(
    city: City,
    log: Log,
    *,
    home_pattern: str | None = None,
    periods: str | tuple[Period, ...] = "find",
    overrule: Mapping[str, float] | None = None,
    target_minutes: float | None = None,
    standards: Sequence[Standard] = (),
    progress: Progress | None = None,
) -> Fit:
    """The city with the numbers of a log.

    `periods` are found from the data ("find"), left out ("none") or given. `overrule` replaces numbers by name, and
    `target_minutes` is the target of standards that the city does not have yet. `standards`, if given, stand in for
    those of the city: a city without a roster has no kinds, so it cannot have any. As many units go as they say, unless
    `overrule` says otherwise.
    """
    say = progress or (lambda words: None)
    city = without_aprons(city)
    log = with_roster_kinds(city, log)
    if not log.kinds:
        raise InputError(f"{log.name}: expected kinds of units: log.kind or log.every_kind in the mapping, or a roster")
    say("placing incidents")
    placed, notes = place_incidents(city, log), list[str]()
    log = of_placed(log, placed)
    types = log.types or (ONE_TYPE,)
    of_incident = np.where(placed.node >= 0, np.maximum(log.incidents["type"], 0), -1)
    num_days = log.num_days
    if num_days <= 0.0 or (of_incident >= 0).sum() < 2:
        raise InputError(f"{log.name}: expected a log of at least two incidents at different times")
    say("finding homes")
    homes = find_homes(city, log, placed, home_pattern) if log.units else []
    notes += without_home(log, homes)
    for moves_left in reversed(range(MOVES + 1)):
        station = origins(city, log, homes)
        say("fitting driving times")
        try:
            driving, data, roads = _fit_driving(city, log, placed, station)
        except InputError as error:
            placed_by = f"{(station >= 0).sum():,} of {len(station):,} responses come from a known station"
            raise InputError(f"{log.name}: {error}; {placed_by}") from None
        before = [home.station for home in homes]
        homes = placed_again(homes, roads, log, placed, driving, move=moves_left > 0)
        if [home.station for home in homes] == before:
            break
    notes += doubtful(homes)
    drives = data.drives
    # Units that are on the road leave at once: a few of them would make turnout much more variable.
    away = is_away(roads, log, placed, station, scale_minutes=driving.scale_minutes)
    turnout, together = _fit_turnouts(log, station, away, data)
    shared = _fit_shared(log, placed, data, driving, roads, together)
    if data.strays is not None:
        few = ".0%" if data.strays.share >= 0.01 else ".2%"
        notes.append(
            f"about {data.strays.share:{few}} of the drives are strays: they fit no route, as those of units that were "
            "not at home. Which ones nobody can tell; the numbers of turnout and driving are those of all drives, and "
            "their intervals are wide enough for the drives from home alone"
        )
    if drives.unknown_home:
        notes.append(f"{drives.unknown_home:,} drives of units without a known station are not used")
    say("fitting busy times and what is sent")
    sent, busy = fit_sent(log, of_incident, len(types)), fit_busy(log, of_incident, len(types))
    notes += [*_never_arrived(log), *_coarse_clocks(log)]
    say("fitting rates")
    counts = np.zeros((len(placed.centres), len(types)), np.int64)
    here = of_incident >= 0
    np.add.at(counts, (placed.area[here], of_incident[here]), 1)
    centres = [city.node_numbers[name] for name in placed.centres]
    rates = fit_rates(counts, minutes_between(roads, centres, centres), num_days)
    found_periods, spread = _fit_periods(log, of_incident, len(types), periods, num_days, notes)
    overrule = overrule or {}
    truck = "" if city.has_roster or homes else city.units[0].kind  # without names nobody can tell kinds apart
    kept, words = _sent_by_standards(standards, sent, truck=truck, overrule=overrule)
    notes += words
    numbers = overruled(
        [
            *_rate_numbers(types, counts, num_days, found_periods, spread),
            *_sent_numbers(sent, types, busy),
            *_time_numbers(turnout, together, driving, data.strays, shared),
        ],
        {**kept, **overrule},
    )
    fitted = build_city(
        city,
        numbers,
        homes=homes,
        types=types,
        sent=sent,
        turnout=turnout,
        driving=driving,
        rates=rates,
        periods=found_periods,
        centres=placed.centres,
        target_minutes=target_minutes,
        notes=notes,
        rules=standards,
    )
    call = (log.responses["dispatched"] - log.responses["received"]) / 60.0
    return Fit(
        city=fitted,
        numbers=tuple(numbers),
        before=city,
        log=log,
        placed=placed,
        types=types,
        incident_type=of_incident,
        num_days=num_days,
        homes=tuple(homes),
        station=station,
        sent=tuple(sent),
        busy=tuple(busy),
        turnout=turnout,
        driving=driving,
        driving_data=replace(data, mean=_means_in(fitted, data, numbers)),
        shared_delay=shared,
        rates=rates,
        periods=found_periods,
        num_away=int(drives.away.sum()),
        num_too_fast=int((too_fast(drives, data.mean) & ~drives.away).sum()),
        too_fast_by_chance=expected_too_fast(data.mean[~drives.away], driving.scale_minutes, driving.step_minutes),
        num_slow=int((~driving.counted).sum()),
        call_minutes=mean_interval(call[np.isfinite(call)]) if np.isfinite(call).any() else None,
        notes=tuple(notes),
    )


def _fit_driving(city: City, log: Log, placed: Placed, station: Ints) -> tuple[DrivingFit, DrivingData, City]:
    """The fit of driving, what it used, and the city with its factors."""
    drives = find_drives(city, log, placed, station)
    steps, step_minutes = log.steps_between("en_route", "on_scene")
    drives = replace(drives, minutes=steps[drives.response] * step_minutes)
    classes, of_link = link_classes(city)
    base = np.array([link.mean_minutes for link in city.links])
    incident = log.responses["incident"][drives.response]
    pairs, path = np.unique(np.column_stack([drives.start, drives.end]), axis=0, return_inverse=True)
    roads, factors = city, np.ones(len(classes))
    for _ in range(ROUNDS):
        paths = find_paths(roads, pairs[:, 0], pairs[:, 1])
        own = np.column_stack([paths.sums(np.where(of_link == c, base, 0.0)) for c in range(len(classes))])
        by_class, used = own[path.ravel()], ~drives.away
        found = fit_driving(drives.minutes[used], by_class[used], incident[used], classes, step_minutes=step_minutes)
        now = found.factors[found.group]
        # Only the ratio of factors changes routes.
        same = bool((np.abs(now / now[0] - factors / factors[0]) < SAME_FACTOR).all())
        factors = now
        roads = with_factors(city, factors[of_link])
        # On slower roads the way home takes longer.
        away = is_away(roads, log, placed, station)[drives.response]
        if same and (away == drives.away).all():
            break
        drives = replace(drives, away=away)
    strays = find_strays(drives.minutes[used], by_class[used], found)
    counted = used.copy()
    counted[used] = found.counted
    of_route = np.full(len(used), 1.0 if strays is None else 1.0 - strays.share)
    if strays is not None:
        of_route[used] = strays.chance
    data = DrivingData(
        drives,
        counted,
        path.ravel().astype(np.int64),
        paths,
        found.mean(by_class),
        paired=counted & (of_route > CLEAR),
        of_route=of_route,
        strays=strays,
    )
    return found, data, roads


def _means_in(city: City, data: DrivingData, numbers: list[Fitted]) -> Floats:
    """[drive] its mean minutes in the fitted city, where somebody may have overruled factors or the start."""
    start = next(one.value for one in numbers if one.name == "driving.start_minutes")
    found: Floats = start + data.paths.sums(np.array([link.mean_minutes for link in city.links]))[data.path]
    return found


def pairs_together(log: Log, drives: Drives, used: NDArray[np.bool_]) -> Ints:
    """[pair, 2] drives of two units to one incident that left at about the same time."""
    places = np.flatnonzero(used)
    response = drives.response[places]
    leave = log.responses["en_route"][response]
    return places[pairs_at_once(log.responses["incident"][response], np.zeros_like(places), leave)]


def _fit_shared(
    log: Log,
    placed: Placed,
    data: DrivingData,
    driving: DrivingFit,
    roads: City,
    together: Mapping[str, TogetherFit],
) -> SharedDelayFit:
    if driving.step_minutes > COARSE_MINUTES:
        return SharedDelayFit(0.0, 0.0, 1.0, 0, 0.0, nan)
    pairs = pairs_together(log, data.drives, data.paired)
    minutes = np.array([link.mean_minutes for link in roads.links])
    shared = data.paths.shared(data.path[pairs[:, 0]], data.path[pairs[:, 1]], minutes)
    of_one = data.drives.start[pairs[:, 0]] == data.drives.start[pairs[:, 1]]
    shared += driving.start_minutes * of_one
    # Units of one kind and station that leave together leave at the same moment.
    chances = [max(0.0, one.correlation) if (one := together.get(kind)) else 0.0 for kind in log.kinds]
    one_kind, other_kind = log.responses["kind"][data.drives.response][pairs].T
    at_once = np.where(of_one & (one_kind == other_kind), np.array([*chances, 0.0])[one_kind], 0.0)
    used = np.flatnonzero(data.paired)
    place = np.searchsorted(used, pairs)
    incident = log.responses["incident"][data.drives.response[used]]
    route = len(placed.centres) * data.drives.start[used] + placed.area[incident]
    left, mean = (data.drives.minutes - data.mean)[used], data.mean[used]
    dilution = 1.0 if data.strays is None else 1.0 + (1.0 + data.strays.hidden) * (data.strays.dilution - 1.0)

    def fit(some: NDArray[np.bool_]) -> SharedDelayFit:
        return fit_shared_delay(
            left,
            mean,
            shared[some],
            place[some],
            incident,
            route,
            dilution=dilution,
            step_minutes=driving.step_minutes,
            at_once=at_once[some],
        )

    apart = {"one station": fit(of_one), "different stations": fit(~of_one)}
    found = fit(np.ones(len(pairs), np.bool_))
    words = ", ".join(
        f"of {words} alone {one.low:.2f} to {one.high:.2f}"
        for words, one in apart.items()
        if one.correlation == one.correlation
    )
    return replace(found, apart=words)


def _never_arrived(log: Log) -> list[str]:
    """A note for each kind of which many responses have no arrival: these may be the long drives."""
    found = []
    for number, kind in enumerate(log.kinds):
        own = log.responses[log.responses["kind"] == number]
        part = float(np.isnan(own["on_scene"]).mean()) if len(own) else 0.0
        if part > MANY:
            found.append(
                f"{round_percent(part)} of the responses of {kind} have no arrival; if long drives are called off more "
                "often, driving looks faster than it is"
            )
    return found


def _coarse_clocks(log: Log) -> list[str]:
    """Notes on clocks that go in more than seconds."""
    steps = {name: step for name, step in log.clock_steps.items() if step > 1}
    if not steps:
        return []
    by_step = {step: [name for name in steps if steps[name] == step] for step in steps.values()}
    listed = ", ".join(f"{' and '.join(names)} in steps of {_span(step)}" for step, names in by_step.items())
    if {*log.clock_steps.values()} == {*by_step} and len(by_step) == 1:
        listed = f"all times are in steps of {_span(next(iter(by_step)))}"
    found = [
        f"the clock of the log is coarse, {listed}: turnout, the spread of driving and their intervals count that, and "
        "the fit is judged by what such a clock would show"
    ]
    for begin, end in (("dispatched", "en_route"), ("en_route", "on_scene")):
        if log.clock_steps[begin] != log.clock_steps[end]:
            most = max(log.clock_steps[begin], log.clock_steps[end])
            found.append(
                f"{begin} and {end} have clocks of different steps: the coarser one is taken to cut its times; if it "
                f"rounds them, the mean between the two is off by up to {most / 2.0:g} s"
            )
    return found


def _span(seconds: int) -> str:
    """Seconds in words."""
    return f"{seconds} s" if seconds % 60 else f"{seconds // 60} min"


def _fit_turnouts(
    log: Log, station: Ints, away: NDArray[np.bool_], data: DrivingData
) -> tuple[dict[str, TurnoutFit], dict[str, TogetherFit]]:
    """The turnout of each kind, and whether units leave together, without those that were on the road already."""
    rows, (steps, step_minutes) = log.responses, log.steps_between("dispatched", "en_route")
    turnout, together = {}, {}
    home = np.full(len(rows), 1.0 if data.strays is None else 1.0 - data.strays.share)
    home[data.drives.response] = data.of_route
    for number, kind in enumerate(log.kinds):
        own = np.flatnonzero((rows["kind"] == number) & np.isfinite(steps) & ~away)
        if len(own) >= LEAST_TIMES:
            times, sent, incident = steps[own].astype(np.int64), rows["dispatched"][own], rows["incident"][own]
            pairs = pairs_at_once(incident, station[own], sent)
            at_once = sent[pairs[:, 0]] == sent[pairs[:, 1]]
            fit = fit_turnout(times, step_minutes, incident)
            without = None if data.strays is None else without_strays(fit, times, step_minutes, home[own])
            turnout[kind] = replace(fit, without_strays=without)
            minutes = np.asarray(times * step_minutes, np.float64)
            together[kind] = fit_together(minutes, pairs, at_once, step_minutes, incident)
    return turnout, together


def pairs_at_once(incident: Ints, station: Ints, seconds: Floats) -> Ints:
    """[pair, 2] responses of two units of a known station to one incident at about the same time."""
    order = np.lexsort((seconds, station, incident))
    order = order[station[order] >= 0]
    found = []
    for gap in range(1, MOST_TOGETHER):
        one, other = order[:-gap], order[gap:]
        same = (incident[one] == incident[other]) & (station[one] == station[other])
        found.append(np.column_stack([one, other])[same & (seconds[other] - seconds[one] <= TOGETHER_SECONDS)])
    return np.concatenate(found)


def _fit_periods(
    log: Log,
    of_incident: Ints,
    num_types: int,
    periods: str | tuple[Period, ...],
    num_days: float,
    notes: list[str],
) -> tuple[PeriodFit | None, float]:
    """The periods of the week, if there are some, and how many times as much as Poisson counts hourly ones vary."""
    here = of_incident >= 0
    times, of_type = log.incidents["time"][here], of_incident[here]
    if periods != "none" and num_days < LEAST_DAYS:
        notes.append(f"no periods of the week: the log has only {num_days:.1f} days")
        periods = "none"
    hour, hours = hours_of_week(times, log.time_zone), exposure(times, log.time_zone)
    found = None
    if isinstance(periods, tuple):
        period = np.zeros(HOURS, np.int64)
        for number, one in enumerate(periods):
            period[list(one.hours)] = number
        found = given_periods(period, tuple(one.name for one in periods), hour, of_type, num_types, hours)
    elif periods == "find":
        found = find_periods(hour, of_type, num_types, hours)
        found = found if len(found.names) > 1 else None
    if found is None:
        return None, hourly_counts(times, log.time_zone, None).spread
    spread = hourly_counts(times, log.time_zone, found.period).spread
    # The same periods, with intervals of counts that vary so much.
    return given_periods(
        found.period, found.names, hour, of_type, num_types, hours, better_by=found.better_by, spread=spread
    ), spread


def _rate_numbers(
    types: tuple[str, ...], counts: Ints, num_days: float, periods: PeriodFit | None, spread: float
) -> list[Fitted]:
    totals, found = counts.sum(axis=0).tolist(), []
    for t, (name, total, ends) in enumerate(zip(types, totals, total_rates(totals, num_days, spread), strict=True)):
        # A log of ten days has some hours of the week more often than others.
        whole = 1.0 if periods is None or not total else float(periods.per_day[t]) * num_days / total
        value, low, high = (whole * end for end in ends)
        found.append(Fitted(f"rate.{name}", value, low, high, total, "incidents", "incidents a day"))
    if periods is not None:
        for p, period in enumerate(periods.names):
            for t, name in enumerate(types):
                value, low, high = (float(of[p, t]) for of in (periods.rates, periods.low, periods.high))
                own, note = int(periods.counts[p, t]), "times the mean rate"
                found.append(Fitted(f"period.{period}.{name}", value, low, high, own, "incidents", note))
    return found


def _sent_numbers(sent: list[SentFit], types: tuple[str, ...], busy: list[BusyFit]) -> list[Fitted]:
    found = []
    for one in sent:
        wide = f"{100.0 * one.share_low:.0f} to {100.0 * one.share_high:.0f}"
        note = f"{round_percent(one.share)} ({wide}) of incidents get this number, mean {one.mean:.2f}"
        name = f"sent.{one.type or ONE_TYPE}.{one.kind}"
        found.append(
            Fitted(name, float(one.number), float(one.number), float(one.number), one.num_incidents, "incidents", note)
        )
    for of in busy:
        name = f"busy_minutes.{of.kind}" if not of.type else f"busy_minutes.{of.type}.{of.kind}"
        found.append(
            Fitted(name, of.mean_minutes, of.low, of.high, of.num_times, "responses", "dispatch to free, mean")
        )
    return list({one.name: one for one in found}.values())


def _sent_by_standards(
    standards: Sequence[Standard], sent: Sequence[SentFit], *, truck: str, overrule: Mapping[str, float]
) -> tuple[dict[str, float], list[str]]:
    """How many units go by the standards that somebody asks for, where the log mostly sends another number, and notes
    that say so."""
    found, notes = {}, []
    for one in sent:
        name, kind = one.type or ONE_TYPE, truck or one.kind
        asked = next((rule.trucks for rule in standards if (rule.type, rule.kind) == (name, kind)), one.number)
        number = f"sent.{name}.{one.kind}"
        if asked != min(one.number, MAX_TRUCKS_PER_INCIDENT) and number not in overrule:
            found[number] = float(asked)
            notes.append(
                f"{name}, {kind}: {asked} go, as --standards says, but the log sends {one.number} to "
                f"{round_percent(one.share)} of {one.num_incidents:,} incidents, and {one.mean:.2f} on average; "
                f"--set {number}={one.number} takes the number of the log"
            )
    return found, notes


def _time_numbers(
    turnout: Mapping[str, TurnoutFit],
    together: Mapping[str, TogetherFit],
    driving: DrivingFit,
    strays: Strays | None,
    shared: SharedDelayFit,
) -> list[Fitted]:
    found, hidden = [], 0.0 if strays is None else strays.hidden
    for kind, of in turnout.items():
        name = f"turnout.{kind}"
        mean, cv = of.without_strays or (None, None)
        low, high, note = _widened(of.mean_minutes, of.mean_half, mean, hidden, of.model)
        found.append(Fitted(f"{name}.mean_minutes", of.mean_minutes, low, high, of.num_times, "responses", note))
        if of.cv is not None:
            low, high, note = _widened(of.cv, of.cv_half, cv, hidden)
            found.append(Fitted(f"{name}.cv", of.cv, low, high, of.num_times, "responses", note))
        found.append(_together_number(f"turnout.{kind}.shared", together[kind]))
    rows = (
        ("start_minutes", driving.start_minutes, driving.start_half, "of every drive, besides the road"),
        *(
            (f"factor.{road}", float(factor), float(wide), "times the minutes of the roads")
            for road, factor, wide in zip(driving.classes, driving.factors, driving.factor_halves, strict=True)
        ),
        ("scale_minutes", driving.scale_minutes, driving.scale_half, "variance per minute of driving"),
    )
    for place, (name, value, half, note) in enumerate(rows):
        low, high, note = _widened(value, half, None if strays is None else float(strays.numbers[place]), hidden, note)
        found.append(Fitted(f"driving.{name}", value, low, high, driving.num_trips, "drives", note))
    note = "too few pairs drove together to tell: 0 is taken"
    if driving.step_minutes > COARSE_MINUTES:
        note = "the clock is too coarse to tell: 0 is taken"
    if np.isfinite(shared.correlation):
        note = f"correlation {shared.correlation:.2f}, {shared.shared_minutes:.2f} min together; {shared.apart}"
        if shared.low <= 0.0 and shared.high >= 1.0:
            note = f"the log cannot tell: 0 is taken; {shared.apart}"
        elif strays is not None and shared.value > 0.0:
            note += f"; without strays {min(1.0, strays.dilution * shared.value):.2f}"
    found.append(Fitted("shared_delay", shared.value, shared.low, shared.high, shared.num_pairs, "pairs", note))
    return found


def _widened(
    value: float, half: float, without: float | None, hidden: float, note: str = ""
) -> tuple[float, float, str]:
    """The ends of an interval that holds what there is without strays, too, if that is known; and the note with it."""
    if without is None:
        return max(0.0, value - half), value + half, note
    ends = value, without + hidden * (without - value)
    words = [note] * bool(note) + [f"without strays {without:.3g}"]
    return max(0.0, min(ends) - half), max(ends) + half, "; ".join(words)


def _together_number(name: str, together: TogetherFit) -> Fitted:
    """The correlation of the turnouts of two units of one station, and what it means for the city."""
    low, high = together.low, together.high
    if not np.isfinite(together.correlation):
        note = "too few pairs of one station left together to tell: 0 is taken"
        return Fitted(name, 0.0, low, high, together.num_pairs, "pairs", note)
    note = "correlation; units of one station leave " + ("together" if low > TOGETHER else "each for itself")
    if low <= TOGETHER <= high:
        note = "correlation; the log cannot tell whether units of one station leave together: each for itself is taken"
    return Fitted(name, together.correlation, low, high, together.num_pairs, "pairs", note)
