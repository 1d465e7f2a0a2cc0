"""Small known cities for the tests of `calibrate`, and logs of them."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from runcard.calibrate.build import with_factors
from runcard.calibrate.fit import Fit, fit_city
from runcard.calibrate.generator import MadeUpLog, generate_log
from runcard.calibrate.log import Log, read_log
from runcard.calibrate.mapping import LogMapping, read_mapping
from runcard.calibrate.trips import link_classes
from runcard.city import City, DemandPoint, Link, Node, Period, Standard, Station, Unit
from runcard.city.aprons import with_aprons
from runcard.city.model import Driving, Turnout
from runcard.city.periods import parse_hours

START, SCALE, SHARED = 0.9, 0.35, 0.4
FACTORS = {"main": 1.25, "side": 1.6}
DAY, NIGHT = parse_hours("mon-sun 7-22"), parse_hours("mon-sun 22-7")
SIDE = 5


def road_city(*, metres: bool = False) -> City:
    """A department as it is before a fit: 25 junctions 500 m apart, fast main streets and side streets, 4 stations."""
    step, x0, y0 = (500.0, 530_000.0, 180_000.0) if metres else (0.005, -122.45, 37.75)
    nodes = tuple(Node(f"n{r}{c}", x0 + c * step, y0 + r * step) for r in range(SIDE) for c in range(SIDE))
    links = []
    for r in range(SIDE):
        for c in range(SIDE):
            for dr, dc, road, minutes in ((0, 1, "main", 0.8), (1, 0, "side", 1.1)):
                if r + dr < SIDE and c + dc < SIDE:
                    minutes += 0.01 * (r + 2 * c)  # no two routes take the same time
                    ends = f"n{r}{c}", f"n{r + dr}{c + dc}"
                    links.append(Link("-".join(ends), *ends, False, minutes, extra=(("road_class", road),)))
    at = {"s1": "n00", "s2": "n14", "s3": "n32", "s4": "n41"}
    units = [Unit(f"E0{n}", f"s{1 + n % 4}", "engine") for n in range(1, 8)]
    units += [Unit("T01", "s2", "ladder"), Unit("T02", "s4", "ladder")]
    weights = np.random.default_rng(3).random((len(nodes), 2)) + 0.2
    totals = {"fire": 16.0, "medical": 30.0}
    return City(
        name="Known",
        busy_minutes={"engine": 25.0, "ladder": 30.0},
        target_minutes=None,
        nodes=nodes,
        links=tuple(links),
        stations=tuple(Station(name, node) for name, node in at.items()),
        demand=tuple(
            DemandPoint(node.node_id, total * weights[n, t] / weights[:, t].sum(), type=name)
            for n, node in enumerate(nodes)
            for t, (name, total) in enumerate(totals.items())
        ),
        units=tuple(units),
        standards=(
            Standard("fire", "engine", 2, 1, 6.0),
            Standard("fire", "engine", 2, 2, 9.0, 0.5),
            Standard("fire", "ladder", 1, 1, 8.0),
            Standard("medical", "engine", 1, 1, 6.0),
        ),
    )


def true_city(city: City, **changes: object) -> City:
    """What really happens in it: slower roads, a start, a spread, turnout, shared delays, days and nights."""
    classes, of_link = link_classes(city)
    slower = with_factors(city, np.array([FACTORS[name] for name in classes])[of_link])
    types = {point.type for point in city.demand}
    known = {
        "driving": Driving("gamma", scale_minutes=SCALE),
        "shared_delay": SHARED,
        "turnout_by_kind": {"engine": Turnout(1.2, "gamma", 0.5), "ladder": Turnout(1.6, "lognormal", 0.4)},
        "standards": tuple(replace(one, busy_minutes=35.0 if one.type == "fire" else 22.0) for one in city.standards),
        "periods": (Period("day", DAY, dict.fromkeys(types, 1.3)), Period("night", NIGHT, dict.fromkeys(types, 0.5))),
    }
    return replace(with_aprons(slower, START), **{**known, **changes})


def plain_city(*, metres: bool = True) -> City:
    """The same roads with six trucks of no kind: what London's log, which names no units, can fit."""
    city = road_city(metres=metres)
    return replace(
        city,
        units=(),
        standards=(),
        busy_minutes=30.0,
        target_minutes=7.0,
        stations=tuple(replace(one, trucks=2 if n < 2 else 1) for n, one in enumerate(city.stations)),
        demand=tuple(replace(one, type="fire" if one.type == "fire" else "alarm") for one in city.demand),
    )


def true_plain_city(city: City) -> City:
    """What really happens in the plain city."""
    return true_city(city, standards=(), turnout_by_kind={}, turnout=Turnout(1.2, "gamma", 0.5), periods=())


def write_log(made: MadeUpLog, mapping: LogMapping, folder: Path) -> tuple[Path, Path | None]:
    """The files of a made-up log."""
    path = folder / "calls.csv"
    second = folder / "incidents.csv" if mapping.incident_columns else None
    made.write(path, second)
    return path, second


def made_up(folder: Path, city: City, *, mapping: str = "san-francisco", **options: object) -> tuple[Log, MadeUpLog]:
    """A made-up log, written and read again."""
    known = read_mapping(mapping)
    made = generate_log(city, known, **{"incidents": 500, **options})
    path, second = write_log(made, known, folder)
    return read_log(path, known, incidents=second), made


@cache
def known_fit(folder: Path, incidents: int = 4000, seed: int = 1) -> Fit:
    """The fit of the known city to a made-up log of it; the log is made once."""
    city = road_city()
    log, _ = made_up(folder, true_city(city), incidents=incidents, seed=seed)
    return fit_city(city, log)
