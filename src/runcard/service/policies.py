"""The policies that the service holds: loaded files by name, one of which answers.

A file is loaded beside what is served and takes its place in one assignment, so that every request sees either the old
policy or the new one, whole. Its version is the first 12 hex digits of the SHA-256 of the file. A file of another city
is refused: other units, stations or demand points would give answers about what is not there.

Which policy answers is kept in a file beside that of the board, so that a restart does not undo a swap. A swap is kept
for the file that the service was started with: where that is another one by now, somebody wants it to answer, and the
swap is forgotten.
"""

import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from hashlib import file_digest, sha256
from pathlib import Path
from time import thread_time
from typing import Final

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from runcard.city.conditions import near
from runcard.city.model import City
from runcard.city.periods import Period
from runcard.errors import InputError, PolicyFileError, RuncardError
from runcard.output_file import write_whole
from runcard.plan.file import load
from runcard.plan.ground import Ground
from runcard.plan.plan import Plan
from runcard.plan.situation import Situation
from runcard.policy.closest_first import quick_closest_first
from runcard.service.settings import ServiceSettings

CLOSEST_FIRST: Final = "closest-first"
VERSION_DIGITS: Final = 12
SLOW_SECONDS: Final = 0.003

_log = logging.getLogger("runcard.service")


@dataclass(frozen=True, eq=False, kw_only=True)
class LoadedPolicy:
    """A policy with its version."""

    name: str
    """The name of the file without its ending."""
    version: str
    path: Path | None
    """None for closest-first, which needs no file."""
    plan: Plan
    """It has a roster: without one in the city, trucks are named by their stations."""
    loaded_at: datetime
    modified_ns: int = 0
    """When its file was written."""
    slow: bool = True
    """Whether it may take long: its answers are computed in a thread."""
    found_quick: bool = False
    """Whether it was quick when it was tried."""

    @property
    def periods(self) -> tuple[Period, ...]:
        """Its periods; () if it is for every hour."""
        return self.plan.periods if self.plan.knows_hour else ()

    @cached_property
    def ground(self) -> Ground:
        """The city that it was made for, with its roads."""
        assert self.plan.ground is not None  # checked when it was loaded
        return self.plan.ground

    @property
    def city(self) -> City:
        """The city that it was made for."""
        return self.ground.city

    @cached_property
    def method(self) -> str:
        """The name of the method, such as optimal."""
        return self.plan.name

    def in_period(self, period: str | None) -> Plan:
        """What answers in a period, the first one if none is named; the same in all if it is for every hour."""
        return self.plan.in_period(period or self.plan.periods[0].name) if self.plan.knows_hour else self.plan

    @cached_property
    def areas(self) -> Mapping[str, tuple[list[str], NDArray[np.float64]]]:
        """By type of incident: its demand points, and [2, n] their x and y."""
        areas: dict[str, list[str]] = {}
        for area, types in self.plan.types_at.items():
            for of_type in types:
                areas.setdefault(of_type, []).append(area)
        return {
            of_type: (of, np.array([(node.x_coord, node.y_coord) for node in map(self.city.node, of)]).T)
            for of_type, of in areas.items()
        }

    def period_at(self, period: str | None, time: datetime | None) -> str | None:
        """The period that is meant, or that of a time by the clock of the city; None if it is for every hour."""
        if not self.plan.knows_hour:
            if period is not None:
                raise InputError(f"period: policy {self.name} is for every hour, expected none, got {period!r}")
            return None
        if period is None:
            return self.plan.period_of(time).name
        self.plan.in_period(period)  # it refuses what is no period
        return period

    def warm_up(self) -> "LoadedPolicy":
        """The same, known to be slow or not: some answers are found, which also compiles what they need."""
        row, slowest = None if self.plan.types else 1, 0.0
        samples = [Situation(at=areas[0], type=of_type or None, row=row) for of_type, (areas, _) in self.areas.items()]
        for plan in self.plan.by_period.values():
            for sample in samples:
                slowest = max(slowest, min(_seconds(plan, sample) for _ in range(3)))
        # An address reads the roads, and loads what the first one would need.
        places = (node.node_id for node in self.city.nodes if node.node_id not in self.plan.types_at)
        with suppress(InputError):  # no road may lead there
            self.in_period(None).decide(replace(samples[0], at=next(places, samples[0].at)))
        return replace(self, slow=slowest > SLOW_SECONDS, found_quick=slowest <= SLOW_SECONDS)

    def changed_on_disk(self) -> bool:
        """Whether its file is another one now, or is gone."""
        if self.path is None:
            return False
        try:
            return self.path.stat().st_mtime_ns != self.modified_ns and version_of(self.path) != self.version
        except OSError:
            return True

    @cached_property
    def outline(self) -> tuple[object, ...]:
        """What two policies of one city have in common."""
        units = tuple((one.unit_id, one.station_id, one.kind) for one in self.plan.units)
        stations = frozenset((one.station_id, one.node_id) for one in self.city.stations)
        demand = frozenset((point.node_id, point.type) for point in self.city.demand)
        return units, stations, demand


