"""Manhattan's engines and ladders as a city, from raw files: python build.py RAW_FOLDER OUT_FOLDER.

There is no log of units, so nothing can be fitted but where fires are. The names of firehouses are the roster. The
numbers in capitals below are ours; README.md says why.
"""

import csv
import re
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np

from runcard import read_city, write_city
from runcard.calibrate.placing import FAR_METRES
from runcard.calibrate.rates import RateFit, fit_rates
from runcard.calibrate.trips import minutes_between
from runcard.city import City, Driving, Turnout
from runcard.city.areas import area_of_nodes, demand_nodes
from runcard.city.places import nearest_nodes
from runcard.cli import main

HERE = Path(__file__).parent
FIRES_PER_DAY, BUSY_MINUTES, SHARED_DELAY = 100.0, 40.0, 0.1
DRIVING, TURNOUT = Driving("gamma", scale_minutes=0.7), Turnout(1.3, "gamma", 0.85)
KINDS = {"Engine": "engine", "Ladder": "ladder"}


def write_roster(firehouses: Path, path: Path) -> Counter[str]:
    """Write the engines and ladders that the names of firehouses say; the number of each kind comes back."""
    numbers: Counter[str] = Counter()
    with firehouses.open(newline="", encoding="utf-8") as file, path.open("w", newline="", encoding="utf-8") as out:
        roster = csv.writer(out)
        roster.writerow(("unit_id", "station_id", "kind"))
        for row in csv.DictReader(file):
            for word, number in re.findall(r"(Engine|Ladder) (\d+)", row["FacilityName"]):
                roster.writerow((f"{word[0]}{number}", row["FacilityName"], KINDS[word]))
                numbers[KINDS[word]] += 1
    return numbers


def count_fires(city: City, fires: Path) -> tuple[np.ndarray, int]:
    """[area, type] the fires, and how many have no position near a road."""
    with fires.open(newline="", encoding="utf-8") as file:
        cells = [(row["Longitude"], row["Latitude"]) for row in csv.DictReader(file)]
    places = np.array([(float(x), float(y)) for x, y in cells if x not in ("", "NA")])
    node, metres = nearest_nodes(city, places[:, 0], places[:, 1])
    near = metres <= FAR_METRES
    counts = np.bincount(area_of_nodes(city)[node[near]], minlength=len(demand_nodes(city)))
    return counts[:, None].astype(np.int64), len(cells) - int(near.sum())


def with_fires(city: City, fires: Path) -> tuple[City, RateFit, int]:
    """The city with the fires' smoothed rates, our total and our laws; the fit, and the fires left out."""
    counts, lost = count_fires(city, fires)
    index = {node.node_id: number for number, node in enumerate(city.nodes)}
    centres = [index[name] for name in demand_nodes(city)]
    rates = fit_rates(counts, minutes_between(city, centres, centres), 1.0)
    share = dict(zip(demand_nodes(city), (rates.per_day[:, 0] / rates.per_day.sum()).tolist(), strict=True))
    demand = (replace(point, incidents_per_day=FIRES_PER_DAY * share[point.node_id]) for point in city.demand)
    found = replace(
        city,
        demand=tuple(demand),
        driving=DRIVING,
        turnout=TURNOUT,
        shared_delay=SHARED_DELAY,
        stations=tuple(replace(station, trucks=0) for station in city.stations),
    )
    return found, rates, lost


def build(raw: Path, out: Path) -> int:
    """The exit code."""
    out.mkdir(parents=True, exist_ok=True)
    write_roster(raw / "firehouses.csv", out / "roster.csv")
    options = {
        "--roads": raw,
        "--stations": raw / "firehouses.csv",
        "--units": out / "roster.csv",
        "--mapping": HERE / "mapping.toml",
        "--standards": HERE / "standards.csv",
        "--busy-minutes": BUSY_MINUTES,
        "--incidents-per-day": FIRES_PER_DAY,
        "--name": "Manhattan",
    }
    words = [str(word) for pair in options.items() for word in pair]
    imported = main(["import", str(out / "city"), *words, "--overwrite"])
    if imported != 0:
        return imported
    city, rates, lost = with_fires(read_city(out / "city"), raw / "incidents_2015.csv")
    write_city(city, out / "city", overwrite=True)
    print(f"Rates by area from {rates.counts.sum()} fires ({lost} without a usable position), {FIRES_PER_DAY:g} a day.")
    print(f"Smoothed over {rates.width_minutes[0]:g} min, {rates.floor[0]:.1%} of them spread over all areas alike.")
    return 0


if __name__ == "__main__":
    sys.exit(build(Path(sys.argv[1]), Path(sys.argv[2])) if len(sys.argv) == 3 else __doc__)
