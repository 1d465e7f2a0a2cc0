"""Simulate policies on a city: batch after batch, the same incidents for each policy, until it is precise enough.

A batch begins with every truck in its station, and is not counted for as many incidents as there are in some busy times
on average. Where rates or shifts change with the hour, a batch is whole weeks, after as many minutes. A replayed log is
one batch, as often as asked for with other delays. Batches are independent and have keys of their own, so that neither
their order nor the number of threads changes anything.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from math import ceil

import numpy as np
from numpy.typing import NDArray

from runcard.city.model import MINUTES_PER_DAY, City
from runcard.errors import InputError
from runcard.policy.base import Policy
from runcard.response.route_kernels import mix
from runcard.response.routes import find_routes
from runcard.simulate.incident_log import read_log
from runcard.simulate.kernels.day import MINUTES_PER_WEEK, advance, begin, finish, send
from runcard.simulate.kernels.run import NUM_BINS, run_batch, tally
from runcard.simulate.model import Model, build_model, shifts_of, ways_home
from runcard.simulate.result import Batch, SimulatedPolicy, Simulation, batch_of
from runcard.simulate.rules import ArrayRule, array_rule, check_fits
from runcard.simulate.scenario import PAPER, Scenario, read_scenario
from runcard.simulate.state import RECORD, Counts, State, new_state, no_counts
from runcard.threads import checked_threads, run_each

NUM_BATCHES = 32
BATCH_INCIDENTS = 20_000
ASKED_BATCH_INCIDENTS = 500
"""Where a policy has to be asked for every decision, which takes milliseconds."""
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
    """How far a simulation is: the part that is done, and half of the widest interval by its late fraction."""

    part: float
    precision: float


@dataclass(frozen=True)
class _Run:
    """What the batches of a simulation have in common."""

    model: Model
    policies: Sequence[Policy]
    rules: Sequence[ArrayRule | None]
    """None: the policy has to be asked for every decision."""
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

    def batch(self, number: int, policy: int, records: NDArray[np.void]) -> tuple[Batch, NDArray[np.int64]]:
        """One batch of a policy, and its arrivals [first or last truck, bin]; fills `records` if it has room."""
        model, rule, most = self.model, self.rules[policy], self.size(number)
        state, found = new_state(model), no_counts()
        begin(model, state, batch_key(self.seed, number), self.start)
        state.clock["measured_from"] = self.measured_from
        if rule is not None:
            stations = np.empty(model.most_needed, np.int64)
            run_batch(model, state, rule, found, records, stations, self.first_counted, most, self.end)
        else:
            self._ask(self.policies[policy], state, found, records, most)
        return batch_of(found, state), found.bins

    def _ask(self, policy: Policy, state: State, found: Counts, records: NDArray[np.void], most: int) -> None:
        """The same as `run_batch`, with the policy asked for each decision."""
        model, clock, sums = self.model, state.clock[0], found.sums[0]
        ids = {station: i for i, station in enumerate(policy.problem.station_ids)}
        stations = np.empty(model.most_needed, np.int64)
        while sums["incidents"] < most and advance(model, state, self.end):
            stations[:] = -1
            team = policy.decide(state.idle.copy(), int(clock["point"])).team
            sent = [ids[name] for name in team if name in ids]
            stations[: len(sent)] = sent
            send(model, state, stations)
            tally(state, found, records, stations, self.first_counted)
        finish(state)
        sums["minutes"] = clock["now"] - clock["measured_from"]


def check_scenario(city: City, scenario: Scenario) -> None:
    """Raise an error if a scenario cannot be simulated on a city: its log, its shifts, or ways home."""
    if scenario.log is not None:
        read_log(scenario.log, city)
    city = scenario.changed(city)
    shifts_of(city, scenario)
    if scenario.drives_home:
        ways_home(city, find_routes(city))


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


def simulate_policies(
    city: City,
    policies: Sequence[Policy],
    scenario: Scenario | str = PAPER,
    *,
    incidents: int | None = None,
    precision: float | None = None,
    seed: int = 1,
    names: Sequence[str] | None = None,
    threads: int | None = None,
    other_city: bool = False,
    progress: Callable[[SimulationProgress], None] | None = None,
    keep_records: Callable[[str, int, NDArray[np.void]], None] | None = None,
) -> Simulation:
    """Simulate policies on a city in a scenario.

    `incidents` of each policy are simulated, or as many as it takes until the 95 % interval of each late fraction is
    no wider than `precision` times it to both sides; 1 % if neither is given, and 5 % if a policy has to be asked for
    every decision, which the heuristics for large departments do. `names` are what policies are called, if not by their
    own names. `keep_records` is handed the records of every batch in turn: the name of the policy, the number of the
    batch, and a row for each incident. Policies must have been made for the city, or for the city as the scenario
    changes it, unless `other_city` says that they need not.
    """
    if isinstance(scenario, str):
        scenario = read_scenario(scenario)
    _check(policies, incidents, precision, seed)
    checked_threads(threads)
    names = [policy.name for policy in policies] if names is None else names
    for name, one in zip(names, policies, strict=True):
        check_fits(city, scenario, one.problem, name, other_city=other_city)
    run = _prepared(city, policies, scenario, incidents, precision, seed)
    asks = None in run.rules
    if incidents is None and precision is None:
        precision = ASKED_PRECISION if asks else PRECISION
    # A policy that is asked may be anybody's function: one at a time.
    threads = 1 if keep_records is not None or asks else checked_threads(threads)
    batches: list[list[Batch]] = [[] for _ in policies]
    bins = np.zeros((len(policies), NUM_SECTIONS, 2, NUM_BINS), np.int64)
    wanted = run.num_batches

    def work(job: tuple[int, int]) -> tuple[Batch, NDArray[np.int64]]:
        number, policy = job
        records = np.zeros(0 if keep_records is None else run.size(number), RECORD)
        batch, arrivals = run.batch(number, policy, records)
        if keep_records is not None:
            keep_records(names[policy], number, records[: batch.incidents])
        return batch, arrivals

    def results() -> tuple[SimulatedPolicy, ...]:
        found = zip(names, batches, bins, strict=True)
        return tuple(SimulatedPolicy(name, tuple(own), arrivals) for name, own, arrivals in found)

    while True:
        # A few batches at a time, so that progress is seen and Ctrl-C is heard.
        while (first := len(batches[0])) < wanted:
            numbers = range(first, min(first + threads, wanted))
            jobs = list(product(numbers, range(len(policies))))
            for (number, policy), (batch, arrivals) in zip(jobs, run_each(work, jobs, threads), strict=True):
                batches[policy].append(batch)
                bins[policy, number % NUM_SECTIONS] += arrivals
            if progress is not None:
                reached = _precision(results())
                # An interval shrinks with the root of what was simulated.
                part = len(batches[0]) / wanted if precision is None else min(1.0, (precision / reached) ** 2)
                progress(SimulationProgress(part, reached))
        reached = _precision(results())
        precise = precision is None or reached <= precision
        if precision is None or precise or wanted >= MOST_BATCHES:
            break
        # As many as the present spread asks for, and a few more, but at most four times as many at once.
        needed = 4.0 * wanted if reached > 2.0 * precision else 1.1 * wanted * (reached / precision) ** 2
        wanted = min(MOST_BATCHES, max(wanted + NUM_BATCHES // 2, ceil(needed)))
    station_of = tuple(city.stations[i].station_id for i in run.model.station_of)
    return Simulation(scenario, results(), station_of, seed, precise)


def batch_key(seed: int, number: int) -> np.uint64:
    """The key of a batch."""
    return np.uint64(mix(np.uint64((mix(np.uint64(seed)) + number) % 2**64)))


def _precision(results: Sequence[SimulatedPolicy]) -> float:
    """Half the width of the widest interval, relatively to its late fraction; inf if nothing is late."""
    found = [result.late_fraction for result in results]
    return max(late.half / late.mean if late.mean > 0.0 else np.inf for late in found)


def expected_decisions(city: City, incidents: int | None, precision: float | None) -> float:
    """How many decisions of a policy a simulation needs at least, so far as that is known before it."""
    if incidents is not None:
        counted = float(incidents)
    else:
        # The interval of a late fraction of one half is this narrow; a smaller one takes more.
        counted = max(NUM_BATCHES * ASKED_BATCH_INCIDENTS, (2.0 / (precision or ASKED_PRECISION)) ** 2)
    warm_minutes = WARM_BUSY_TIMES * city.mean_busy_minutes
    before = LEAST_WARM_INCIDENTS + city.incidents_per_day * warm_minutes / MINUTES_PER_DAY
    return counted + min(NUM_BATCHES, counted) * before


def prepare_policies(
    city: City,
    policies: Sequence[Policy],
    *,
    incidents: int | None = None,
    precision: float | None = None,
    times: int = 1,
    begin: Callable[[str], None],
) -> None:
    """Let policies find what they need to decide in bulk in so many simulations; `begin` is told of each."""
    _check(policies, incidents, precision, seed=0)
    for policy in policies:
        begin(f"{policy.name} in every state")
        policy.in_bulk(times * expected_decisions(city, incidents, precision))


def _check(policies: Sequence[Policy], incidents: int | None, precision: float | None, seed: int) -> None:
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
    policies: Sequence[Policy],
    scenario: Scenario,
    incidents: int | None,
    precision: float | None,
    seed: int,
) -> _Run:
    """A simulation that can begin."""
    decisions = expected_decisions(city, incidents, precision)
    rules = [array_rule(policy, decisions) for policy in policies]
    model = build_model(city, scenario)
    warm_minutes = WARM_BUSY_TIMES * max(city.mean_busy_minutes, model.busy_minutes + model.away_minutes)
    first_counted = LEAST_WARM_INCIDENTS + ceil(warm_minutes * model.incidents_per_minute)
    num_batches, most = NUM_BATCHES, ASKED_BATCH_INCIDENTS if None in rules else BATCH_INCIDENTS
    start, measured_from, end = -warm_minutes, np.inf, np.inf
    if incidents is not None:
        num_batches = max(min(NUM_BATCHES, incidents), ceil(incidents / MOST_IN_BATCH))
    if num_in_log := len(model.log):
        if incidents is not None:
            num_batches = min(MOST_BATCHES, max(2, ceil(incidents / num_in_log)))
        start, end = model.log["minutes"][[0, -1]].tolist()
        measured_from, incidents, most = start, None, num_in_log
    elif len(model.hour_share) or len(model.shifts):
        per_week = city.incidents_per_day * MINUTES_PER_WEEK / MINUTES_PER_DAY
        wanted = most if incidents is None else incidents / num_batches
        weeks = max(1.0, round(wanted / per_week))
        # Far more than there will be: the batch ends with its last week.
        incidents, most = None, int(2.0 * weeks * per_week) + 1000
        measured_from, end = 0.0, MINUTES_PER_WEEK * weeks
    return _Run(model, policies, rules, seed, incidents, num_batches, most, start, measured_from, end, first_counted)
