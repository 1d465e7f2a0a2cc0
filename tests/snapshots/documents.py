"""Every document that users see of a city, by the name of its file: JSON, the data of pages, tables of the terminal.

Commands run in this process, services without a network. What differs from run to run (seconds, ids, versions, clock
times) is left out.
"""

import csv
import json
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from tests.service.conftest import service

from runcard.city import City, read_city, write_city
from runcard.cli import main

INCIDENTS: Final = "2000"
MOST_ROWS: Final = 80
LEFT_OUT: Final = frozenset(
    {
        "seconds", "decision_id", "time", "version", "policy_version", "loaded_at", "digest", "created", "made",
        "fallback_version", "since", "size_bytes",
    }
)  # fmt: skip
"""Keys whose values say when something was made, or how long it took."""
TIMES: Final = re.compile(r"\b\d+(\.\d+)? s\b|\bin \d+ ms\b")
LONG_NUMBER: Final = re.compile(r"-?\d+\.\d{4,}(?:e-?\d+)?")
FITTED_DIGITS: Final = 4
"""Of the numbers of a fitted city: the next ones depend on the processor."""
DATES: Final = re.compile(r"\b\d{4}-\d\d-\d\d\b|\b\d{1,2} [A-Z][a-z]+ \d{4}\b")
PAGE_DATA: Final = re.compile(r'<script type="application/json" id="([^"]+)">(.*?)</script>', re.DOTALL)


@dataclass
class Desk:
    """A city in a folder, where its commands are run."""

    city: City
    folder: Path
    documents: dict[str, Any] = field(default_factory=dict)

    @property
    def place(self) -> str:
        """The folder of the city."""
        return str(self.folder / "city")

    def text(self, *words: object) -> str:
        """What a command prints, on a clock that stands still."""
        printed = StringIO()
        with redirect_stdout(printed), redirect_stderr(StringIO()) as complaint, patch("time.perf_counter", float):
            code = main([str(word) for word in words])
        assert code == 0, f"runcard {' '.join(map(str, words))}: {complaint.getvalue()}"
        return TIMES.sub("# s", printed.getvalue().replace(str(self.folder), "."))

    def keep_text(self, name: str, *words: object) -> None:
        """Keep the table of a command."""
        self.documents[f"{name}.txt"] = self.text(*words).splitlines()

    def keep_json(self, name: str, *words: object) -> None:
        """Keep the document of a command."""
        self.documents[f"{name}.json"] = stable(json.loads(self.text(*words, "--json")), str(self.folder))

    def keep_both(self, name: str, *words: object) -> None:
        """Keep the document of a command and its table."""
        self.keep_json(name, *words)
        self.keep_text(name, *words)

    def keep_page(self, name: str, path: Path) -> None:
        """Keep the data that a page embeds."""
        data = PAGE_DATA.findall(path.read_text("utf-8"))
        self.documents[f"{name}.json"] = stable({key: json.loads(text) for key, text in data}, str(self.folder))


def stable(document: Any, folder: str = "\0") -> Any:
    """A document without what differs from run to run."""
    if isinstance(document, Mapping):
        return {key: stable(value, folder) for key, value in document.items() if key not in LEFT_OUT}
    if isinstance(document, list | tuple):
        return [stable(value, folder) for value in document]
    return document.replace(folder, ".") if isinstance(document, str) else document


@dataclass(frozen=True)
class Asked:
    """A situation: where, of which type, who is busy, and who is elsewhere."""

    name: str
    node_id: str
    type: str | None
    busy: tuple[str, ...]
    moved: Mapping[str, str] = field(default_factory=dict)
    incident_class: int | None = None

    @property
    def words(self) -> list[str]:
        """The options of `runcard decide`."""
        found = ["--at", self.node_id, "--busy", ",".join(self.busy) or "none"]
        found += [] if self.type is None else ["--type", self.type]
        found += [] if self.incident_class is None else ["--class", str(self.incident_class)]
        for unit, node in self.moved.items():
            found += ["--from", f"{unit}={node}"]
        return found