def _seconds(plan: Plan, situation: Situation) -> float:
    """What an answer takes of this thread: what others do on the machine does not make a policy slow."""
    start = thread_time()
    plan.decide(situation).document()
    return thread_time() - start


def load_policy(path: Path, *, name: str | None = None) -> LoadedPolicy:
    """The policy of a file, with the version of its bytes."""
    if not path.is_file():
        load(path)  # it says what is wrong; a pipe would wait for somebody who writes to it
    name = path.stem if name is None else name
    if not name.isprintable() or "/" in name or name in (".", ".."):  # it becomes part of addresses and of the log
        raise InputError(f"{path}: expected a name of letters without /, got {name!r:.80}")
    version, modified_ns = version_of(path), path.stat().st_mtime_ns
    plan = load(path)
    if version_of(path) != version:
        raise PolicyFileError(f"{path}: it changed while it was read: write it under another name and rename it")
    if plan.ground is None:
        raise PolicyFileError(f"{path}: it holds no city: solve it again with this version")
    return LoadedPolicy(
        name=name, version=version, path=path, plan=plan.with_roster(), loaded_at=datetime.now(UTC),
        modified_ns=modified_ns,
    )  # fmt: skip


def version_of(path: Path) -> str:
    """The version of a file: the first digits of its SHA-256."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()[:VERSION_DIGITS]


def closest_first_of(policy: LoadedPolicy) -> LoadedPolicy:
    """Closest-first beside a policy: the same city, the same tables of driving times."""
    plan = policy.plan.with_policies(lambda own: quick_closest_first(own.problem))
    return replace(policy, name=CLOSEST_FIRST, version=_closest_version(policy), path=None, plan=plan, slow=True)


def _closest_version(policy: LoadedPolicy) -> str:
    """The version of closest-first beside a policy: another one than that of the policy, which decides otherwise."""
    return sha256(f"{CLOSEST_FIRST} {policy.version}".encode()).hexdigest()[:VERSION_DIGITS]


def _check_name(policy: LoadedPolicy) -> None:
    """Raise a PolicyFileError about a policy that would take the name of the fallback."""
    if policy.name == CLOSEST_FIRST and policy.method != CLOSEST_FIRST:
        raise PolicyFileError(f"{policy.path}: expected another name for {policy.method} than {CLOSEST_FIRST}")


def check_clock(policy: LoadedPolicy, settings: ServiceSettings) -> None:
    """Raise an InputError about a policy with periods where nobody said what the clock of the city is."""
    if policy.periods and settings.time_zone is None:
        raise InputError(
            f"{policy.path or policy.name}: it has periods of the week, expected the clock of the city: "
            "--time-zone America/Los_Angeles, or that of your city; the clock of this machine may be another one"
        )


class PolicyStore:
    """The loaded policies by name, and which one answers."""

    def __init__(self, serving: LoadedPolicy) -> None:
        _check_name(serving)
        self.serving = serving
        self.by_name: Mapping[str, LoadedPolicy] = {serving.name: serving}
        """Every policy: in the order of their loading, closest-first among them."""
        self._add_closest_first()

    def _add_closest_first(self) -> None:
        """Add closest-first with the tables of the policy that answers, unless a file has that name."""
        known = self.by_name.get(CLOSEST_FIRST)
        if known is None or (known.path is None and known.version != _closest_version(self.serving)):
            self.by_name = {**self.by_name, CLOSEST_FIRST: closest_first_of(self.serving)}

    def get(self, name: str | None) -> LoadedPolicy:
        """The policy of that name; the one that answers if none is named."""
        if name is None:
            return self.serving
        found = self.by_name.get(name)
        if found is None:
            names = list(self.by_name)
            raise InputError(
                f"policy: expected one that is loaded ({', '.join(names)}), got {name!r}{near(name, names)}"
            )
        return found

    def check(self, policy: LoadedPolicy) -> None:
        """Raise a PolicyFileError about a policy of another city, or one that calls itself closest-first and is not."""
        _check_name(policy)
        for mine, other, what in zip(
            self.serving.outline, policy.outline, ("units", "stations", "demand points"), strict=True
        ):
            if mine != other:
                raise PolicyFileError(
                    f"{policy.path}: expected the city that is served, {self.serving.city.name}, got other {what}"
                )

    def add(self, policy: LoadedPolicy, *, serve: bool) -> None:
        """Hold a policy, in place of one of the same name, and let it answer if that is wanted, or if its name did."""
        self.check(policy)
        by_name = {**self.by_name, policy.name: policy}
        serving = policy if serve or policy.name == self.serving.name else self.serving
        self.by_name, self.serving = by_name, serving  # one step of the event loop: no request sees half of it
        self._add_closest_first()

    def mark(self, policy: LoadedPolicy, *, slow: bool) -> None:
        """Hold a policy as one that may take long, or does not, unless another one has taken its place."""
        if self.by_name.get(policy.name) is policy:
            marked = replace(policy, slow=slow)
            self.by_name = {**self.by_name, policy.name: marked}
            self.serving = marked if self.serving is policy else self.serving

    def forget(self, name: str) -> None:
        """Forget a policy that does not answer."""
        self.by_name = {one: policy for one, policy in self.by_name.items() if one != name}
        self._add_closest_first()


class Swap(BaseModel):
    """That a policy answers in place of the one that the service was started with."""

    started_with: str
    started_version: str
    file: str
    name: str
    version: str


def swap_file_of(board: Path | None) -> Path | None:
    """The file that keeps a swap; none where the board is not kept either."""
    return None if board is None else board.with_name(f"{board.name.removesuffix('.json')}.policy.json")


def save_swap(path: Path, started_with: LoadedPolicy, policy: LoadedPolicy) -> None:
    """Keep that a policy answers in place of the one that the service was started with."""
    assert started_with.path is not None
    assert policy.path is not None
    swap = Swap(
        started_with=str(started_with.path.resolve()), started_version=started_with.version,
        file=policy.path.name, name=policy.name, version=policy.version,
    )  # fmt: skip
    write_whole(path, (swap.model_dump_json(indent=1) + "\n").encode())


def restore_swap(path: Path, store: PolicyStore) -> None:
    """Let the policy answer that did before the restart; say loudly if that cannot be."""
    started = store.serving
    assert started.path is not None
    if not path.exists():
        return
    try:
        kept = Swap.model_validate_json(path.read_bytes())
    except ValueError as error:
        raise InputError(
            f"{path}: expected the policy that a service kept; remove it to begin with the first file"
        ) from error
    if kept.file == started.path.name:
        return
    if (kept.started_with, kept.started_version) != (str(started.path.resolve()), started.version):
        _log.warning("%s was swapped in before, but the service is started with another file by now", kept.file)
        return
    try:
        policy = load_policy(started.path.resolve().parent / Path(kept.file).name, name=kept.name).warm_up()
        store.add(policy, serve=True)
    except (RuncardError, OSError) as error:
        _log.error("%s ANSWERS AGAIN, not %s, which was swapped in: %s", started.path.name, kept.file, error)
        return
    changed = "" if policy.version == kept.version else f", in version {policy.version} by now"
    _log.warning("%s answers, not %s: it was swapped in before the restart%s", kept.file, started.path.name, changed)
