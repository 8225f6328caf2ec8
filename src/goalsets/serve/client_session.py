"""A control loop of the client, over a WebSocket."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from goalsets.core.extras import needed_by
from goalsets.serve.client_plan import ClientPlan, read_plan
from goalsets.serve.client_words import (
    ClientError,
    Floats,
    Goal,
    Tolerances,
    expected,
    plain,
    plain_goal,
    read_answer,
    read_message,
    unreachable,
)


class ClientSession(AbstractContextManager):
    """A control loop: set a goal and a query, stream observations, change the question at will."""

    def __init__(self, url: str, headers: Mapping[str, str], timeout: float) -> None:
        """Connect; use `Client.session` to make a session."""
        with needed_by("a session", "client"):
            from websockets.exceptions import InvalidStatus, WebSocketException
            from websockets.sync.client import connect
        self._timeout = timeout
        self._failures = (WebSocketException, OSError)
        try:
            self._socket = connect(
                url,
                additional_headers=dict(headers),
                compression=None,
                open_timeout=timeout,
                close_timeout=1.0,
                ping_interval=None,  # the server pings, and the library answers
                proxy=None,
            )
        except InvalidStatus as error:
            read_answer(error.response.status_code, error.response.body or b"")
            raise
        except self._failures as error:
            raise unreachable(url, error) from error
        self.query = ""
        """The query, as the server understood it."""
        self.doubts: list[str] = []
        """The server's warnings about the question."""
        self.reached: bool | None = None
        """Whether the last observation lies in the goal set; None if that cannot be judged."""
        self.distance: float | None = None
        """The predicted distance at the last observation, if it was requested."""
        self.plan: ClientPlan | None = None
        """The current plan; None before the first action, and if no plan was requested."""
        self.plan_changed = False
        """Whether the last answer changed the plan: a new plan, or a step that is done."""
        self.draining = False
        """Whether the server has announced its end."""

    def ask(
        self,
        goal: Goal | None = None,
        query: str | None = None,
        tolerances: Tolerances | None = None,
        *,
        distance: bool | None = None,
        model: str | None = None,
        plan: bool | None = None,
    ) -> None:
        """Ask a question, or change parts of it; other parts stay as they were.

        Args:
            goal: A full state, or groups by name.
            query: Which coordinates define success.
            tolerances: Tolerances that replace those of the query and the layout.
            distance: Whether to predict the distance, too.
            model: The name of the model; optional if the server has only one.
            plan: Whether to ask one part after another, by a plan.
        """
        message: dict[str, Any] = {"type": "ask"}
        if goal is not None:
            message["goal"] = plain_goal(goal)
        if tolerances is not None:
            message["tolerances"] = dict(tolerances)
        given = {"query": query, "distance": distance, "model": model, "plan": plan}
        message.update({name: value for name, value in given.items() if value is not None})
        answer = self._exchange(message)
        with expected("asked question"):
            self.query, self.doubts = answer["query"], answer["doubts"]
        self.reached = self.distance = self.plan = None
        self.plan_changed = False

    def act(self, observation: ArrayLike) -> Floats:
        """Send an observation, and get the action `[A]`; this also updates `reached` and so on."""
        answer = self._exchange({"type": "observe", "observation": plain(observation)})
        with expected("action"):
            self.reached, self.distance = answer["reached"], answer.get("distance")
            self.plan_changed = "plan" in answer
            if self.plan_changed:
                self.plan = read_plan(answer["plan"])
            return np.asarray(answer["action"], dtype=np.float32)

    def close(self) -> None:
        """End the session."""
        self._socket.close()

    def __exit__(self, *_: object) -> None:
        """End the session."""
        self.close()

    def _exchange(self, message: Mapping[str, Any]) -> dict[str, Any]:
        from websockets.exceptions import ConnectionClosed

        try:
            self._socket.send(json.dumps(message))
            while True:
                answer = read_message(self._socket.recv(self._timeout))
                if answer["type"] != "draining":
                    break
                self.draining = True
        except ConnectionClosed as error:
            why = error.rcvd.reason if error.rcvd else "the connection broke"
            raise ClientError("closed", f"the server ended the session: {why}.") from error
        except TimeoutError as error:
            # The answer may still arrive, and would be taken for the next one.
            self.close()
            raise ClientError(
                "timeout", f"no answer within {self._timeout:g} seconds; the session is closed."
            ) from error
        return answer
