"""Random tiny departments for tests, and a town that is one."""

from dataclasses import replace

import numpy as np

from runcard.city import City, Standard, Unit, generate_grid

TYPES = ("fire", "alarm", "medical")


def random_department(seed: int, *, side: int = 3, shared_delay: float = 1.0) -> City:
    """A city of engines and ladders on a few nodes, with random rosters, types, standards and weights."""
    rng = np.random.default_rng(seed)
    city = generate_grid(side=side, num_stations=3, load=0.2, seed=seed, shared_delay=shared_delay)
    homes = [station.station_id for station in city.stations]
    engines = [*homes, *rng.choice(homes, size=int(rng.integers(0, 2)))]
    ladders = rng.choice(homes, size=int(rng.integers(1, 3)))
    units = [Unit(f"E{number}", str(home), "engine") for number, home in enumerate(engines, start=1)]
    units += [Unit(f"T{number}", str(home), "ladder") for number, home in enumerate(ladders, start=1)]
    standards: list[Standard] = []
    for name in TYPES:
        kinds = (
            ["engine", "ladder"] if name == "fire" else [["engine"], ["ladder"], ["engine", "ladder"]][rng.integers(3)]
        )
        for kind in kinds:
            trucks = int(rng.integers(1, 3 if kind == "engine" else 2))
            for arrivals in range(1, trucks + 1) if rng.random() < 0.6 else (trucks,):
                target = float(rng.choice([1.5, 2.0, 3.0]) * arrivals)
                weight = float(rng.choice([1.0, 0.5, 2.0]))
                standards.append(Standard(name, kind, trucks, arrivals, target, weight))
    demand = tuple(
        replace(point, type=name, incidents_per_day=point.incidents_per_day * float(share))
        for point in city.demand[:4]
        for name, share in zip(TYPES, rng.dirichlet(np.ones(3)), strict=True)
    )
    return replace(
        city,
        units=tuple(units),
        standards=tuple(standards),
        demand=demand,
        target_minutes=None,
        busy_minutes={"engine": 50.0, "ladder": 70.0},
    )


def grid_department(
    *, side: int, engines: int, ladders: int, seed: int = 1, load: float = 0.1, shares: tuple[float, float] = (0.5, 0.5)
) -> City:
    """A grid with engines at the first stations and ladders at some of them: fires need both, medical calls one."""
    city = generate_grid(side=side, num_stations=max(engines, ladders), load=load, seed=seed)
    units = [Unit(f"E{n + 1:02}", city.stations[n].station_id, "engine") for n in range(engines)]
    units += [Unit(f"T{n + 1:02}", city.stations[n].station_id, "ladder") for n in range(ladders)]
    target = city.target_minutes
    assert target is not None
    standards = (
        Standard("fire", "engine", 2, 1, target),
        Standard("fire", "engine", 2, 2, 2.0 * target, 0.5),
        Standard("fire", "ladder", 1, 1, 1.5 * target),
        Standard("medical", "engine", 1, 1, target),
    )
    demand = tuple(
        replace(point, type=name, incidents_per_day=point.incidents_per_day * share)
        for point in city.demand
        for name, share in zip(("fire", "medical"), shares, strict=True)
        if share > 0.0
    )
    return replace(
        city,
        units=tuple(units),
        standards=standards if shares[1] > 0.0 else standards[:3],
        demand=demand,
        target_minutes=None,
        busy_minutes={"engine": 40.0, "ladder": 60.0},
    )
