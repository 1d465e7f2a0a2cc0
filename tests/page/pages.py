"""Pages with a map for the tests: cities, layers and the file."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from runcard.city import City, generate_grid
from runcard.outputs.ground import ground_of
from runcard.page import classes_of, diverging, embedded, map_script, map_style, sequential

START = """
const started = performance.now();
window.view = runcardMap(document.getElementById("map"), JSON.parse(document.getElementById("map-data").textContent));
document.querySelector(".rc-stage").getBoundingClientRect();
window.drawnMs = performance.now() - started;
window.chosen = [];
window.view.onselect = (id) => window.chosen.push(id);
"""


def large_city(side: int, num_areas: int, *, seed: int = 2) -> City:
    """A crooked grid in longitude and latitude, with demand at some of its nodes."""
    city = generate_grid(side=side, num_stations=max(2, side // 2), load=0.1, seed=seed, sparseness=1.0)
    random = np.random.default_rng(seed)
    shifts = random.uniform(-0.3, 0.3, (len(city.nodes), 2)).tolist()
    nodes = tuple(
        replace(node, x_coord=-122.0 + 0.0015 * (node.x_coord + x), y_coord=37.0 + 0.0012 * (node.y_coord + y))
        for node, (x, y) in zip(city.nodes, shifts, strict=True)
    )
    chosen = sorted(random.permutation(len(city.demand))[:num_areas].tolist())
    return replace(city, nodes=nodes, demand=tuple(city.demand[one] for one in chosen))


def made_up_layers(ground: dict[str, Any], seed: int = 1) -> list[dict[str, Any]]:
    """Two layers with numbers that mean nothing: a sequence with marks, and a change with outlines."""
    random = np.random.default_rng(seed)
    ids = [area["id"] for area in ground["areas"]]
    chances, changes = random.beta(1, 20, len(ids)).tolist(), random.normal(0.0, 0.01, len(ids)).tolist()
    layers = []
    for name, title, values, classes, outlined in (
        ("miss", "Chance of a miss", chances, classes_of(chances), []),
        ("change", "Who gains, who loses", changes, classes_of(changes, num=7, symmetric=True), ids[2:5]),
    ):
        swatches = (sequential if name == "miss" else diverging)(len(classes))
        areas = {
            one: {"class": classes.of(value), "lines": [f"Area {one}", f"{title}: {100 * value:.1f} %"], "mark": "E01"}
            for one, value in zip(ids, values, strict=True)
        }
        layers.append(
            {"id": name, "title": title, "legend": classes.legend(swatches), "areas": areas, "outlined": outlined,
             "stations": {}}
        )  # fmt: skip
    return layers


def write_map(folder: Path, data: dict[str, Any]) -> Path:
    """The file of a page with a map."""
    path = folder / "map.html"
    path.write_text(
        f"<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'><title>A map</title>"
        f"<style>{map_style()}</style></head><body><div id='map'></div>"
        f"<script type='application/json' id='map-data'>{embedded(data)}</script>"
        f"<script>{map_script()}</script><script>{START}</script></body></html>",
        encoding="utf-8",
    )
    return path


def map_page(folder: Path, city: City) -> Path:
    """The page of a city, with layers that mean nothing."""
    ground = ground_of(city)
    return write_map(folder, {"ground": ground, "layers": made_up_layers(ground), "note": "Numbers mean nothing."})