def situations(city: City, units: tuple[str, ...]) -> Iterator[Asked]:
    """Situations of a city whose units, or stations in a city without a roster, have these names."""
    demand = [city.demand[0], city.demand[len(city.demand) // 2], city.demand[-1]]
    areas = {point.node_id for point in city.demand}
    classes = [point.node_id for point in city.demand]
    for number, point in enumerate(demand):
        several = city.plain and classes.count(point.node_id) > 1
        row = 1 if several else None
        type_ = point.type or None
        for busy in (units[:0], units[: 1 + number], units[:-1]):
            yield Asked(f"{number}-{len(busy)}", point.node_id, type_, busy, {}, row)
    elsewhere = next((node.node_id for node in city.nodes if node.node_id not in areas), None)
    if elsewhere is not None:
        type_ = city.demand[0].type or None
        yield Asked("anywhere", elsewhere, type_, units[:1])
    row = 1 if city.plain and classes.count(city.demand[0].node_id) > 1 else None
    yield Asked(
        "moved", city.demand[0].node_id, city.demand[0].type or None, units[:1],
        {units[-1]: city.demand[-1].node_id} if units[1:] else {}, row,
    )  # fmt: skip


def names_of_units(city: City) -> tuple[str, ...]:
    """The units of a city; where there is no roster, the id of a station once for each of its trucks."""
    if city.has_roster:
        return tuple(unit.unit_id for unit in city.units)
    return tuple(station.station_id for station in city.stations for _ in range(station.trucks))


def lines_of(path: Path) -> list[list[str]]:
    """Some rows of a CSV file, from all over it."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = [*csv.reader(file)]
    return rows[:: 1 + len(rows) // MOST_ROWS]


def documents_of(name: str, city: City, folder: Path) -> dict[str, Any]:
    """Every document of a city, made in an empty folder."""
    desk = Desk(city, folder)
    write_city(city, desk.place)
    units, is_small = names_of_units(city), city.num_trucks < 20
    policy = "optimal" if is_small else "one-step-mean-field"
    file = folder / "city.policy"
    if name == "fitted":
        _keep_fit(desk)
    desk.keep_text("solve", "solve", desk.place, "--policy", policy, "-o", file)
    simulated = ("--policies", f"closest-first,{policy}", "--incidents", INCIDENTS if is_small else "200")
    desk.keep_json("simulate", "simulate", desk.place, *simulated)
    if is_small:
        desk.keep_text("simulate", "simulate", desk.place, *simulated)
        desk.keep_both("compare", "compare", desk.place)
        desk.keep_both("lateness", "lateness", desk.place, "--at", city.demand[0].node_id)
        _keep_what_if(desk, units)
        _keep_report(desk)
    if name in ("grid", "demo", "kinds-week"):
        desk.keep_both("stress", "stress", desk.place, "--scenarios", "paper,turnout,traffic", *simulated)
    if name in ("grid", "weights"):
        desk.keep_text("bound", "bound", desk.place, "--steps", "5", "--incidents", INCIDENTS)
    if name in ("grid", "weights", "online"):
        desk.keep_json("bound", "bound", desk.place, "--steps", "5", "--incidents", "500")
    _keep_decisions(desk, file, units)
    _keep_cards(desk, file)
    if name == "names":
        _keep_maps(desk, file)
    desk.documents["service.json"] = _service(desk, file, units)
    return desk.documents


def _keep_fit(desk: Desk) -> None:
    """Put the fit of the city to a made-up log in its place."""
    log, fitted = desk.folder / "log.csv", desk.folder / "fitted"
    desk.text("generate-log", desk.place, "-o", log, "--incidents", "1500", "--seed", "3", "--mapping", "runcard")
    words = ("fit", desk.place, "--log", log, "--mapping", "runcard", "-o", fitted)
    desk.keep_both("fit", *words, "--overwrite")
    desk.keep_page("fit-page", fitted / "fit.html")
    shutil.rmtree(desk.place)
    fitted.rename(desk.place)
    for path in Path(desk.place).glob("*.*"):
        if path.suffix != ".html":
            text = path.read_text("utf-8")
            path.write_text(LONG_NUMBER.sub(lambda number: f"{float(number[0]):.{FITTED_DIGITS}g}", text), "utf-8")
    desk.city = read_city(desk.place)


def _keep_decisions(desk: Desk, file: Path, units: tuple[str, ...]) -> None:
    """Who goes in each situation, and how it is said in the first of them."""
    times = ["tue 14:00", "sun 03:00"] if desk.city.has_periods else [None]
    answers = {}
    for number, time in enumerate(times):
        when = [] if time is None else ["--time", time]
        for asked in situations(desk.city, units):
            words = ("decide", file, *asked.words, *when)
            answers[f"{asked.name} {time or ''}".strip()] = json.loads(desk.text(*words, "--json"))
            if asked.name in ("1-2", "anywhere", "moved") and not number:
                desk.keep_text(f"decide-{asked.name}", *words)
    desk.documents["decide.json"] = stable(answers)


def _keep_what_if(desk: Desk, units: tuple[str, ...]) -> None:
    """What a closure and more incidents change, and where one more unit should stand."""
    kind, city = desk.city.kinds[0], desk.city
    page = desk.folder / "page.html"
    close = ("--close", city.stations[-1].station_id) if len(city.stations) > 1 else ("--load", "1.5")
    desk.keep_json("whatif", "whatif", desk.place, *close)
    desk.keep_text("whatif", "whatif", desk.place, *close, "-o", page)
    desk.keep_page("whatif-page", page)
    change = ("--add", f"{kind}@{city.demand[0].node_id}", "--remove", units[0], "--load", "1.2")
    desk.keep_json("whatif-more", "whatif", desk.place, *(change if len(units) > 2 else change[:2]))
    if len(city.demand) < 10:
        desk.keep_json("one-more", "site", desk.place, "--kind", kind)
        desk.keep_text("one-more", "site", desk.place, "--kind", kind, "-o", page)
        desk.keep_page("one-more-page", page)


def _keep_report(desk: Desk) -> None:
    """The data of the report, and its words without markup."""
    page = desk.folder / "report.html"
    desk.text("report", desk.place, "-o", page, "--quick", "--incidents", INCIDENTS)
    desk.keep_page("report-page", page)
    body = page.read_text("utf-8").replace(str(desk.folder), ".").split("<body", 1)[1]
    body = re.sub(r"<(script|style|svg)\b.*?</\1>", " ", body, flags=re.DOTALL)
    lines = (" ".join(line.split()) for line in re.sub(r"<[^>]*>", " ", body).splitlines())
    desk.documents["report.txt"] = [DATES.sub("#", TIMES.sub("# s", line)) for line in lines if line]


def _keep_cards(desk: Desk, file: Path) -> None:
    """The cards of a policy file, and an answer by them."""
    cards = desk.folder / "cards.csv"
    desk.keep_text("cards", "cards", file, "-o", cards, "--incidents", INCIDENTS)
    desk.documents["cards.json"] = lines_of(cards)
    asked = next(situations(desk.city, names_of_units(desk.city)))
    when = ["--time", "tue 14:00"] if desk.city.has_periods else []
    desk.keep_both("decide-by-cards", "decide", cards, *asked.words, *when)


def _keep_maps(desk: Desk, file: Path) -> None:
    """The GeoJSON of a city with longitude and latitude, and that of its policy."""
    for name, source in (("city", desk.place), ("policy", file)):
        out = desk.folder / f"geojson-{name}"
        desk.text("geojson", source, "-o", out)
        layers = {path.name: json.loads(path.read_text("utf-8")) for path in sorted(out.iterdir())}
        desk.documents[f"geojson-{name}.json"] = stable(layers)


def _service(desk: Desk, file: Path, units: tuple[str, ...]) -> dict[str, Any]:
    """What the service says of a policy file: who goes, what the explorer draws, and the board."""
    city, answers = desk.city, {}
    roster = tuple(unit.unit_id for unit in city.units if city.has_roster)
    when = {"time": "2017-01-03T14:00:00"} if city.has_periods else {}
    with service(file.parent, file.name, time_zone="Europe/Berlin") as client:
        board = client.get("/v1/board").json()
        known = tuple(unit["unit"] for unit in board["units"])
        for asked in situations(city, roster or known):
            request: dict[str, Any] = {"node": asked.node_id, "busy": list(asked.busy), **when}
            request |= {} if asked.type is None else {"type": asked.type}
            request |= {} if asked.incident_class is None else {"class": asked.incident_class}
            request |= {"moved": {unit: {"node": node} for unit, node in asked.moved.items()}} if asked.moved else {}
            answers[f"decision {asked.name}"] = client.post("/v1/decisions", json=request).json()
        answers |= {"board": board, "policies": client.get("/v1/policies").json()}
        answers["city"] = client.get("/v1/city").json()
        for number, busy in enumerate((known[:0], known[:2])):
            answers[f"scene {number}"] = client.post("/v1/scene", json={"busy": list(busy)}).json()
        area = city.demand[0].node_id
        answers["route"] = client.post("/v1/route", json={"busy": [], "area": area}).json()
        answers["cards"] = client.get(f"/v1/cards/{area}").json()
        if city.num_trucks < 10:
            answers["playback"] = client.get("/v1/playback", params={"day": 1, "seed": 2}).json()
    return dict(stable(answers, str(desk.folder)))
