"""A small client: `act` over HTTP, and control loops over a WebSocket.

It needs numpy, and for sessions the library `websockets`. It needs neither torch nor the server's
libraries.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

import numpy as np
from numpy.typing import ArrayLike

from goalsets.core import GoalsetsError, StateLayout, layout_from_dict
from goalsets.serve.client_plan import ClientPlan, ClientStep, read_plan
from goalsets.serve.client_session import ClientSession
from goalsets.serve.client_words import (
    LARGEST,
    ClientError,
    Floats,
    Goal,
    Tolerances,
    expected,
    plain,
    plain_goal,
    read_answer,
    unreachable,
)

__all__ = ["Checked", "Client", "ClientError", "ClientPlan", "ClientSession", "ClientStep"]


class Checked(NamedTuple):
    """Whether states lie in a goal set, and how far each requirement is from satisfied."""

    contains: Any
    """A bool, or a list for many states."""
    terms: list[dict[str, Any]]
    """Each with its name, distance, tolerance, and whether it is satisfied."""


class Client(AbstractContextManager):
    """Asks a policy server.

    Args:
        url: Such as `http://127.0.0.1:8000`.
        model: The name of the model; optional if the server has only one.
        token: The server's token, if it needs one.
        timeout: Seconds to wait for an answer.
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8000",
        model: str | None = None,
        token: str | None = None,
        timeout: float = 10.0,
    ) -> None:
        """Connect later, at the first request."""
        self._url = urlsplit(url)
        if self._url.scheme not in ("http", "https") or not self._url.hostname:
            raise GoalsetsError(f"expected a URL such as http://127.0.0.1:8000, got {url!r}.")
        self._model, self._timeout = model, timeout
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._connection: http.client.HTTPConnection | None = None

    def models(self) -> list[dict[str, Any]]:
        """Every model of the server."""
        with expected("list of models"):
            return self._call("GET", "/v1/models")["models"]

    def model(self, name: str | None = None) -> dict[str, Any]:
        """One model: its layout, the questions it takes, and its card."""
        wanted = name or self._model
        return self._call("GET", "/v1/model" + (f"?name={quote(wanted)}" if wanted else ""))

    def layout(self) -> StateLayout:
        """The layout of the model's states."""
        with expected("layout"):
            return layout_from_dict(self.model()["layout"])

    def act(self, observation: ArrayLike, goal: Goal, query: str) -> Floats:
        """Choose actions like `Policy.act`: `[A]` for one state, `[B, A]` for many."""
        asked = {"observation": plain(observation)}
        answer = self._ask("/v1/act", asked, goal, query)
        with expected("action"):
            return np.asarray(answer["action"], dtype=np.float32)

    def distance(self, observation: ArrayLike, goal: Goal, query: str) -> Floats:
        """Predict how far the goal set is, like `Policy.distance`."""
        asked = {"observation": plain(observation), "distance": True}
        answer = self._ask("/v1/act", asked, goal, query)
        with expected("distance"):
            return np.asarray(answer["distance"], dtype=np.float32)

    def check(
        self,
        state: ArrayLike,
        goal: Goal,
        query: str,
        tolerances: Tolerances | None = None,
    ) -> Checked:
        """Check whether states lie in a goal set, and which requirements do not hold."""
        asked = {"state": plain(state), "tolerances": dict(tolerances) if tolerances else None}
        answer = self._ask("/v1/check", asked, goal, query)
        with expected("check"):
            return Checked(answer["contains"], answer["terms"])

    def plan(
        self,
        observation: ArrayLike,
        goal: Goal,
        query: str,
        tolerances: Tolerances | None = None,
    ) -> ClientPlan:
        """Ask for a plan: the questions that lead from a state to a goal set."""
        asked = {
            "observation": plain(observation),
            "tolerances": dict(tolerances) if tolerances else None,
        }
        answer = self._ask("/v1/plan", asked, goal, query)
        with expected("plan"):
            return read_plan(answer["plan"])

    def session(
        self,
        goal: Goal,
        query: str,
        tolerances: Tolerances | None = None,
        distance: bool = False,
        plan: bool = False,
    ) -> ClientSession:
        """Open a control loop; close it, or use it in a `with` block.

        Args:
            goal: A full state, or groups by name.
            query: Which coordinates define success.
            tolerances: Tolerances that replace those of the query and the layout.
            distance: Whether to predict the distance, too.
            plan: Whether to ask one part after another, by a plan.
        """
        scheme = "wss" if self._url.scheme == "https" else "ws"
        session = ClientSession(
            f"{scheme}://{self._url.netloc}/v1/session", self._headers, self._timeout
        )
        try:
            session.ask(
                goal, query, tolerances, distance=distance, model=self._model, plan=plan or None
            )
        except BaseException:
            session.close()
            raise
        return session

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __exit__(self, *_: object) -> None:
        """Close the connection."""
        self.close()

    def _ask(self, path: str, asked: Mapping[str, Any], goal: Goal, query: str) -> dict[str, Any]:
        whole = {**asked, "model": self._model, "goal": plain_goal(goal), "query": query}
        return self._call("POST", path, json.dumps(whole))

    def _call(self, method: str, path: str, body: str | None = None) -> dict[str, Any]:
        headers = {**self._headers, "Content-Type": "application/json"}
        fresh = self._connection is None
        try:
            status, text = self._exchange(method, path, body, headers)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            # The server may have closed an idle connection; every request may be repeated.
            if fresh or isinstance(error, TimeoutError):
                raise unreachable(self._url.geturl(), error) from error
            return self._call(method, path, body)
        return read_answer(status, text)

    def _exchange(
        self, method: str, path: str, body: str | None, headers: Mapping[str, str]
    ) -> tuple[int, bytes]:
        if self._connection is None:
            secure = self._url.scheme == "https"
            kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
            host, port = self._url.hostname, self._url.port
            assert host is not None
            self._connection = kind(host, port, timeout=self._timeout)
        self._connection.request(method, path, body, dict(headers))
        response = self._connection.getresponse()
        content = response.read(LARGEST + 1)
        if len(content) > LARGEST:
            self.close()
            raise ClientError("unexpected", f"the server's answer has more than {LARGEST:,} bytes.")
        return response.status, content
