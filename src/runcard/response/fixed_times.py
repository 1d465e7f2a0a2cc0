"""P(late) and minutes of every team where nothing is random: each truck takes the mean of its route."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from runcard.city.model import City
from runcard.response.lattice_table import LatticeTable
from runcard.response.laws import LEAST_CV

ROUNDING = 1e-12


def is_fixed(city: City) -> bool:
    """Whether neither driving nor turnout times vary."""
    driving, turnout = city.driving, city.turnout
    still = turnout.mean_minutes == 0.0 or (turnout.cv is not None and turnout.cv < LEAST_CV)
    return still and driving.cv is not None and driving.cv < LEAST_CV


@dataclass(frozen=True)
class FixedTable:
    """The teams of a `LatticeTable` whose times are fixed: an incident is late, or it is not."""

    table: LatticeTable

    def late(self) -> NDArray[np.float64]:
        """[team, demand point] 1 where the m-th truck comes after the target, else 0; inf where a team is too large."""
        found = np.full((len(self.table.teams), len(self.table.needs.targets)), np.inf)
        for j, target in enumerate(self.table.needs.targets.tolist()):
            for t, arrivals in self._arrivals(j):
                # A sum of means that is the target but for rounding is in time.
                found[t, j] = float(arrivals[self.table.needs.arrivals[j] - 1] > target * (1.0 + ROUNDING))
        return found

    def means(self) -> NDArray[np.float64]:
        """[team, demand point] the minutes until the first truck; inf where a team is too large."""
        found = np.full((len(self.table.teams), len(self.table.needs.targets)), np.inf)
        for j in range(found.shape[1]):
            for t, arrivals in self._arrivals(j):
                found[t, j] = arrivals[0]
        return found

    def _arrivals(self, j: int) -> Iterator[tuple[int, list[float]]]:
        """Every team that may go to a demand point, and when its trucks and those from outside are there, in order."""
        table, turnout = self.table, self.table.city.turnout.mean_minutes
        minutes, (links, mean) = table.roads.minutes[table.used[1]], table.outside
        for t, team in enumerate(table.teams.tolist()):
            members = [i for i in team if i >= 0]
            missing = int(table.needs.trucks[j]) - len(members)
            if missing < 0:
                continue
            times = [float(table.routes.drive_minutes[i, j]) for i in members]
            for place, i in enumerate(members):
                # The second truck of a station takes another road, the third the first again.
                if members[:place].count(i) % 2 == 1 and (j, i) in table.two_roads:
                    _, second, both = table.two_roads[j, i]
                    times[place] = float(minutes[second].sum() + minutes[both].sum())
            yield t, sorted(turnout + time for time in (*times, *[links * mean] * missing))
