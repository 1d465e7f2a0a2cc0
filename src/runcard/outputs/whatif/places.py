"""Places for one more unit, and what it achieves there."""

from dataclasses import dataclass, replace
from math import nan
from typing import Any

from runcard.city.model import City
from runcard.city.periods import Period
from runcard.outputs.whatif.result import days_per_year


@dataclass(frozen=True)
class Place:
    """A place for one more unit, a node of the road, and what it achieves there, so far as that is known.

    `cost` is what policies make as small as they can: weighted misses per incident, unless the city has another
    objective. It lies in [lower, upper]: proven, estimated, or with 95 % in a simulation.
    """

    node_id: str
    station_id: str | None = None
    """The station that is there; None: the unit would need a new one."""
    guess: float = nan
    """The first guess at its cost, by which places were put in order."""
    cost: float | None = None
    """None if it was not solved to the end."""
    lower: float | None = None
    upper: float | None = None
    change: float | None = None
    """Against the city as it is; below 0 is better."""
    change_lower: float | None = None
    change_upper: float | None = None
    misses: float | None = None
    """Weighted misses per incident, if it is among the best."""
    mean_response_minutes: float | None = None
    """The mean time of the first arrival, if it is among the best."""
    near_station: str | None = None
    """The station that is the fewest minutes away, of a node without one."""
    near_minutes: float | None = None
    pruned_by: float | None = None
    """What its lower bound is above, so that it is not among the best; None if nothing ruled it out."""

    @property
    def place(self) -> str:
        """What `whatif --add KIND@PLACE` calls it."""
        return self.node_id if self.station_id is None else self.station_id

    def against(self, base: "Place") -> "Place":
        """The same with its change against the city as it is, by interval arithmetic."""
        if self.lower is None or self.upper is None or base.lower is None or base.upper is None:
            return self
        change = None if self.cost is None or base.cost is None else self.cost - base.cost
        low, high = self.lower - base.upper, self.upper - base.lower
        return replace(self, change=change, change_lower=low, change_upper=high)


@dataclass(frozen=True, kw_only=True)
class OneMore:
    """Every place for one more unit of a kind, the best first; those that were ruled out by their lower bounds."""

    city: City
    kind: str
    base: Place
    """The city as it is; its node is empty."""
    places: tuple[Place, ...]
    top: int
    incidents_per_day: float
    """Those that need the kind."""
    anywhere: bool
    """Whether nodes without a station were looked at, too."""
    thinned: bool
    """Whether only those of them with incidents were, because each takes time."""
    sure: bool
    """Whether the best `top` are sure to be the best: every other place is solved, or ruled out by a bound."""
    proven: bool
    """Whether bounds are proven; else they are estimated, or simulated."""
    simulated: bool
    """Whether bounds are 95 % intervals of a simulation, under closest-first, and not proven."""
    asked_to_simulate: bool
    """Else it was simulated, if it was, because there are too many states."""
    period: str | None
    """The period of the week whose rates count; None: the means of the week, or the city has none."""
    seconds: float
    fit_faults: tuple[str, ...] = ()
    """In which ways the city is badly fitted to its log, as the fit says it."""

    @property
    def best(self) -> tuple[Place, ...]:
        """The best `top`."""
        return tuple(place for place in self.places[: self.top] if place.cost is not None)

    @property
    def ties(self) -> tuple[Place, ...]:
        """The places that the bounds do not tell from the best one, that one left out."""
        which = ("change_lower", "change_upper") if self.simulated else ("lower", "upper")
        (_, most), *others = [(getattr(one, which[0]), getattr(one, which[1])) for one in self.places]
        pairs = zip(self.places[1:], others, strict=True)
        return tuple(one for one, (least, _) in pairs if least is not None and least <= most)

    @property
    def counts(self) -> dict[str, int]:
        """How many places were solved or simulated, ruled out by a bound, and only guessed at."""
        solved = sum(one.cost is not None for one in self.places)
        pruned = sum(one.pruned_by is not None for one in self.places)
        return {"solved": solved, "ruled_out": pruned, "guessed": len(self.places) - solved - pruned}

    def about(self, place: Place) -> float:
        """The cost at a place, or where it was not solved, the first guess set right by the places that were.

        A guess is right about which place is better, less so about how much. So its gain is multiplied by what the
        places that were solved gain, by what was guessed of them; then it is brought within its bounds, if it has any.
        """
        if place.cost is not None:
            return place.cost
        base = self.base
        solved = [one for one in self.places if one.cost is not None]
        guessed = sum(base.guess - one.guess for one in solved)
        scale = sum(-(one.change or 0.0) for one in solved) / guessed if guessed > 0.0 else 1.0
        cost = (base.cost or 0.0) - scale * (base.guess - place.guess)
        low, high = (cost if end is None else end for end in (place.lower, place.upper))
        return min(max(cost, low), high)

    @property
    def of_period(self) -> Period | None:
        """The period, with its hours."""
        return None if self.period is None else self.city.period(self.period)

    @property
    def city_of_period(self) -> City:
        """The city with the rates that count; with its periods, if those are their means."""
        return self.city if self.period is None else self.city.in_period(self.period)

    def per_year(self, per_incident: float) -> float:
        """What a number per incident makes in a year, or in its hours of the period."""
        return per_incident * self.incidents_per_day * days_per_year(self.of_period)

    def document(self) -> dict[str, Any]:
        """The content as plain values, for JSON."""
        return {
            "city": self.city.name,
            "kind": self.kind,
            "anywhere": self.anywhere,
            "only_demand_nodes": self.thinned,
            "period": self.period,
            "sure": self.sure,
            "proven": self.proven,
            "simulated": self.simulated,
            "incidents_per_day": self.incidents_per_day,
            "days_per_year": days_per_year(self.of_period),
            "base": self._entry(self.base),
            "places": [self._entry(place) for place in self.places],
            "ties": [place.place for place in self.ties],
            **self.counts,
            "seconds": self.seconds,
            "fit_faults": list(self.fit_faults),
        }

    def _entry(self, place: Place) -> dict[str, Any]:
        names = ("cost", "lower", "upper", "change", "change_lower", "change_upper", "misses")
        own: dict[str, Any] = {"node": place.node_id, "station": place.station_id} if place.node_id else {}
        if place.near_station is not None:
            own |= {"near_station": place.near_station, "near_minutes": place.near_minutes}
        own |= {name: getattr(place, name) for name in names}
        yearly = None if place.misses is None else self.per_year(place.misses)
        own |= {"misses_per_year": yearly, "mean_response_minutes": place.mean_response_minutes}
        return own | ({"guess": place.guess, "pruned_by": place.pruned_by} if place.node_id else {})
