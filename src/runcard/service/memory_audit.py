"""The audit log in memory, for tests and trials: it is gone when the process ends."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from runcard.service.audit.log import MOST_REFERENCED, unknown
from runcard.service.audit.outcomes import checked_outcome

MOST_KEPT: Final = 100_000
"""The oldest are forgotten beyond this many."""


class MemoryAudit:
    """Decisions and outcomes of this process; the protocol is that of `audit`."""

    def __init__(self) -> None:
        self._decisions: dict[str, dict[str, Any]] = {}
        self.outcomes: dict[str, list[dict[str, Any]]] = {}

    async def record(self, decision: Mapping[str, Any], *, text: str | None = None) -> None:
        """Keep a decision."""
        self._decisions[decision["decision_id"]] = dict(decision) if text is None else json.loads(text)
        if len(self._decisions) > MOST_KEPT:
            oldest = next(iter(self._decisions))
            del self._decisions[oldest]
            self.outcomes.pop(oldest, None)

    async def outcome(
        self,
        decision_id: str,
        outcome: Mapping[str, Any],
        *,
        kinds: Mapping[str, str] | None = None,
        before: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        """Keep what was really done."""
        document = checked_outcome(outcome, kinds=kinds, before=before)
        if decision_id not in self._decisions:
            raise unknown(decision_id)
        self.outcomes.setdefault(decision_id, []).append(document | {"recorded": datetime.now(UTC).isoformat()})

    def decision(self, decision_id: str) -> dict[str, Any] | None:
        """A decision with its outcomes."""
        found = self._decisions.get(decision_id)
        return None if found is None else found | {"outcomes": list(self.outcomes.get(decision_id, ()))}

    def referenced(self, reference: str) -> list[dict[str, Any]]:
        """The latest decisions with a reference, the last one first."""
        found = [one for one in reversed(self._decisions.values()) if one.get("reference") == reference]
        return [one | {"outcomes": list(self.outcomes.get(one["decision_id"], ()))} for one in found[:MOST_REFERENCED]]

    def decisions(
        self, *, since: datetime | None = None, until: datetime | None = None, limit: int | None = None
    ) -> Iterator[dict[str, Any]]:
        """The decisions, the oldest first."""
        left = len(self._decisions) if limit is None else limit
        for one in list(self._decisions.values()):
            time = datetime.fromisoformat(one["time"])
            if left > 0 and (since is None or time >= since) and (until is None or time < until):
                left -= 1
                yield one | {"outcomes": list(self.outcomes.get(one["decision_id"], ()))}

    def check(self) -> None:
        """It can always be read."""

    def stop_reading(self) -> None:
        """It is read in no time."""

    def close(self) -> None:
        """Nothing is left to do."""
