"""A city and its decisions as GeoJSON (RFC 7946), for QGIS, kepler.gl and others.

A file has one kind of things: areas, stations, roads, routes or decisions. Every property is a text, a number, a truth
value or nothing, and every feature of a file has the same ones, so that a file opens as a table. Coordinates are
longitude and latitude. Decisions are those with every unit idle.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import Any, Final

import numpy as np

from runcard.city.conditions import OUTSIDE_ID
from runcard.city.model import City
from runcard.errors import InputError, RuncardError
from runcard.mdp.problem import LAST_MINUTES, MINUTES, P_LATE
from runcard.output_file import check_output_file, write_whole
from runcard.outputs.area_file import DECIMALS, area_geometries, area_rates, check_lonlat
from runcard.outputs.unit_routes import UnitRoutes
from runcard.plan.everywhere import Everywhere, everywhere
from runcard.plan.fleet import Fleet
from runcard.plan.plan import Plan
from runcard.plan.words import named_units
from runcard.policy.options import team_ids

Feature = dict[str, Any]
Document = dict[str, Any]

ENDING: Final = ".geojson"


@dataclass(frozen=True, eq=False)
class Layers:
    """The documents of a city, and of the policies of its plan if there is one."""

    city: City
    plan: Plan | None = None

    def documents(self) -> dict[str, Document]:
        """By name: areas, stations and roads; with policies also routes and decisions."""
        features = {"areas": self._areas(), "stations": self._stations(), "roads": self._roads()}
        if self.plan is not None:
            features |= {"routes": self._routes(), "decisions": self._decisions()}
        return {name: self._collection(name, list(found)) for name, found in features.items()}

    def _collection(self, name: str, features: list[Feature]) -> Document:
        """A document; each feature has every property that one of them has, in one order: columns of a table."""
        columns = list(dict.fromkeys(column for one in features for column in one["properties"]))
        for one in features:
            one["properties"] = {column: one["properties"].get(column) for column in columns}
        return {"type": "FeatureCollection", "name": f"{self.city.name}: {name}", "features": features}

    @cached_property
    def _polygons(self) -> dict[str, dict[str, Any]]:
        """The shape of each area."""
        return area_geometries(self.city)

    @cached_property
    def _places(self) -> dict[str, list[float]]:
        """The place of each node."""
        nodes = self.city.nodes
        return {one.node_id: [round(one.x_coord, DECIMALS), round(one.y_coord, DECIMALS)] for one in nodes}

    @cached_property
    def _sent(self) -> list[Everywhere]:
        """What each kind sends to each demand point."""
        return [everywhere(fleet) for fleet in (() if self.plan is None else self.plan.fleets)]

    def _of_kind(self, name: str, fleet: Fleet) -> str:
        """A property of one kind; the kind is said only where there are kinds."""
        return f"{name} {self.city.said(fleet.kind)}".strip()

    def _areas(self) -> Iterator[Feature]:
        """Each area with its rates, and how it fares by kind, over all its incidents."""
        rates, fares = area_rates(self.city), self._fares()
        for node_id, shape in self._polygons.items():
            about = {"node_id": node_id, "name": self.city.node(node_id).name}
            yield _feature(shape, about | rates[node_id] | fares.get(node_id, {}))

    def _fares(self) -> dict[str, dict[str, float]]:
        """By area: the mean number of missed standards and the mean minutes of its incidents, by kind."""
        found: dict[str, dict[str, float]] = {}
        for sent in self._sent:
            point_ids, rates = sent.fleet.problem.point_ids, sent.fleet.problem.incidents_per_day
            areas = {node_id: number for number, node_id in enumerate(dict.fromkeys(point_ids))}
            here = np.array([areas[node_id] for node_id in point_ids])
            total = np.bincount(here, rates)
            for name, values in (("missed", sent.missed_in_all), ("first_minutes", sent.measure(MINUTES))):
                sums = total if values is None else np.bincount(here, rates * values)
                for node_id, number in areas.items():
                    if values is not None and total[number] > 0.0:
                        mean = float(sums[number] / total[number])
                        found.setdefault(node_id, {})[self._of_kind(name, sent.fleet)] = mean
        return found

    def _stations(self) -> Iterator[Feature]:
        """Each station with its units, and the price of taking one of each kind."""
        prices = self._prices()
        for station in self.city.stations:
            named = named_units(self.city, station.station_id)
            properties = {
                "station_id": station.station_id,
                "name": station.name,
                "node_id": station.node_id,
                "num_units": len(self.city.units_at[station.station_id]),
                "units": ", ".join(unit.unit_id for unit in named),
                "kinds": ", ".join(dict.fromkeys(unit.kind for unit in named)),
            }
            point = {"type": "Point", "coordinates": self._places[station.node_id]}
            yield _feature(point, properties | prices.get(station.station_id, {}))

    def _prices(self) -> dict[str, dict[str, float | None]]:
        """By station: the price of one unit of each kind, in missed standards."""
        found: dict[str, dict[str, float | None]] = {}
        for fleet in () if self.plan is None else self.plan.fleets:
            problem = fleet.problem
            teams = np.array([problem.teams.number([i]) for i in range(problem.num_stations)], np.int64)
            prices = fleet.policy.prices(problem.trucks, teams).tolist()
            for station_id, price in zip(problem.station_ids, prices, strict=True):
                found.setdefault(station_id, {})[self._of_kind("price", fleet)] = price if isfinite(price) else None
        return found

    def _roads(self) -> Iterator[Feature]:
        """Each link."""
        for link in self.city.links:
            line = [self._places[link.from_node_id], self._places[link.to_node_id]]
            properties = {
                "link_id": link.link_id,
                "directed": link.directed,
                "mean_minutes": link.mean_minutes,
                "length_m": link.length_m,
            }
            if (geometry := _line(line)) is not None:  # the start of a drive, before a station, has no length
                yield _feature(geometry, properties)

    def _routes(self) -> Iterator[Feature]:
        """The route of each unit to each area that it goes to, for whatever type of incident."""
        for sent in self._sent:
            fleet, routes = sent.fleet, UnitRoutes(self.city.of_kind(sent.fleet.kind))
            types: dict[tuple[str, str, int, tuple[int, ...]], dict[str, None]] = {}
            for point, units in enumerate(sent.units_listed):
                team = team_ids(fleet.problem, point, int(sent.teams[point]))
                stations = [routes.city.station_numbers[home] for home in team if home != OUTSIDE_ID]  # it comes last
                links_of = routes.links(int(routes.routes.row[point]), stations)
                for unit_id, station, links in zip(units, stations, links_of, strict=False):
                    drive = fleet.problem.point_ids[point], unit_id, station, tuple(links)
                    types.setdefault(drive, {})[fleet.types[point]] = None
            for (node_id, unit_id, station, way), found in types.items():
                minutes = routes.drive_minutes(way)
                properties = {
                    "node_id": node_id,
                    "unit": unit_id,
                    "kind": fleet.kind,
                    "station_id": routes.city.stations[station].station_id,
                    "types": ", ".join(filter(None, found)),
                    "links": len(way),
                    "drive_minutes": minutes,
                    "mean_minutes": minutes + routes.city.turnout.mean_minutes,
                }
                yield _feature(_line([self._places[name] for name in routes.nodes(station, way)]), properties)

    def _decisions(self) -> Iterator[Feature]:
        """What goes to each type of incident in each area, of each kind."""
        for sent in self._sent:
            fleet, problem, teams = (
                sent.fleet,
                sent.fleet.problem,
                zip(sent.units_listed, sent.closest.units_listed, sent.teams != sent.closest.teams, strict=True),
            )
            for point, (units, closest, departs) in enumerate(teams):
                properties = {
                    "node_id": problem.point_ids[point],
                    "type": fleet.types[point] or (problem.class_names[point] if problem.class_names else ""),
                    "kind": fleet.kind,
                    "incidents_per_day": float(problem.incidents_per_day[point]),
                    "units": ", ".join(units),
                    "closest_first": ", ".join(closest),
                    "departs": bool(departs),
                }
                for name, table in (("missed", P_LATE), ("first_minutes", MINUTES), ("last_minutes", LAST_MINUTES)):
                    values = sent.measure(table)
                    properties[name] = None if values is None else float(values[point])
                for number, standard in enumerate(fleet.standards_at(point)):
                    properties[f"standard_{number + 1}"] = standard.rule
                    properties[f"miss_{number + 1}"] = float(sent.missed(number)[point])
                yield _feature(self._polygons[problem.point_ids[point]], properties)


def _line(places: Sequence[list[float]]) -> dict[str, Any] | None:
    """A line; None if it has no length, which GeoJSON has no line for."""
    if all(place == places[0] for place in places):
        return None
    return {"type": "LineString", "coordinates": list(places)}


def _feature(geometry: dict[str, Any] | None, properties: dict[str, Any]) -> Feature:
    """A feature."""
    return {"type": "Feature", "properties": properties, "geometry": geometry}


def check_output_folder(folder: Path) -> None:
    """Raise an InputError if the folder is not there and could not be made."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: expected a folder to write to, got a file")
    if not folder.exists() and not folder.parent.is_dir():
        raise InputError(f"{folder}: expected an existing folder to make it in, got none")


def write_geojson(city: City, folder: Path, plan: Plan | None = None) -> list[Path]:
    """The files that now hold the documents; everything is made before anything is written."""
    check_lonlat(city)
    check_output_folder(folder)
    contents = {
        folder / f"{name}{ENDING}": json.dumps(document, allow_nan=False).encode()
        for name, document in Layers(city, plan).documents().items()
    }
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise RuncardError(f"{folder}: could not be made: {error.strerror or error}") from error
    for path in contents:
        check_output_file(path)
    return [write_whole(path, content) for path, content in contents.items()]
