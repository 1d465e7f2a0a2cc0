"""Simulate policies on a city: batch after batch, the same incidents for each policy, until it is precise enough.

Kinds of units are simulated one after another over the same incidents, which is the same as together: no kind changes
what another one does, and every random number has a key of its own (see `model.py`).

A batch begins with every truck in its station, and is not counted for as many incidents as there are in some busy times
on average. Where rates or shifts change with the hour, by the scenario or by the periods of the city, a batch is whole
weeks, after as many minutes. A replayed log is one batch, as often as asked for with other delays. Batches are
independent and have keys of their own, so that neither their order nor the number of threads changes anything.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import ceil

import numpy as np
from numpy.typing import NDArray

from runcard.city.conditions import OUTSIDE_ID, shown
from runcard.city.model import MINUTES_PER_DAY, City
from runcard.errors import InputError
from runcard.mdp.rows import cannot_go
from runcard.plan.fleet import Fleet
from runcard.plan.plan import Plan
from runcard.policy.ahead_rule import AheadRule
from runcard.policy.base import Policy
from runcard.response.route_kernels import mix
from runcard.response.routes import find_routes
from runcard.simulate.incident_log import read_incident_log
from runcard.simulate.kernels.day import MINUTES_PER_WEEK, advance, begin, finish, send, week_hour_at
from runcard.simulate.kernels.run import NUM_BINS, run_batch, run_batch_ahead, tally
from runcard.simulate.model import Model, build_model, check_busy, ways_home
from runcard.simulate.result import Batch, KindSimulation, SimulatedPolicy, Simulation, all_misses, batch_of
from runcard.simulate.rules import AnyRule, ArrayRule, HourlyAhead, check_fleet, fleet_rule
from runcard.simulate.scenario import PAPER, Scenario, read_scenario
from runcard.simulate.shifts import shifts_of, trucks_of
from runcard.simulate.state import NOBODY_ASKS, RECORD, Counts, State, new_state, no_counts
from runcard.threads import checked_threads, run_each

NUM_BATCHES = 32
BATCH_INCIDENTS = 20_000
ASKED_BATCH_INCIDENTS = 500
"""Where a policy computes every decision, which takes a tenth of a millisecond in a kernel, else milliseconds."""
PRECISION, ASKED_PRECISION = 0.01, 0.05
"""Of late fractions, where nothing else is said."""
WARM_BUSY_TIMES = 20.0
LEAST_WARM_INCIDENTS = 10
MOST_BATCHES = 2_500
"""Of a precision that is not reached: 50 million incidents."""
MOST_INCIDENTS = 10**10
MOST_IN_BATCH = 10**6
NUM_SECTIONS = 16
"""Of medians and percentiles: batches are pooled into these."""


@dataclass(frozen=True)
class SimulationProgress:
    """How far a simulation is: the part that is done, and half of the widest interval by its mean."""

    part: float
    precision: float


@dataclass(frozen=True)
class _Run:
    """What the batches of a simulation have in common."""

    models: Sequence[Model]
    """[kind]"""
    fleets: Sequence[Sequence[Fleet]]
    rules: Sequence[Sequence[AnyRule | None]]
    """[policy][kind] None: the policy has to be asked for every decision."""
    takes_time: bool
    """Whether a policy computes every decision, asked or not."""
    seed: int
    incidents: int | None
    """Of all batches together, where that is asked for."""
    num_batches: int
    """At first, or all there are."""
    most_incidents: int
    """Of a batch."""
    start: float
    measured_from: float
    """In minutes; inf where a batch is measured from its incident `first_counted` on."""
    end: float
    first_counted: int

    def size(self, number: int) -> int:
        """The most incidents of a batch; those that are asked for are spread evenly."""
        if self.incidents is None:
            return self.most_incidents
        return self.incidents * (number + 1) // self.num_batches - self.incidents * number // self.num_batches

    def batch(
        self, number: int, policy: int, kind: int, records: NDArray[np.void], free: NDArray[np.uint16]
    ) -> tuple[Batch, NDArray[np.int64]]:
        """One batch of a policy, and its arrivals [first or last truck, bin]; fills `records` and `free` if they have
        room."""
        model, rule, most = self.models[kind], self.rules[policy][kind], self.size(number)
        state, found = new_state(model), no_counts(len(model.standards), free)
        begin(model, state, batch_key(self.seed, number), self.start)
        state.clock["measured_from"] = self.measured_from
        stations = np.empty(model.most_needed, np.int64)
        if isinstance(rule, AheadRule | HourlyAhead):
            self._look_ahead(rule, model, state, found, records, most)
        elif rule is not None:
            run_batch(model, state, rule, found, records, stations, self.first_counted, most, self.end)
        else:
            self._ask(self.fleets[policy][kind], model, state, found, records, most)
        batch = batch_of(model, found, state)
        if len(records):
            records["kind"], sent = kind, records["stations"]
            records["stations"] = np.where(sent >= 0, model.stations["number"][sent], -1)
        return batch, found.bins

    def _look_ahead(
        self,
        rule: AheadRule | HourlyAhead,
        model: Model,
        state: State,
        found: Counts,
        records: NDArray[np.void],
        most: int,
    ) -> None:
        """The same as `run_batch`, for a policy that looks one event ahead: from period to period, if it has some."""
        clock, sums, stations = state.clock[0], found.sums[0], np.empty(model.most_needed, np.int64)
        rules = rule.rules if isinstance(rule, HourlyAhead) else (rule,)
        rooms = [one.scratch() for one in rules]
        while sums["of_city"] < most and clock["now"] < self.end:
            number, until = rule.until(clock["now"]) if isinstance(rule, HourlyAhead) else (0, self.end)
            run_batch_ahead(
                model, state, rooms[number], *rules[number], found, records, stations, self.first_counted, most,
                min(until, self.end),
            )  # fmt: skip
        finish(state)
        sums["minutes"] = clock["now"] - clock["measured_from"]

    def _ask(
        self, fleet: Fleet, model: Model, state: State, found: Counts, records: NDArray[np.void], most: int
    ) -> None:
        """The same as `run_batch`, with the policy asked for each decision."""
        clock, sums = state.clock[0], found.sums[0]
        ids = {station: i for i, station in enumerate(fleet.problem.station_ids)}
        stations = np.empty(model.most_needed, np.int64)
        while sums["of_city"] < most and advance(model, state, self.end):
            point = model.points[clock["point"]]
            if point["needed"] > 0:
                stations[:] = -1
                policy = fleet.at_hour(week_hour_at(clock["now"]))
                sent = _sent_by(policy, ids, state.idle, int(point["own"]))
                stations[: len(sent)] = sent
                send(model, state, stations)
            tally(model, state, found, records, stations, self.first_counted)
        finish(state)
        sums["minutes"] = clock["now"] - clock["measured_from"]


def _sent_by(policy: Policy, ids: Mapping[str, int], idle: NDArray[np.int64], point: int) -> list[int]:
    """The station of each truck that a policy sends, by number; an InputError if it sends what cannot go."""
    team = policy.decide(idle.copy(), point).team
    sent = [ids.get(name, -1) for name in team if name != OUTSIDE_ID]
    left, needed = idle.tolist(), policy.problem.trucks_needed.item(point)
    wanted = min(needed, sum(left))
    for i in sent:
        left[i] -= 1
    if len(sent) != wanted or min(sent, default=0) < 0 or min(left) < 0:
        words = cannot_go(policy.problem, idle, point, ", ".join(map(str, team)) or "nobody")
        raise InputError(f"{policy.name}: {words}")
    return sent


def check_scenario(city: City, scenario: Scenario) -> None:
    """Raise an error if a scenario cannot be simulated on a city: its log, busy times, shifts, or ways home."""
    if scenario.log is not None:
        read_incident_log(scenario.log, city)
    check_busy(city, scenario)
    for kind in city.kinds:
        of_kind = scenario.changed(city.of_kind(kind))
        shifts_of(city, scenario, kind)
        if scenario.drives_home:
            ways_home(of_kind, find_routes(of_kind))


def possible_scenarios(city: City, scenarios: Sequence[Scenario]) -> tuple[list[Scenario], list[tuple[str, str]]]:
    """The scenarios that can be simulated on a city, and for each other one its name and the reason."""
    possible, others = [], []
    for scenario in scenarios:
        try:
            check_scenario(city, scenario)
        except InputError as error:
            others.append((scenario.name, str(error)))
        else:
            possible.append(scenario)
    return possible, others


def simulate_plans(
    city: City,
    plans: Sequence[Plan],
    scenario: Scenario | str = PAPER,
    *,
    incidents: int | None = None,
    precision: float | None = None,
    seed: int = 1,
    names: Sequence[str] | None = None,
    threads: int | None = None,
    other_city: bool = False,
    like: City | None = None,
    progress: Callable[[SimulationProgress], None] | None = None,
    keep_records: Callable[[str, int, NDArray[np.void]], None] | None = None,
    keep_states: Callable[[str, int, NDArray[np.void], NDArray[np.uint16]], None] | None = None,
) -> Simulation:
    """Simulate plans of a city in a scenario, all kinds over the same incidents.

    `incidents` of the city are simulated for each plan, whatever kinds they need, or as many as it takes until the 95 %
    interval of the late fraction of each (the weighted sum of missed standards per incident, where the city has
    several) is no wider than `precision` times it to both sides; 1 % if neither is given, and 5 % if a policy computes
    every decision, which the heuristics for large departments do. `names` are what plans are called, if not by their
    policies. Plans must have been made for the city, or for the city as the scenario changes it, unless `other_city`
    says that they need not. In a city with periods incidents come at the rates of each; a scenario with rates of its
    own has these in place of the periods'. Trucks and stations that a city `like` this one has as well meet the same
    draws in both, so that the difference of the two varies less than either. `keep_records` is handed the records of
    every batch, one kind after another in the order of `city.kinds`: the name of the plan, the number of the batch, and
    a row for each incident that needs the kind. `keep_states` is handed the same, and [incident, I] the idle trucks of
    each station of the kind before the team left.
    """
    for plan in plans:
        if not isinstance(plan, Plan):
            raise InputError(f"expected a list of plans, as runcard.solve gives them, got {shown(plan)} in it")
    policies = [_by_kind(city, number, plan) for number, plan in enumerate(plans, start=1)]
    if names is None:
        names = [" and ".join(dict.fromkeys(fleet.name for fleet in by_kind.values())) for by_kind in policies]
    if isinstance(scenario, str):
        scenario = read_scenario(scenario)
    _check(policies, incidents, precision, seed)
    checked_threads(threads)
    kinds = city.kinds
    for name, by_kind in zip(names, policies, strict=True):
        for kind, fleet in by_kind.items():
            check_fleet(city.of_kind(kind), scenario, fleet, name, other_city=other_city)
    run = _prepared(city, policies, scenario, incidents, precision, seed, like)
    asks = any(None in rules for rules in run.rules)
    if incidents is None and precision is None:
        precision = ASKED_PRECISION if run.takes_time else PRECISION
    # A policy that is asked may be anybody's function: one at a time.
    threads = 1 if asks else checked_threads(threads)
    batches: dict[tuple[int, int], list[Batch]] = {key: [] for key in product(range(len(policies)), range(len(kinds)))}
    bins = np.zeros((len(policies), len(kinds), NUM_SECTIONS, 2, NUM_BINS), np.int64)
    wanted, done = run.num_batches, 0
    standards = [(one.standards, one.most_weight) for one in map(city.of_kind, kinds)]
    most = city.most_weight

    def work(job: tuple[int, int, int]) -> tuple[Batch, NDArray[np.int64], NDArray[np.void], NDArray[np.uint16]]:
        number, policy, kind = job
        num_kept = 0 if keep_records is None and keep_states is None else run.size(number)
        num_stations = len(run.models[kind].stations)
        records = np.zeros(num_kept, RECORD)
        free = NOBODY_ASKS if keep_states is None else np.zeros((num_kept, num_stations), np.uint16)
        batch, arrivals = run.batch(number, policy, kind, records, free)
        return batch, arrivals, records[: batch.incidents], free[: batch.incidents]

    def result(policy: int, kind: int) -> SimulatedPolicy:
        own = tuple(batches[policy, kind])
        return SimulatedPolicy(names[policy], own, bins[policy, kind], *standards[kind])

    def precision_reached() -> float:
        """Half the width of the widest interval, relatively to its mean; inf if nothing is missed."""
        parts = ([result(policy, kind) for kind in range(len(kinds))] for policy in range(len(policies)))
        found = [all_misses(by_kind, most).per_incident for by_kind in parts]
        return max(missed.half / missed.value if missed.value > 0.0 else np.inf for missed in found)

    while True:
        # A few batches at a time, so that progress is seen and Ctrl-C is heard.
        while done < wanted:
            numbers = range(done, min(done + threads, wanted))
            jobs = list(product(numbers, range(len(policies)), range(len(kinds))))
            found_by_job = run_each(work, jobs, threads)
            for (number, policy, of), (batch, arrivals, records, free) in zip(jobs, found_by_job, strict=True):
                if keep_records is not None:
                    keep_records(names[policy], number, records)
                if keep_states is not None:
                    keep_states(names[policy], number, records, free)
                batches[policy, of].append(batch)
                bins[policy, of, number % NUM_SECTIONS] += arrivals
            done = numbers.stop
            if progress is not None:
                reached = precision_reached()
                # An interval shrinks with the root of what was simulated.
                part = done / wanted if precision is None else min(1.0, (precision / reached) ** 2)
                progress(SimulationProgress(part, reached))
        reached = precision_reached()
        precise = precision is None or reached <= precision
        if precision is None or precise or wanted >= MOST_BATCHES:
            break
        # As many as the present spread asks for, and a few more, but at most four times as many at once.
        needed = 4.0 * wanted if reached > 2.0 * precision else 1.1 * wanted * (reached / precision) ** 2
        wanted = min(MOST_BATCHES, max(wanted + NUM_BATCHES // 2, ceil(needed)))
    found = {}
    for number, kind in enumerate(kinds):
        own = [city.units[u] for u in trucks_of(city, kind)]
        results = tuple(result(policy, number) for policy in range(len(policies)))
        homes, units = tuple(unit.station_id for unit in own), tuple(unit.unit_id for unit in own if city.has_roster)
        found[kind] = KindSimulation(results, homes, units)
    return Simulation(scenario, found, seed, precise, () if city.plain else city.standards, city.most_weight)


def _by_kind(city: City, number: int, plan: Plan) -> dict[str, Fleet]:
    """The fleet of each kind that incidents of a city need; an error if a plan has none for some."""
    found = {fleet.kind: fleet for fleet in plan.fleets if fleet.kind in city.kinds}
    if set(found) != set(city.kinds):
        raise InputError(
            f"plan {number}: expected a policy for each kind that incidents of {city.name} need "
            f"({', '.join(city.kinds)}), got {', '.join(found) or 'none'}"
        )
    return found


def batch_key(seed: int, number: int) -> np.uint64:
    """The key of a batch."""
    return np.uint64(mix(np.uint64((mix(np.uint64(seed)) + number) % 2**64)))


def expected_decisions(city: City, incidents: int | None, precision: float | None, kind: str | None = None) -> float:
    """How many decisions of a policy a simulation needs at least, so far as that is known before it.

    The kind may be left out where there is only one.
    """
    return _decisions(city, incidents, precision)[kind or city.kinds[0]]


def _decisions(city: City, incidents: int | None, precision: float | None) -> dict[str, float]:
    """The expected decisions for each kind."""
    cities = {kind: city.of_kind(kind) for kind in city.kinds}
    if incidents is not None:
        counted = float(incidents)
    else:
        # The interval of a late fraction of one half is this narrow; a smaller one takes more.
        counted = max(NUM_BATCHES * ASKED_BATCH_INCIDENTS, (2.0 / (precision or ASKED_PRECISION)) ** 2)
    warm_minutes = WARM_BUSY_TIMES * max(one.mean_busy_minutes for one in cities.values())
    before = LEAST_WARM_INCIDENTS + city.incidents_per_day * warm_minutes / MINUTES_PER_DAY
    total = counted + min(NUM_BATCHES, counted) * before
    return {kind: total * one.incidents_per_day / city.incidents_per_day for kind, one in cities.items()}


def prepare_policies(
    city: City,
    fleets: Sequence[Fleet],
    *,
    kind: str | None = None,
    incidents: int | None = None,
    precision: float | None = None,
    times: int = 1,
    begin: Callable[[str], None],
) -> None:
    """Let policies of a kind find what they need to decide in bulk in so many simulations; `begin` is told of each."""
    _check(fleets, incidents, precision, seed=0)
    for fleet in fleets:
        begin(f"{fleet.name} in every state" + ("" if kind is None else f" of {kind}"))
        fleet.in_bulk(times * expected_decisions(city, incidents, precision, kind))


def _check(policies: Sequence[object], incidents: int | None, precision: float | None, seed: int) -> None:
    """Raise an error for arguments that mean nothing."""
    if not policies:
        raise InputError("expected at least one policy to simulate")
    if incidents is not None and precision is not None:
        raise InputError("expected a number of incidents or a precision, got both")
    if incidents is not None and not 1 <= incidents <= MOST_INCIDENTS:
        raise InputError(f"expected 1 to {MOST_INCIDENTS:,} incidents, got {incidents}")
    if precision is not None and not 1e-5 <= precision < 1.0:
        raise InputError(f"expected a precision from 0.00001 up to less than 1, got {precision}")
    if not 0 <= seed < 2**63:
        raise InputError(f"expected a seed from 0 to {2**63 - 1}, got {seed}")


def _prepared(
    city: City,
    policies: Sequence[Mapping[str, Fleet]],
    scenario: Scenario,
    incidents: int | None,
    precision: float | None,
    seed: int,
    like: City | None,
) -> _Run:
    """A simulation that can begin; its batches are the same for every kind."""
    decisions = _decisions(city, incidents, precision)
    rules = [[fleet_rule(by_kind[kind], decisions[kind]) for kind in city.kinds] for by_kind in policies]
    models = [build_model(city, scenario, kind, like=like) for kind in city.kinds]
    busy = [city.of_kind(kind).mean_busy_minutes for kind in city.kinds]
    busy += [float(one.points["busy_minutes"].max()) + one.away_minutes for one in models]
    warm_minutes, model = WARM_BUSY_TIMES * max(busy), models[0]
    first_counted = LEAST_WARM_INCIDENTS + ceil(warm_minutes * model.incidents_per_minute)
    takes_time = any(not isinstance(rule, ArrayRule) for own in rules for rule in own)
    num_batches, most = NUM_BATCHES, ASKED_BATCH_INCIDENTS if takes_time else BATCH_INCIDENTS
    start, measured_from, end = -warm_minutes, np.inf, np.inf
    if incidents is not None:
        num_batches = max(min(NUM_BATCHES, incidents), ceil(incidents / MOST_IN_BATCH))
    if num_in_log := len(model.log):
        if incidents is not None:
            num_batches = min(MOST_BATCHES, max(2, ceil(incidents / num_in_log)))
        start, end = model.log["minutes"][[0, -1]].tolist()
        measured_from, incidents, most = start, None, num_in_log
    elif len(model.hour_share) or any(len(one.shifts) for one in models):
        per_week = city.incidents_per_day * MINUTES_PER_WEEK / MINUTES_PER_DAY
        wanted = most if incidents is None else incidents / num_batches
        weeks = max(1.0, round(wanted / per_week))
        # Far more than there will be: the batch ends with its last week.
        incidents, most = None, int(2.0 * weeks * per_week) + 1000
        measured_from, end = 0.0, MINUTES_PER_WEEK * weeks
    asked = [[by_kind[kind] for kind in city.kinds] for by_kind in policies]
    return _Run(
        models, asked, rules, takes_time, seed, incidents, num_batches, most, start, measured_from, end, first_counted
    )
