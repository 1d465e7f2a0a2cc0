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
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from runcard.city.conditions import OUTSIDE_ID
from runcard.city.model import City
from runcard.errors import InputError, RuncardError
from runcard.mdp.problem import LAST_MINUTES, MINUTES, P_LATE
from runcard.output_file import check_output_file, write_whole
from runcard.outputs.area_file import DECIMALS, area_polygons, area_rates, check_lonlat
from runcard.plan.fleet import Fleet
from runcard.plan.plan import Plan
from runcard.policy.closest_first import quick_closest_first
from runcard.policy.options import team_ids
from runcard.response.travel import Travel, travel_of

Feature = dict[str, Any]
Document = dict[str, Any]

ENDING: Final = ".geojson"


@dataclass(frozen=True, eq=False, kw_only=True)
class SentTeam:
    """What one kind sends to one demand point with every unit idle."""

    fleet: Fleet
    point: int
    team: int
    """The number of the team."""
    closest: int
    """The number of the team of closest-first."""

    @property
    def stations(self) -> tuple[str, ...]:
        """The station of each unit that goes, "outside" for those that must come from there."""
        return team_ids(self.fleet.problem, self.point, self.team)

    def units(self, team: int) -> tuple[str, ...]:
        """The units of a team."""
        idle = {unit.unit_id for unit in self.fleet.units}
        return self.fleet.unit_ids(team_ids(self.fleet.problem, self.point, team), idle)

    def measure(self, name: str) -> float | None:
        """A measure of the team that goes; None if the policy does not know it."""
        table = self.fleet.problem.measures.get(name)
        return None if table is None else float(table[self.team, self.point])


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
        found = area_polygons(self.city, decimals=DECIMALS)
        return {node_id: {"type": "MultiPolygon", "coordinates": shape} for node_id, shape in found.items()}

    @cached_property
    def _places(self) -> dict[str, list[float]]:
        """The place of each node."""
        nodes = self.city.nodes
        return {one.node_id: [round(one.x_coord, DECIMALS), round(one.y_coord, DECIMALS)] for one in nodes}

    @cached_property
    def _sent(self) -> list[SentTeam]:
        """What each kind sends to each demand point."""
        fleets = () if self.plan is None else self.plan.fleets
        return [one for fleet in fleets for one in _sent_by(fleet)]

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
        sums: dict[tuple[str, str], list[float]] = {}
        for one in self._sent:
            rate = float(one.fleet.problem.incidents_per_day[one.point])
            for name, measure in (("missed", P_LATE), ("first_minutes", MINUTES)):
                if (value := one.measure(measure)) is not None:
                    key = (one.fleet.problem.point_ids[one.point], self._of_kind(name, one.fleet))
                    total = sums.setdefault(key, [0.0, 0.0])
                    total[0] += rate * value
                    total[1] += rate
        found: dict[str, dict[str, float]] = {}
        for (node_id, name), (total_value, total_rate) in sums.items():
            if total_rate > 0.0:
                found.setdefault(node_id, {})[name] = total_value / total_rate
        return found

    def _stations(self) -> Iterator[Feature]:
        """Each station with its units, and the price of taking one of each kind."""
        prices = self._prices()
        for station in self.city.stations:
            units = self.city.units_at[station.station_id]
            properties = {
                "station_id": station.station_id,
                "name": station.name,
                "node_id": station.node_id,
                "num_units": len(units),
                "units": ", ".join(unit.unit_id for unit in units if self.city.has_roster),
                "kinds": ", ".join(dict.fromkeys(unit.kind for unit in units if self.city.has_roster)),
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
        drives: dict[str, KindRoutes] = {}
        types: dict[Drive, list[str]] = {}
        for one in self._sent:
            kind, node_id = one.fleet.kind, one.fleet.problem.point_ids[one.point]
            if kind not in drives:
                drives[kind] = KindRoutes.of(self.city.of_kind(kind))
            routes = drives[kind].links_of(one.stations, one.point)
            for unit_id, station_id, links in zip(one.units(one.team), one.stations, routes, strict=True):
                if station_id != OUTSIDE_ID:
                    types.setdefault(Drive(kind, node_id, unit_id, station_id, links), []).append(
                        one.fleet.types[one.point]
                    )
        for drive, found in types.items():
            of_kind = drives[drive.kind]
            minutes = of_kind.drive_minutes(drive.links)
            properties = {
                "node_id": drive.node_id,
                "unit": drive.unit_id,
                "kind": drive.kind,
                "station_id": drive.station_id,
                "types": ", ".join(dict.fromkeys(filter(None, found))),
                "links": len(drive.links),
                "drive_minutes": minutes,
                "mean_minutes": minutes + of_kind.travel.turnout_minutes,
            }
            nodes = of_kind.nodes_of(drive.station_id, drive.links)
            yield _feature(_line([self._places[name] for name in nodes]), properties)

    def _decisions(self) -> Iterator[Feature]:
        """What goes to each type of incident in each area, of each kind."""
        for one in self._sent:
            fleet, problem = one.fleet, one.fleet.problem
            units, closest = one.units(one.team), one.units(one.closest)
            properties = {
                "node_id": problem.point_ids[one.point],
                "type": fleet.types[one.point] or (problem.class_names[one.point] if problem.class_names else ""),
                "kind": fleet.kind,
                "incidents_per_day": float(problem.incidents_per_day[one.point]),
                "units": ", ".join(units),
                "closest_first": ", ".join(closest),
                "departs": one.team != one.closest,
                "missed": one.measure(P_LATE),
                "first_minutes": one.measure(MINUTES),
                "last_minutes": one.measure(LAST_MINUTES),
            }
            for number, standard in enumerate(fleet.standards_at(one.point)):
                properties[f"standard_{number + 1}"] = standard.rule
                properties[f"miss_{number + 1}"] = float(problem.missed(number)[one.team, one.point])
            yield _feature(self._polygons[problem.point_ids[one.point]], properties)


class Drive(NamedTuple):
    """A unit on its way to an area."""

    kind: str
    node_id: str
    unit_id: str
    station_id: str
    links: tuple[int, ...]
    """From the station on, by their places in the city."""


@dataclass(frozen=True, eq=False)
class KindRoutes:
    """The routes of the units of one kind."""

    city: City
    travel: Travel
    second: dict[tuple[int, int], NDArray[np.int32]]
    """By row and station: the links of the second unit of a station, where it takes another road."""

    @classmethod
    def of(cls, city: City) -> "KindRoutes":
        """Those of a city of one kind."""
        travel = travel_of(city)
        several = [i for i, station in enumerate(city.stations) if station.trucks > 1]
        disjoint = city.driving.second_route == "disjoint"
        return cls(city, travel, travel.routes.second_routes(several) if disjoint else {})

    def links_of(self, team: Sequence[str], point: int) -> Iterator[tuple[int, ...]]:
        """The links that each unit of a team of stations drives over; none from outside."""
        routes = self.travel.routes
        row, seen = int(routes.row[point]), set[str]()
        for station_id in team:
            if station_id == OUTSIDE_ID:
                yield ()
                continue
            i = self.city.station_numbers[station_id]
            links = routes.route(row, i)
            yield tuple((self.second.get((row, i), links) if station_id in seen else links).tolist())
            seen.add(station_id)

    def nodes_of(self, station_id: str, links: Sequence[int]) -> list[str]:
        """The nodes along a route, from the station on."""
        nodes = [self.city.stations[self.city.station_numbers[station_id]].node_id]
        for number in links:
            link = self.city.links[number]
            nodes.append(link.to_node_id if link.from_node_id == nodes[-1] else link.from_node_id)
        return nodes

    def drive_minutes(self, links: Sequence[int]) -> float:
        """The mean driving time over some links."""
        return sum(self.city.links[number].mean_minutes for number in links)


def _sent_by(fleet: Fleet) -> Iterator[SentTeam]:
    """What a fleet sends to each demand point with every unit idle."""
    problem, points = fleet.problem, np.arange(fleet.problem.num_points)
    pairs = (policy.teams(problem.trucks, points).tolist() for policy in (fleet.policy, quick_closest_first(problem)))
    for point, (team, closest) in enumerate(zip(*pairs, strict=True)):
        yield SentTeam(fleet=fleet, point=point, team=team, closest=closest)


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
