"""Simulate a department of several kinds of units: every kind over the same incidents, and what all miss together."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from runcard.city.model import City, Standard
from runcard.errors import InputError
from runcard.interval import Interval
from runcard.plan.fleet import Fleet
from runcard.plan.plan import Plan
from runcard.simulate.engine import SimulationProgress, simulate_kinds
from runcard.simulate.result import Misses, Simulation, all_misses
from runcard.simulate.scenario import PAPER, Scenario


@dataclass(frozen=True)
class DepartmentSimulation:
    """What a simulation found in one scenario, by kind and for all kinds together, for each policy in turn."""

    scenario: Scenario
    kinds: Mapping[str, Simulation]
    """What each kind does, over the incidents that need it."""
    seed: int
    precise: bool
    """Whether the missed standards of every policy are as precise as was asked for."""
    order: tuple[Standard, ...]
    """The standards of the city; () if it is plain."""
    most_weight: float
    """Of the standards of one incident together."""

    def _repr_html_(self) -> str:
        """The simulation in a notebook."""
        from runcard.simulate.notebook import department_simulation_html  # it knows this class

        return department_simulation_html(self)

    @property
    def names(self) -> tuple[str, ...]:
        """What each policy is called."""
        return tuple(result.name for result in self.first.policies)

    @property
    def num_incidents(self) -> int:
        """The incidents of the city in all batches, each counted once."""
        return sum(batch.of_city for batch in self.first.policies[0].batches)

    @property
    def first(self) -> Simulation:
        """What its first kind does: all there is in a plain city."""
        return next(iter(self.kinds.values()))

    def _misses(self, number: int) -> Misses:
        return all_misses([simulation.policies[number] for simulation in self.kinds.values()], self.most_weight)

    def missed(self, number: int) -> Interval:
        """The weighted sum of missed standards of all kinds per incident of the city, under a policy."""
        return self._misses(number).per_incident

    def fewer_missed(self, number: int) -> Interval:
        """How much smaller that sum is than that of the first policy, batch by batch."""
        return self._misses(0).fewer_in(self._misses(number))

    def improvement(self, number: int) -> Interval:
        """The same as a part of the sum of the first policy."""
        return self.gain_over(0, number)

    def gain_over(self, other: int, number: int) -> Interval:
        """The same, as a part of the sum of another policy."""
        return self._misses(other).gain_of(self._misses(number))

    def standards(self, number: int) -> tuple[tuple[Standard, Interval], ...]:
        """Each standard, in the order of the city, and the part of the incidents of its type that misses it."""
        found = {one: part for simulation in self.kinds.values() for one, part in simulation.standards(number)}
        return tuple((one, found[one]) for one in self.order or found if one in found)


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
    progress: Callable[[SimulationProgress], None] | None = None,
    keep_records: Callable[[str, int, NDArray[np.void]], None] | None = None,
) -> DepartmentSimulation:
    """Simulate plans of a city, all kinds over the same incidents.

    Options are those of `simulate_policies`, with the weighted sum of missed standards per incident of the city for the
    late fraction. `incidents` are those of the city, whatever kinds they need. `keep_records` is handed the records of
    every batch, one kind after another in the order of `city.kinds`: a row for each incident that needs the kind.
    """
    fleets = [{fleet.kind: fleet for fleet in plan.fleets if fleet.kind in city.kinds} for plan in plans]
    for number, by_kind in enumerate(fleets, start=1):
        if set(by_kind) != set(city.kinds):
            raise InputError(
                f"plan {number}: expected a policy for each kind that incidents of {city.name} need "
                f"({', '.join(city.kinds)}), got {', '.join(by_kind) or 'none'}"
            )
    found = simulate_kinds(
        city,
        fleets,
        scenario,
        incidents=incidents,
        precision=precision,
        seed=seed,
        names=[_name(by_kind) for by_kind in fleets] if names is None else names,
        threads=threads,
        other_city=other_city,
        progress=progress,
        keep_records=keep_records,
    )
    first = next(iter(found.values()))
    order = () if city.plain else city.standards
    return DepartmentSimulation(first.scenario, found, seed, first.precise, order, city.most_weight)


def _name(by_kind: Mapping[str, Fleet]) -> str:
    """What a plan is called."""
    return " and ".join(dict.fromkeys(fleet.name for fleet in by_kind.values()))
