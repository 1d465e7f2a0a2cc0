"""Prometheus metrics: how many answers, how long they took, and how many the fallback gave."""

from collections.abc import Mapping
from typing import Any, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

BUCKETS: Final = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)


class Metrics:
    """The metrics of one service, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        made: dict[str, Any] = {"registry": self.registry}
        self._seconds = Histogram(
            "runcard_request_seconds", "Seconds from request to answer.", ["method", "path"], buckets=BUCKETS, **made
        )
        self._requests = Counter("runcard_requests", "Requests by status.", ["method", "path", "status"], **made)
        self._decisions = Counter(
            "runcard_decisions", "Decisions by who answered.", ["policy", "answered_by", "fallback"], **made
        )
        self.deciding = Histogram("runcard_decide_seconds", "Seconds that a decision took.", buckets=BUCKETS, **made)
        self.recording = Histogram(
            "runcard_audit_seconds", "Seconds until the record was durable.", buckets=BUCKETS, **made
        )
        self.board_version = Gauge("runcard_board_version", "The version of the status board.", **made)
        self.units = Gauge("runcard_units", "Units by what they do.", ["status"], **made)
        self.listeners = Gauge("runcard_board_listeners", "Who listens to the board.", **made)
        self.waiting = Gauge("runcard_slow_answers", "Slow answers that are computed or wait.", **made)
        self.policy = Gauge("runcard_policy_serving", "1 for the policy that answers.", ["name", "version"], **made)
        self._known: dict[tuple[str, ...], Any] = {}

    def _child(self, metric: Any, *labels: str) -> Any:
        """The metric with labels; looked up once, because that takes longest."""
        key = (metric._name, *labels)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = metric.labels(*labels)
        return found

    def answered(self, scope: Mapping[str, Any], status: int, seconds: float) -> None:
        """Note a request. Its path is that of the route: what clients make up does not become a metric."""
        path = getattr(scope.get("route"), "path_format", "other")
        method = scope["method"] if path != "other" else "other"
        self._child(self._requests, method, path, str(status)).inc()
        self._child(self._seconds, method, path).observe(seconds)

    def decided(self, answer: Mapping[str, Any]) -> None:
        """Note a decision."""
        fallback = "yes" if answer["fallback"] else "no"
        self._child(self._decisions, answer["policy"]["name"], answer["answered_by"], fallback).inc()

    def text(self) -> bytes:
        """All of them, as Prometheus reads them."""
        return generate_latest(self.registry)
