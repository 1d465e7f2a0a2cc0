"""A city whose numbers are known, on free roads and as it makes up logs, and what a fit should find in them."""

from dataclasses import replace
from typing import Final

import numpy as np

from runcard.calibrate.mapping import LogMapping, read_mapping
from runcard.city.aprons import with_aprons
from runcard.city.model import City, DemandPoint, Driving, Link, Node, Standard, Station, Turnout, Unit
from runcard.city.periods import Period

SIDE: Final = 8
FACTORS: Final = {"main": 1.4, "street": 1.15}
START_MINUTES, SCALE_MINUTES, SHARED_DELAY = 0.5, 0.6, 0.3
PER_DAY: Final = {"fire": 15.0, "medical": 40.0, "alarm": 10.0}
DAY: Final = {"fire": 1.0, "medical": 1.3, "alarm": 1.2}
NIGHT: Final = {"fire": 1.0, "medical": 0.5, "alarm": 0.7}
DAY_HOURS: Final = range(8, 20)


def known_cities() -> tuple[City, City]:
    """The city before a fit, on free roads, and the city that makes up the logs."""
    rng = np.random.default_rng(0)
    nodes = [Node(f"n{r}-{c}", 500.0 * c, 500.0 * r) for r in range(SIDE) for c in range(SIDE)]
    sites = ((1, 1), (1, 6), (6, 1), (6, 6), (3, 4), (4, 2))
    # So many engines that one is always idle: an incident to which nobody goes is in no log.
    units = [Unit(f"E{number}{one}", f"S{number}", "engine") for one in (1, 2) for number in range(6)]
    units += [Unit(f"L{number}", f"S{number}", "ladder") for number in (4, 1, 2)]
    weights = rng.gamma(2.0, 1.0, len(nodes))
    shares = (weights / weights.sum()).tolist()
    before = City(
        name="known",
        busy_minutes={"engine": 30.0, "ladder": 25.0},
        target_minutes=None,
        nodes=tuple(nodes),
        links=_links(rng),
        stations=tuple(Station(f"S{number}", f"n{r}-{c}") for number, (r, c) in enumerate(sites)),
        demand=tuple(
            DemandPoint(node.node_id, total * share, type=name)
            for name, total in PER_DAY.items()
            for node, share in zip(nodes, shares, strict=True)
        ),
        units=tuple(units),
        standards=(
            Standard("fire", "engine", 2, 1, 6.0, busy_minutes=45.0),
            Standard("fire", "engine", 2, 2, 9.0, busy_minutes=45.0),
            Standard("fire", "ladder", 1, 1, 8.0, busy_minutes=40.0),
            Standard("medical", "engine", 1, 1, 6.0, busy_minutes=25.0),
            Standard("alarm", "engine", 1, 1, 6.0, busy_minutes=18.0),
            Standard("alarm", "ladder", 1, 1, 8.0, busy_minutes=15.0),
        ),
    )
    slower = (
        replace(link, mean_minutes=link.mean_minutes * FACTORS[dict(link.extra)["road_class"]]) for link in before.links
    )
    day = tuple(24 * weekday + hour for weekday in range(7) for hour in DAY_HOURS)
    truth = replace(
        before,
        links=tuple(slower),
        stations=tuple(replace(station, trucks=0) for station in before.stations),
        shared_delay=SHARED_DELAY,
        driving=Driving("gamma", scale_minutes=SCALE_MINUTES),
        turnout_by_kind={"engine": Turnout(1.3, "lognormal", 0.5), "ladder": Turnout(1.6, "gamma", 0.4)},
        periods=(Period("day", day, DAY), Period("night", tuple(sorted({*range(168)} - {*day})), NIGHT)),
    )
    return before, with_aprons(truth, START_MINUTES)


def _links(rng: np.random.Generator) -> tuple[Link, ...]:
    """The streets of the grid, every third of them a main road."""
    found: list[Link] = []
    for r in range(SIDE):
        for c in range(SIDE):
            for down, right in ((0, 1), (1, 0)):
                if r + down < SIDE and c + right < SIDE:
                    is_main = (r if right else c) % 3 == 0
                    minutes = 0.5 * float(rng.uniform(0.8, 1.2)) * (0.6 if is_main else 1.0)
                    road_class = (("road_class", "main" if is_main else "street"),)
                    ends = (f"n{r}-{c}", f"n{r + down}-{c + right}")
                    found.append(Link(f"l{len(found)}", *ends, False, minutes, extra=road_class))
    return tuple(found)


def truth_of(city: City) -> dict[str, float]:
    """The true value of every number that a fit should find, by its name."""
    found = {f"rate.{name}": total for name, total in PER_DAY.items()}
    hours, rest = len(DAY_HOURS) / 24.0, 1.0 - len(DAY_HOURS) / 24.0
    for name in PER_DAY:
        mean = hours * DAY[name] + rest * NIGHT[name]
        found[f"period.{DAY_HOURS.start}-{DAY_HOURS.stop}.{name}"] = DAY[name] / mean
        found[f"period.{DAY_HOURS.stop}-{DAY_HOURS.start}.{name}"] = NIGHT[name] / mean
    sent: dict[str, list[tuple[float, float]]] = {}
    for rule in city.standards:
        if rule.arrivals == 1:
            assert rule.busy_minutes is not None
            found[f"busy_minutes.{rule.type}.{rule.kind}"] = rule.busy_minutes
            sent.setdefault(rule.kind, []).append((PER_DAY[rule.type] * rule.trucks, rule.busy_minutes))
    for kind, parts in sent.items():
        found[f"busy_minutes.{kind}"] = sum(n * minutes for n, minutes in parts) / sum(n for n, _ in parts)
    for kind, turnout in city.turnout_by_kind.items():
        assert turnout.cv is not None
        found |= {f"turnout.{kind}.mean_minutes": turnout.mean_minutes, f"turnout.{kind}.cv": turnout.cv}
    found |= {f"driving.factor.{name}": factor for name, factor in FACTORS.items()}
    return found | {
        "driving.start_minutes": START_MINUTES,
        "driving.scale_minutes": SCALE_MINUTES,
        "shared_delay": SHARED_DELAY,
    }


def log_format() -> LogMapping:
    """The format of the logs: that of San Francisco, with clocks that nobody changes."""
    return replace(read_mapping("san-francisco"), time_zone=None)
