"""`runcard generate`: a random city."""

from pathlib import Path
from typing import Annotated

import typer

from runcard.cli.parameters import option, path_argument, whole_option


def generate(
    folder: Annotated[Path, path_argument("DIR", "The folder to write the city to.")],
    side: Annotated[int, whole_option("Nodes along each side of the grid.")] = 6,
    stations: Annotated[int, whole_option("Number of stations.")] = 5,
    load: Annotated[float, option("X", "Incidents per truck and busy time: the paper's ρ.")] = 0.1,
    seed: Annotated[int, whole_option("Seed of everything random; the same seed gives the same city.")] = 1,
    gamma: Annotated[float, option("X", "Target, as a part of the longest route's mean driving time.")] = 0.6,
    sparseness: Annotated[
        float | None, option("X", "Part of the links that is kept; drawn from 0.4 to 1 if left out.")
    ] = None,
    shared_delay: Annotated[float, option("X", "Chance that trucks on one link meet the same delay.")] = 1.0,
    busy_minutes: Annotated[float, option("X", "Mean minutes that a dispatched truck is busy.")] = 60.0,
    trucks_per_station: Annotated[int, whole_option("Trucks of each station.")] = 1,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a city that is there already.")] = False,
) -> None:
    """Write a random city as in the paper.

    It is a square grid with some links removed, and stations and incident rates at random.
    """
    from runcard.city.files import write_city
    from runcard.city.grid import generate_grid
    from runcard.cli.terminal import make_console
    from runcard.plan.words import city_line

    city = generate_grid(
        side=side,
        num_stations=stations,
        load=load,
        seed=seed,
        gamma=gamma,
        sparseness=sparseness,
        shared_delay=shared_delay,
        busy_minutes=busy_minutes,
        trucks_per_station=trucks_per_station,
    )
    write_city(city, folder, overwrite=overwrite)
    console = make_console()
    console.print(city_line(city))
    console.print(f"Wrote {folder}", soft_wrap=True)
