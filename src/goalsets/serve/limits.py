"""Upper bounds that keep a server small whatever its clients do."""

from __future__ import annotations

from dataclasses import dataclass, fields

from goalsets.core import GoalsetsError


@dataclass(frozen=True)
class Limits:
    """Bounds on sizes, numbers and times."""

    body_bytes: int = 2**21
    """Largest body of a request; enough for 1,024 states of 28 coordinates and their goals."""
    message_bytes: int = 2**16
    """Largest message of a session."""
    batch_rows: int = 1024
    """Most states in one request."""
    waiting_batches: int = 16
    """Most batches that wait, and large bodies that are read at a time; one more is refused."""
    requests: int = 64
    """Most requests in progress."""
    sessions: int = 64
    """Most sessions open."""
    connections: int = 256
    """Most connections of any kind; connections far beyond this are dropped at once."""
    header_seconds: float = 5.0
    """Seconds for a connection to send the head of its request."""
    body_seconds: float = 10.0
    """Seconds for a request's body to arrive."""
    answer_seconds: float = 30.0
    """Seconds to answer a request that has arrived, including the wait among batches."""
    send_seconds: float = 5.0
    """Seconds for a client to read what it was sent, before it is dropped."""
    ping_seconds: float = 5.0
    """Seconds between pings to a session's client; without an answer by the next, it is dropped."""
    idle_seconds: float = 300.0
    """Seconds without a message after which a session is closed."""
    errors_in_a_row: int = 10
    """A session is closed after this many messages in a row that could not be answered."""
    drain_seconds: float = 10.0
    """Seconds for sessions to finish after SIGTERM."""

    def __post_init__(self) -> None:
        """Refuse bounds that are not positive."""
        for bound in fields(self):
            value = getattr(self, bound.name)
            if not value > 0:
                raise GoalsetsError(f"{bound.name} must be above 0, got {value}.")
