"""The policies that the service holds: loaded files by name, one of which answers.

A file is loaded beside what is served and takes its place in one assignment, so that every request sees either the old
policy or the new one, whole. Its version is the first 12 hex digits of the SHA-256 of the file. A file of another city
is refused: other units, stations or demand points would give answers about what is not there.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from time import thread_time
from typing import Final

from runcard.city.conditions import near
from runcard.city.model import City
from runcard.city.periods import Period, hour_of_week
from runcard.errors import InputError, PolicyFileError
from runcard.plan.file import load
from runcard.plan.plan import Plan
from runcard.policy.closest_first import quick_closest_first
from runcard.service.desk import Desk
from runcard.service.settings import ServiceSettings

CLOSEST_FIRST: Final = "closest-first"
VERSION_DIGITS: Final = 12
SLOW_SECONDS: Final = 0.003


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
    desks: Mapping[str | None, Desk]
    """What answers in each period; under None if it is for every hour."""
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
    def city(self) -> City:
        """The city that it was made for."""
        assert self.plan.ground is not None  # checked when it was loaded
        return self.plan.ground.city

    @cached_property
    def method(self) -> str:
        """The name of the method, such as optimal."""
        return self.plan.name

    def desk_at(self, period: str | None, time: datetime | None) -> tuple[str | None, Desk]:
        """The period that is meant, or that of a time by the clock of the city, and what answers then."""
        if not self.plan.knows_hour:
            if period is not None:
                raise InputError(f"period: policy {self.name} is for every hour, expected none, got {period!r}")
            return None, self.desks[None]
        if period is None:
            assert time is not None
            period = self.plan.period_at(hour_of_week(time)).name
        self.plan.in_period(period)  # it refuses what is no period
        return period, self.desks[period]

    def warm_up(self) -> "LoadedPolicy":
        """The same, known to be slow or not: some answers are found, which also compiles what they need."""
        slowest = 0.0
        for desk in self.desks.values():
            desk.warm_up()
            for sample in desk.samples():
                slowest = max(slowest, min(_seconds(desk, *sample) for _ in range(3)))
        next(iter(self.desks.values())).try_address()
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


def _seconds(desk: Desk, area: str, incident_type: str, row: int | None) -> float:
    """What an answer takes of this thread: what others do on the machine does not make a policy slow."""
    start = thread_time()
    desk.decide(desk.unit_ids, area, incident_type, incident_class=row).document()
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
    plan = plan.with_roster()
    return LoadedPolicy(
        name=name, version=version, path=path, plan=plan, desks=_desks_of(plan),
        loaded_at=datetime.now(UTC), modified_ns=modified_ns,
    )  # fmt: skip


def _desks_of(plan: Plan) -> Mapping[str | None, Desk]:
    return {name if plan.knows_hour else None: Desk(of_period) for name, of_period in plan.by_period.items()}


def version_of(path: Path) -> str:
    """The version of a file: the first digits of its SHA-256."""
    with path.open("rb") as file:
        digest = sha256()
        while part := file.read(1 << 20):
            digest.update(part)
    return digest.hexdigest()[:VERSION_DIGITS]


def closest_first_of(policy: LoadedPolicy) -> LoadedPolicy:
    """Closest-first beside a policy: the same city, the same tables of driving times."""

    plan = policy.plan.with_policies(lambda own: quick_closest_first(own.problem))
    return replace(
        policy, name=CLOSEST_FIRST, version=_closest_version(policy), path=None, plan=plan, desks=_desks_of(plan),
        slow=True,
    )  # fmt: skip


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
        self._by_name: dict[str, LoadedPolicy] = {serving.name: serving}
        self._add_closest_first()

    def _add_closest_first(self) -> None:
        """Add closest-first with the tables of the policy that answers, unless a file has that name."""
        known = self._by_name.get(CLOSEST_FIRST)
        if known is None or (known.path is None and known.version != _closest_version(self.serving)):
            self._by_name = {**self._by_name, CLOSEST_FIRST: closest_first_of(self.serving)}

    @property
    def by_name(self) -> Mapping[str, LoadedPolicy]:
        """Every policy: in the order of their loading, closest-first among them."""
        return self._by_name

    def get(self, name: str | None) -> LoadedPolicy:
        """The policy of that name; the one that answers if none is named."""
        if name is None:
            return self.serving
        found = self._by_name.get(name)
        if found is None:
            names = list(self._by_name)
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
        by_name = {**self._by_name, policy.name: policy}
        serving = policy if serve or policy.name == self.serving.name else self.serving
        self._by_name, self.serving = by_name, serving  # one step of the event loop: no request sees half of it
        self._add_closest_first()

    def mark(self, policy: LoadedPolicy, *, slow: bool) -> None:
        """Hold a policy as one that may take long, or does not, unless another one has taken its place."""
        if self._by_name.get(policy.name) is policy:
            marked = replace(policy, slow=slow)
            self._by_name = {**self._by_name, policy.name: marked}
            self.serving = marked if self.serving is policy else self.serving

    def forget(self, name: str) -> None:
        """Forget a policy that does not answer."""
        self._by_name = {one: policy for one, policy in self._by_name.items() if one != name}
        self._add_closest_first()
