"""Sessions: a control loop over a WebSocket.

The client sets a goal and a query once, streams observations, and may change the question at any
time:

    > {"type": "ask", "goal": [...], "query": "block0_pos"}
    < {"type": "asked", "model": "robot", "query": "block0_pos", "doubts": []}
    > {"type": "observe", "observation": [...], "id": 7}
    < {"type": "act", "action": [...], "reached": false, "id": 7}
    > {"type": "ask", "query": "eff_pos"}            the goal stays
    < {"type": "error", "error": {...}}              where a message cannot be answered

A question with `"plan": true` is asked one part after another. The answer to an observation then
includes the plan whenever it was made, made again, or a step was done.

An error changes neither the question nor the session: one bad reading of a sensor must not end an
episode. A message that does not follow this protocol ends the session with a reason.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from fastapi import WebSocket, WebSocketDisconnect
from numpy.typing import NDArray
from pydantic import ValidationError

from goalsets.core import GoalSet, GoalsetsError, Query
from goalsets.core.acting import Memory
from goalsets.serve import questions
from goalsets.serve.door import encode
from goalsets.serve.errors import ServeError, as_serve_error, error_body, explain, invalid
from goalsets.serve.models import Model
from goalsets.serve.plans import Course
from goalsets.serve.schema import SESSION_MESSAGE, Ask, Observe
from goalsets.serve.state import State

_CODES = frozenset((1000, 1001, 1002, 1003, 1005, 1006, 1007, 1008, 1009, 1011, 1012))
_LONGEST_REASON = 123
"""Bytes that fit into the closing frame of a WebSocket."""


class ProtocolError(Exception):
    """A message does not follow the protocol; the session ends with this code and reason."""

    def __init__(self, code: int, reason: str) -> None:
        """Keep code and reason."""
        super().__init__(reason)
        self.code = code


@dataclass(frozen=True)
class OpenQuestion:
    """The current question of a session; replaced as a whole, so that it is never half changed."""

    model: Model
    told: Any
    """The goal as it came."""
    goal: questions.Floats
    """`[D]`."""
    query: Query
    goals: GoalSet | None
    """Judges whether the goal is reached; None if a tolerance is not known."""
    distance: bool
    doubts: tuple[str, ...]
    memory: Memory | None
    """The memory of the policy since the question was asked."""
    course: Course | None = None
    """The progress along a plan; None if the question is asked at once."""

    def choose(self, state: questions.Floats) -> Chosen:
        """Choose an action in a state `[D]`."""
        start = time.perf_counter()
        plan = None
        if self.course is not None:
            action, plan = self.course.act(state)
        else:
            action = questions.choose(self.model, state, self.goal, self.query.mask, self.memory)
        far = None
        if self.distance:
            far = float(questions.predict(self.model, state, self.goal, self.query.mask))
        return Chosen(action, far, plan, time.perf_counter() - start)


class Chosen(NamedTuple):
    """An action that was chosen in a state."""

    action: NDArray[np.float32]
    """`[A]`."""
    distance: float | None
    plan: dict[str, Any] | None
    """The plan, if it has changed."""
    seconds: float
    """The time that it took."""


class ServerSession:
    """One client's control loop."""

    def __init__(self, socket: WebSocket, state: State) -> None:
        """No question has been asked yet."""
        self._socket, self._state = socket, state
        self._question: OpenQuestion | None = None
        self._errors = 0
        self._closing: asyncio.Task[None] | None = None
        self.last_message = time.monotonic()

    async def run(self) -> None:
        """Answer until one side ends the session."""
        code = 1006
        self._state.sessions.add(self)
        try:
            await self._socket.accept()
            code = await self._answer_all()
        except ProtocolError as error:
            code = error.code
            await self.close(error.code, str(error))
        except (WebSocketDisconnect, RuntimeError):
            pass  # Starlette raises this if the connection ended while we were sending
        finally:
            self._state.sessions.discard(self)
            self._state.metrics.count_closed(code if code in _CODES else 1000)

    async def _answer_all(self) -> int:
        """Answer all messages; return the code with which the client or `close` ended it."""
        while True:
            event = await self._socket.receive()
            if event["type"] == "websocket.disconnect":
                return event.get("code", 1006)
            self.last_message = time.monotonic()
            text = event.get("text")
            if text is None:
                raise ProtocolError(1003, "messages are JSON text, not bytes")
            await self._socket.send_text(encode(await self._answer(text)).decode("ascii"))
            if self._errors >= self._state.limits.errors_in_a_row:
                raise ProtocolError(1008, f"{self._errors} messages in a row had no answer")

    async def close(self, code: int, reason: str) -> None:
        """Close with a reason; the loop then sees the end of the connection."""
        short = reason.encode()[:_LONGEST_REASON].decode(errors="ignore")
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):
            await self._socket.close(code, short)

    def close_soon(self, code: int, reason: str) -> None:
        """Close without waiting for a client that may not be listening."""
        if self._closing is None:
            self._closing = asyncio.ensure_future(self.close(code, reason))

    async def announce_end(self, seconds: float) -> None:
        """Tell the client how long it has to finish."""
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):
            await self._socket.send_text(
                encode({"type": "draining", "seconds": seconds}).decode("ascii")
            )

    async def _answer(self, text: str) -> dict[str, Any]:
        message: Ask | Observe | None = None
        try:
            self._state.message_bounds.check(text.encode())
            message = _read(text)
            if isinstance(message, Observe):
                answer = await self._act(message)
            else:
                answer = self._ask(message)
        except GoalsetsError as error:
            self._errors += 1
            self._state.metrics.count_message("refused")
            answer = {"type": "error", **error_body(as_serve_error(error))}
        else:
            self._errors = 0
            self._state.metrics.count_message("answered")
        if isinstance(message, Observe) and message.id is not None:
            answer["id"] = message.id
        return answer

    async def _act(self, message: Observe) -> dict[str, Any]:
        question = self._question
        if question is None:
            raise ServeError(
                422, "no_question", 'ask first: {"type": "ask", "goal": […], "query": "…"}.'
            )
        model = question.model
        state = questions.read_states("observation", message.observation, model.layout)
        # A plan may take most of a second, and it is not known beforehand when one is made.
        found = (
            question.choose(state)
            if question.course is None
            else await self._state.plans.run(lambda: question.choose(state))
        )
        self._state.metrics.count_actions(model.name, "session", 1, found.seconds)
        answer: dict[str, Any] = {
            "type": "act",
            "action": found.action.tolist(),
            "reached": None,
        }
        if question.goals is not None:
            answer["reached"] = bool(question.goals.contains(state))
        if found.distance is not None:
            answer["distance"] = found.distance
        if found.plan is not None:
            answer["plan"] = found.plan
        return answer

    def _ask(self, message: Ask) -> dict[str, Any]:
        self._question = question = self._changed(message)
        return {
            "type": "asked",
            "model": question.model.name,
            "query": str(question.query),
            "doubts": list(question.doubts),
        }

    def _changed(self, message: Ask) -> OpenQuestion:
        """The question after a message; parts that the message leaves out stay."""
        old = self._question
        model = (
            old.model if old and message.model is None else self._state.models.find(message.model)
        )
        if old is not None and model is not old.model:
            old = None  # another model may have another layout: nothing carries over
        if old is None and (message.goal is None or message.query is None):
            raise invalid("a first question needs a goal and a query.")
        query = old.query if old and message.query is None else model.query(message.query or "")
        told = message.goal if message.goal is not None or old is None else old.told
        assert told is not None
        # Read the goal again under every new query: a goal by names may lack what it asks for.
        goal = questions.read_goal(told, query, model)
        questions.check_one_goal(goal)
        if message.tolerances:
            query = query.with_tolerances(message.tolerances)
        distance = message.distance if message.distance is not None else bool(old and old.distance)
        if distance:
            questions.check_distance(model)
        plan = message.plan if message.plan is not None else bool(old and old.course)
        doubts = questions.say_doubts(model, query)
        try:
            goals = GoalSet(goal, query)
        except GoalsetsError as error:
            if plan:
                raise invalid(f"a plan needs to know when a step is done: {error}") from None
            goals = None
            doubts = [*doubts, f"whether the goal is reached cannot be judged: {error}"]
        memory = model.policy.reset()
        course = Course(model, goals) if plan and goals is not None else None
        return OpenQuestion(
            model, told, goal, query, goals, distance, tuple(doubts), memory, course
        )


def _read(text: str) -> Ask | Observe:
    try:
        return SESSION_MESSAGE.validate_json(text)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
        if found[0]["type"] == "json_invalid":
            raise ProtocolError(1007, explain(found)) from None
        raise invalid(explain(found)) from None
