"""How much of everything there may be: what keeps a server small whatever its clients do."""

from __future__ import annotations

from dataclasses import dataclass, fields

from goalsets.core import GoalsetsError


@dataclass(frozen=True)
class Limits:
    """Bounds on sizes, numbers and times."""

    body_bytes: int = 2**21
    """Largest body of a request; 1,024 states of 28 coordinates and their goals fit."""
    message_bytes: int = 2**16
    """Largest message of a session."""
    batch_rows: int = 1024
    """Most states in one request."""
    waiting_batches: int = 16
    """Most batches that wait for their turn, and most bodies longer than a session's message that
    are read; one more is answered 503 at once."""
    requests: int = 64
    """Most requests under way."""
    sessions: int = 64
    """Most sessions open."""
    connections: int = 256
    """Most connections of any kind; far more are dropped as they come."""
    header_seconds: float = 5.0
    """Time for a connection to state its request."""
    body_seconds: float = 10.0
    """Time for a request's body to arrive."""
    answer_seconds: float = 30.0
    """Time to answer a request that has arrived, its turn among the batches included."""
    send_seconds: float = 5.0
    """Time for a client to take what it was sent, before it is dropped."""
    ping_seconds: float = 5.0
    """A session's client is pinged this often, and dropped if it stays silent as long again."""
    idle_seconds: float = 300.0
    """A session without a message for so long is closed."""
    errors_in_a_row: int = 10
    """A session is closed at this many messages in a row that could not be answered."""
    drain_seconds: float = 10.0
    """After SIGTERM, the time that sessions have to come to their own end."""

    def __post_init__(self) -> None:
        """Refuse bounds that let nothing through."""
        for bound in fields(self):
            value = getattr(self, bound.name)
            if not value > 0:
                raise GoalsetsError(f"{bound.name} must be above 0, got {value}.")
