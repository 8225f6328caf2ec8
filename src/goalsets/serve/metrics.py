"""Metrics for Prometheus: counters, gauges and one histogram.

The values of labels come from short fixed lists. Nothing that a client sends becomes a label,
because clients could then fill the memory.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import prometheus_client as prometheus
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4 as CONTENT_TYPE

__all__ = ["CONTENT_TYPE", "Metrics"]

_BUCKETS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5)
"""Upper bounds of the histogram in seconds; one action takes about a quarter of a millisecond."""

# All counters begin with the server, so their own creation times are not needed.
prometheus.disable_created_metrics()


class Metrics:
    """Counts what happens."""

    def __init__(self) -> None:
        """Start from zero."""
        # Not the library's own registry, which all servers of a process would share.
        self._registry = prometheus.CollectorRegistry()
        prometheus.ProcessCollector(registry=self._registry)
        requests = self._counter("goalsets_requests", "Requests answered.", "endpoint", "status")
        actions = self._counter("goalsets_actions", "Actions chosen.", "model", "via")
        messages = self._counter("goalsets_session_messages", "Messages of sessions.", "outcome")
        closed = self._counter("goalsets_sessions_closed", "Sessions that ended.", "code")
        times = prometheus.Histogram(
            "goalsets_act_seconds",
            "Time to choose.",
            ("model", "via"),
            buckets=_BUCKETS,
            registry=self._registry,
        )
        # Finding a series by its labels takes longer than counting, so each is found once.
        self._requests = functools.cache(requests.labels)
        self._actions = functools.cache(actions.labels)
        self._messages = functools.cache(messages.labels)
        self._closed = functools.cache(closed.labels)
        self._times = functools.cache(times.labels)

    def _counter(self, name: str, what: str, *labels: str) -> prometheus.Counter:
        return prometheus.Counter(name, what, labels, registry=self._registry)

    def add_gauge(self, name: str, what: str, read: Callable[[], float]) -> None:
        """Add a number that is read when the metrics are requested."""
        prometheus.Gauge(name, what, registry=self._registry).set_function(read)

    def count_request(self, endpoint: str, status: int) -> None:
        """A request was answered."""
        self._requests(endpoint, status).inc()

    def count_actions(self, model: str, via: str, rows: int, seconds: float) -> None:
        """`rows` actions were chosen together, in `seconds`."""
        self._actions(model, via).inc(rows)
        self._times(model, via).observe(seconds)

    def count_message(self, outcome: str) -> None:
        """A session's message was answered, or refused."""
        self._messages(outcome).inc()

    def count_closed(self, code: int) -> None:
        """A session ended."""
        self._closed(code).inc()

    def text(self) -> str:
        """Everything, in Prometheus' text format."""
        return prometheus.generate_latest(self._registry).decode()
