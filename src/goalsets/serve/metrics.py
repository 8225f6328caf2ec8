"""What Prometheus reads: counters, gauges and one histogram, in its text format.

The names of labels are ours and the values come from short fixed lists: nothing that a client
sends becomes a label, or strangers could fill the memory with them.
"""

from __future__ import annotations

import resource
import sys
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5)
"""Upper bounds in seconds, around the quarter of a millisecond that one action takes."""

Labels = tuple[tuple[str, str], ...]


class Metrics:
    """Counts what happens. Everything here runs in the event loop's thread."""

    def __init__(self) -> None:
        """Start from zero."""
        self._started = time.time()
        self._requests: Counter[Labels] = Counter()
        self._actions: Counter[Labels] = Counter()
        self._session_messages: Counter[Labels] = Counter()
        self._sessions_closed: Counter[Labels] = Counter()
        self._histograms: dict[Labels, list[float]] = {}
        self.gauges: dict[str, tuple[str, Callable[[], float]]] = {}
        """By name: what it is, and how to read it."""

    def count_request(self, endpoint: str, status: int) -> None:
        """A request was answered."""
        self._requests[("endpoint", endpoint), ("status", str(status))] += 1

    def count_actions(self, model: str, via: str, rows: int, seconds: float) -> None:
        """Actions were chosen together, in so much time."""
        labels = (("model", model), ("via", via))
        self._actions[labels] += rows
        # One count for each bucket, one for what is slower than all, then the sum.
        found = self._histograms.setdefault(labels, [0.0] * (len(_BUCKETS) + 2))
        found[bisect_left(_BUCKETS, seconds)] += 1
        found[-1] += seconds

    def count_message(self, outcome: str) -> None:
        """A session's message was answered, or refused."""
        self._session_messages[(("outcome", outcome),)] += 1

    def count_closed(self, code: int) -> None:
        """A session ended."""
        self._sessions_closed[(("code", str(code)),)] += 1

    def text(self) -> str:
        """Everything, in Prometheus' text format."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        yield from _counter("goalsets_requests_total", "Requests answered.", self._requests)
        yield from _counter("goalsets_actions_total", "Actions chosen.", self._actions)
        yield from _counter(
            "goalsets_session_messages_total", "Messages of sessions.", self._session_messages
        )
        yield from _counter(
            "goalsets_sessions_closed_total", "Sessions that ended.", self._sessions_closed
        )
        yield from _histogram("goalsets_act_seconds", "Time to choose.", self._histograms)
        for name, (what, read) in self.gauges.items():
            yield from (f"# HELP {name} {what}", f"# TYPE {name} gauge", f"{name} {read():g}")
        yield from _gauge("process_start_time_seconds", "Unix time.", self._started)
        yield from _gauge("process_resident_memory_bytes", "Memory now.", resident_bytes())


def resident_bytes() -> float:
    """The memory that this process occupies."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 - read often
            return float(file.read().split()[1]) * resource.getpagesize()
    except OSError:  # not Linux: the most there ever was
        largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return float(largest) * (1 if sys.platform == "darwin" else 1024)


def _counter(name: str, what: str, counts: Mapping[Labels, float]) -> Iterator[str]:
    yield f"# HELP {name} {what}"
    yield f"# TYPE {name} counter"
    for labels, count in counts.items():
        yield f"{name}{_labels(labels)} {count}"


def _gauge(name: str, what: str, value: float) -> Iterator[str]:
    yield from (f"# HELP {name} {what}", f"# TYPE {name} gauge", f"{name} {value!r}")


def _histogram(name: str, what: str, found: Mapping[Labels, list[float]]) -> Iterator[str]:
    yield f"# HELP {name} {what}"
    yield f"# TYPE {name} histogram"
    for labels, counts in found.items():
        total = 0.0
        for bound, count in zip((*_BUCKETS, float("inf")), counts[:-1], strict=True):
            total += count
            shown = "+Inf" if bound == float("inf") else f"{bound:g}"
            yield f"{name}_bucket{_labels((*labels, ('le', shown)))} {total:.0f}"
        yield f"{name}_sum{_labels(labels)} {counts[-1]!r}"
        yield f"{name}_count{_labels(labels)} {total:.0f}"


def _labels(labels: Labels) -> str:
    return "{" + ",".join(f'{name}="{value}"' for name, value in labels) + "}"
