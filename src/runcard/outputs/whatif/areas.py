"""Who gains and who loses: what each area gets before and after.

With m_k(j) the weighted sum of standards that kind k misses at demand point j, and λ_j its rate, an area, that is a
node, misses Σ_k Σ_j λ_j m_k(j) / Σ_j λ_j per incident. Response minutes are the mean over the kinds that change.
"""

from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from runcard.city.model import City
from runcard.outputs.whatif.result import AreaEffect, KindEffect


def area_effects(
    before: City, after: City, kinds: Mapping[str, KindEffect], *, days_per_year: float
) -> tuple[AreaEffect, ...]:
    """What changes in each area with incidents; where a simulation saw none, nothing is known and it is left out."""
    rates, rates_before = defaultdict[str, float](float), defaultdict[str, float](float)
    for old, new in zip(before.demand, after.demand, strict=True):
        rates_before[old.node_id] += old.incidents_per_day
        rates[new.node_id] += new.incidents_per_day
    missed, minutes = (
        defaultdict[str, list[float]](lambda: [0.0, 0.0]),
        defaultdict[str, list[float]](lambda: [0.0] * 3),
    )
    closest: dict[str, tuple[str, str]] = {}
    for one in kinds.values():
        known = np.logical_not(np.isnan(one.points[0].missed) | np.isnan(one.points[1].missed))
        for j in np.flatnonzero(known).tolist():
            node_id, rate = one.after.demand[j].node_id, one.after.demand[j].incidents_per_day
            for when, own in enumerate(one.points):
                missed[node_id][when] += rate * float(own.missed[j])
                minutes[node_id][when] += rate * float(own.minutes[j]) if one.changed else 0.0
            minutes[node_id][2] += rate if one.changed else 0.0
            if one.changed:
                closest.setdefault(node_id, (one.points[0].closest[j], one.points[1].closest[j]))
    names = {node.node_id: node.name for node in before.nodes}
    names |= {point.node_id: point.name for point in before.demand if point.name}
    found = []
    for node_id, rate in rates.items():
        weight = minutes[node_id][2]
        if rate <= 0.0 or weight <= 0.0:
            continue
        of_missed = [part / rate for part in missed[node_id]]
        of_minutes = [part / weight for part in minutes[node_id][:2]]
        area = AreaEffect(
            node_id,
            names[node_id],
            incidents_before=rates_before[node_id],
            incidents_after=rate,
            missed_before=of_missed[0],
            missed_after=of_missed[1],
            minutes_before=of_minutes[0],
            minutes_after=of_minutes[1],
            closest_before=closest[node_id][0],
            closest_after=closest[node_id][1],
            days_per_year=days_per_year,
        )
        found.append(area)
    return tuple(found)
