"""The settings of the service, checked where they are made."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

from runcard.errors import InputError

LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
MOST_MS: Final = 60_000.0


@dataclass(frozen=True, kw_only=True)
class ServiceSettings:
    """What `runcard serve` was told; every limit has a value that is sound for one dispatch centre."""

    files: tuple[Path, ...]
    """Policy files: the first one answers, the others can be asked for by name."""
    fallback: Path | None = None
    """A policy file or run cards (.csv) that answer where the policy cannot in time; closest-first if left out."""
    audit: str | None = None
    """Where the audit log is (see `audit`); None keeps it in memory, for tests and trials only."""
    keys: Path | None = None
    """The file of API keys; None only on loopback."""
    board: Path | None = None
    """The file that keeps the status board over a restart; None: after a restart every unit must be told again."""
    host: str = "127.0.0.1"
    port: int = 8000
    limit_ms: float = 150.0
    """What a policy may take for one answer, before the fallback answers instead."""
    most_waiting: int = 16
    """At most so many slow answers are computed or wait at a time; beyond, the fallback answers at once."""
    body_bytes: int = 65_536
    """The longest body of a request."""
    body_seconds: float = 10.0
    """What a client may take to send a request."""
    requests_per_second: float = 5_000.0
    """Of each client; with keys a client is a key."""
    connections: int = 512
    streams: int = 64
    """At most so many listen to the board."""
    time_zone: str | None = None
    """The clock of the city; that of this machine if left out, which is refused where a policy has periods."""

    def __post_init__(self) -> None:
        if not self.files:
            raise InputError("expected a policy file to serve, got none")
        for name in ("limit_ms", "body_seconds", "requests_per_second"):
            if not getattr(self, name) > 0.0:
                raise InputError(f"expected {name} > 0, got {getattr(self, name):g}")
        if self.limit_ms > MOST_MS:
            raise InputError(f"expected limit_ms <= {MOST_MS:g}, got {self.limit_ms:g}")
        for name in ("most_waiting", "body_bytes", "connections", "streams"):
            if getattr(self, name) < 1:
                raise InputError(f"expected {name} >= 1, got {getattr(self, name)}")
        if not 0 <= self.port <= 65_535:
            raise InputError(f"expected a port from 0 to 65535, got {self.port}")
        if self.keys is None and self.host not in LOOPBACK:
            raise InputError(
                f"host {self.host}: expected a file of API keys (--keys) before the service is open to other machines; "
                "without keys it serves this machine only (127.0.0.1)"
            )
        _ = self.zone  # it refuses what is none

    @cached_property
    def zone(self) -> ZoneInfo | None:
        """The time zone of the city; None for that of this machine."""
        try:
            return None if self.time_zone is None else ZoneInfo(self.time_zone)
        except (ValueError, OSError, KeyError) as error:
            raise InputError(f"expected a time zone such as America/Los_Angeles, got {self.time_zone!r}") from error
