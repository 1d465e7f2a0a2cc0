"""Who gains and who loses: what each area gets before and after.

With m_k(j) the weighted sum of standards that kind k misses at demand point j, and λ_j its rate, an area, that is a
node, misses Σ_k Σ_j λ_j m_k(j) / Σ_j λ_j per incident. Response minutes are the mean over the kinds that change.

Of simulated kinds the change has a 95 % interval. With x_b and n_b the sum of misses and the incidents of an area in
batch b, n̄ the mean of n_b and R = Σx / Σn, before, and primed after, it is that of the mean over batches of

    f' (x'_b - R' n'_b) / n̄' - f (x_b - R n_b) / n̄

with f = f' = λ_k / λ for the change per incident, and f = λ_k, f' = λ'_k for that in a day. Changes of few incidents
are rare and large, and what is rare may not have been seen: without more, 65 to 98 % of such intervals held the truth.
So one miss, f' w / Σn with w the largest weight of a standard, is added to each half. With seeds that had no part in
this choice 94 to 100 % then did, in five changes of two cities, with 5,000 and with 30,000 incidents. Intervals of
kinds are added end by end. Where fewer than `FEWEST` incidents were seen, nothing is known.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import inf
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from runcard.assess.change import Difference, FleetChange
from runcard.assess.team_shares import TeamShares
from runcard.interval import Interval
from runcard.mdp.problem import MINUTES, P_LATE
from runcard.simulate.result import interval_of

FEWEST: Final = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class AreaChange:
    """What an area gets under the recommended policy: of all kinds together, per incident in the area."""

    node_id: str
    name: str
    incidents_before: float
    """A day, as the incidents after."""
    incidents_after: float
    missed_before: float
    missed_after: float
    minutes_before: float
    """Until the first unit of each kind is there, the mean over the kinds that change."""
    minutes_after: float
    closest_before: str
    """The closest station with units of the first kind that changes."""
    closest_after: str
    more_missed: Interval
    """By how much more standards are missed per incident; nothing is known of it where few incidents were simulated."""
    per_year: Interval
    """How many more standards are missed in a year."""

    @property
    def is_clear(self) -> bool:
        """Whether it is certain that more, or fewer, standards are missed."""
        return not self.more_missed.low <= 0.0 <= self.more_missed.high

    def document(self) -> dict[str, Any]:
        """The same as plain values, ready for JSON."""
        own, year = asdict(self), self.per_year.document()
        del own["more_missed"], own["per_year"]
        yearly = {f"more_missed_per_year_{end}": year[end] for end in ("low", "high")}
        return own | {"more_missed_per_year": self.per_year.value} | yearly


class PointMeans(NamedTuple):
    """What the demand points of a kind get in the long run under the recommended policy."""

    shares: TeamShares
    batches: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
    """[batch, J] the sum of missed standards, and the incidents, in each batch of a simulation; None if calculated."""

    def mean(self, measure: str) -> NDArray[np.float64]:
        """[J] the mean of a measure; nan if it is not known."""
        return self.shares.mean(self.shares.problem.measures[measure])

    @property
    def closest(self) -> list[str]:
        """[J] the station with a unit of the kind that has the shortest drive there."""
        problem = self.shares.problem
        return [problem.station_ids[i] for i in problem.order[:, 0].tolist()]


Ends = tuple[PointMeans, PointMeans]
"""Before and after."""


class Noise(NamedTuple):
    """Half of the 95 % intervals of the change in an area, per incident and in a day."""

    per_incident: float = 0.0
    per_day: float = 0.0

    def plus(self, other: "Noise") -> "Noise":
        """Both together, on the safe side."""
        return Noise(self.per_incident + other.per_incident, self.per_day + other.per_day)


def noise_of(change: FleetChange, points: Ends, rates: Mapping[str, float]) -> dict[str, Noise]:
    """What a simulation leaves open of the change of each area by one kind; `rates` are those of the areas after."""
    sums, cities = [own.batches for own in points], (change.before.city, change.after.city)
    if not change.changed or sums[0] is None or sums[1] is None:
        return {}
    nodes = {node_id: n for n, node_id in enumerate(dict.fromkeys(point.node_id for point in cities[1].demand))}
    place = np.array([nodes[point.node_id] for point in cities[1].demand])
    # The same batches before and after; a last one may be missing where it had no incidents.
    num = min(len(own[0]) for own in (sums[0], sums[1]))
    parts, per_day, seen = [], [], np.full(len(nodes), np.inf)
    for city, (missed, incidents) in zip(cities, (sums[0], sums[1]), strict=True):
        above, below = (_by_area(own[:num], place, len(nodes)) for own in (missed, incidents))
        total = below.sum(axis=0)
        seen = np.minimum(seen, total)
        safe = np.maximum(total, 1.0)
        parts.append((above - above.sum(axis=0) / safe * below) * num / safe)
        per_day.append(np.bincount(place, [point.incidents_per_day for point in city.demand], len(nodes)))
    found, largest = {}, max((standard.weight for standard in cities[1].standards), default=1.0)
    for node_id, n in nodes.items():
        if rates[node_id] <= 0.0:
            continue
        if seen[n] < FEWEST:
            found[node_id] = Noise(inf, inf)
            continue
        old, new = parts[0][:, n], parts[1][:, n]
        rate, miss = float(per_day[1][n]), largest / float(seen[n])
        half, in_a_day = interval_of(new - old).half, interval_of(rate * new - float(per_day[0][n]) * old).half
        found[node_id] = Noise(rate / rates[node_id] * (half + miss), in_a_day + rate * miss)
    return found


def _by_area(values: NDArray[np.float64], place: NDArray[np.int64], num_areas: int) -> NDArray[np.float64]:
    """[batch, area] the sums of numbers [batch, J]."""
    found = np.zeros((num_areas, len(values)))
    np.add.at(found, place, values.T)
    return found.T


def area_changes(policy: Difference, points: Mapping[str, Ends], *, days_per_year: float) -> tuple[AreaChange, ...]:
    """What changes in each area with incidents; where a simulation saw none, nothing is known and it is left out."""
    rates, rates_before = defaultdict[str, float](float), defaultdict[str, float](float)
    for old, new in zip(policy.before.demand, policy.after.demand, strict=True):
        rates_before[old.node_id] += old.incidents_per_day
        rates[new.node_id] += new.incidents_per_day
    missed, minutes = (
        defaultdict[str, list[float]](lambda: [0.0, 0.0]),
        defaultdict[str, list[float]](lambda: [0.0] * 3),
    )
    closest: dict[str, tuple[str, str]] = {}
    noise = defaultdict[str, Noise](Noise)
    for kind, change in policy.kinds.items():
        for node_id, own_noise in noise_of(change, points[kind], rates).items():
            noise[node_id] = noise[node_id].plus(own_noise)
        late, waited = ([own.mean(measure) for own in points[kind]] for measure in (P_LATE, MINUTES))
        closest_ends = list(zip(*(own.closest for own in points[kind]), strict=True))
        for j in np.flatnonzero(np.isfinite(late[0]) & np.isfinite(late[1])).tolist():
            demand = change.after.city.demand[j]
            node_id, rate = demand.node_id, demand.incidents_per_day
            for when in (0, 1):
                missed[node_id][when] += rate * float(late[when][j])
                minutes[node_id][when] += rate * float(waited[when][j]) if change.changed else 0.0
            if change.changed:
                minutes[node_id][2] += rate
                closest.setdefault(node_id, closest_ends[j])
    names = {point.node_id: point.name for point in policy.before.demand if point.name}
    found = []
    for node_id, rate in rates.items():
        weight = minutes[node_id][2]
        if rate <= 0.0 or weight <= 0.0:
            continue
        of_missed = [part / rate for part in missed[node_id]]
        in_a_day = rate * of_missed[1] - rates_before[node_id] * of_missed[0]
        area = AreaChange(
            node_id=node_id,
            name=names.get(node_id) or policy.before.node(node_id).name,
            incidents_before=rates_before[node_id],
            incidents_after=rate,
            missed_before=of_missed[0],
            missed_after=of_missed[1],
            minutes_before=minutes[node_id][0] / weight,
            minutes_after=minutes[node_id][1] / weight,
            closest_before=closest[node_id][0],
            closest_after=closest[node_id][1],
            more_missed=_within(of_missed[1] - of_missed[0], noise[node_id].per_incident),
            per_year=_within(days_per_year * in_a_day, days_per_year * noise[node_id].per_day),
        )
        found.append(area)
    return tuple(found)


def _within(value: float, half: float) -> Interval:
    return Interval(value, value - half, value + half)
