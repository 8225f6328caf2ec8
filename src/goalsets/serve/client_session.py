"""A control loop of the client, over a WebSocket."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from goalsets.core.door import parse_json
from goalsets.core.extras import needed_by
from goalsets.serve.client_plan import ClientPlan, read_plan
from goalsets.serve.client_words import (
    ClientError,
    Floats,
    Goal,
    Tolerances,
    plain,
    plain_goal,
    read_answer,
    unreachable,
)


class ClientSession(AbstractContextManager):
    """A control loop: set a goal and a query, stream observations, change the question at will."""

    def __init__(self, url: str, headers: Mapping[str, str], timeout: float) -> None:
        """Connect; `Client.session` is the way to make one."""
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
        """The question, as the server understood it."""
        self.doubts: list[str] = []
        """What the server thinks one should know about it."""
        self.reached: bool | None = None
        """Whether the last observation lies in the goal set; None where that cannot be judged."""
        self.distance: float | None = None
        """The predicted distance at the last observation, where it was asked for."""
        self.plan: ClientPlan | None = None
        """The plan that is followed; None before the first action, and where none was asked for."""
        self.plan_changed = False
        """Whether the last answer brought news of it: it was made, made anew, or a step is done."""
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
        """Ask, or change what is asked; what is left out stays as it was.

        Args:
            goal: A whole state, or groups by name.
            query: Which coordinates define success.
            tolerances: Over those of the query and the layout.
            distance: Whether to predict the distance, too.
            model: Which model, where the server has several.
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
        self.query, self.doubts = answer["query"], answer["doubts"]
        self.reached = self.distance = self.plan = None
        self.plan_changed = False

    def act(self, observation: ArrayLike) -> Floats:
        """Tell what is observed, and get the action `[A]`; then see `reached` and the others."""
        answer = self._exchange({"type": "observe", "observation": plain(observation)})
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
                answer = parse_json(self._socket.recv(self._timeout), "the answer")
                if answer["type"] != "draining":
                    break
                self.draining = True
        except ConnectionClosed as error:
            why = error.rcvd.reason if error.rcvd else "the connection broke"
            raise ClientError("closed", f"the server ended the session: {why}.") from error
        except TimeoutError as error:
            # The answer may still come, and would be taken for that of the next question.
            self.close()
            raise ClientError(
                "timeout", f"no answer within {self._timeout:g} seconds; the session is closed."
            ) from error
        if answer["type"] == "error":
            raise ClientError(answer["error"]["code"], answer["error"]["message"])
        return answer
