"""A small client: `act` over HTTP, and control loops over a WebSocket.

It needs numpy, and for sessions the library `websockets`; neither torch nor the server's own.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, urlsplit

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalsets.core import GoalsetsError, StateLayout, layout_from_dict

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

Floats = NDArray[np.float32]
Goal = ArrayLike | Mapping[str, ArrayLike]
"""Whole states, or groups by name."""


class ClientError(GoalsetsError):
    """The server refused, or cannot be reached; `code` says which, for programs."""

    def __init__(self, code: str, message: str, status: int | None = None) -> None:
        """Take what the server said."""
        super().__init__(message)
        self.code, self.status = code, status


class Checked(NamedTuple):
    """Whether states lie in a goal set, and how each requirement stands."""

    contains: Any
    """A bool, or a list for many states."""
    terms: list[dict[str, Any]]
    """Each with its name, distance, tolerance, and whether it is satisfied."""


class Client:
    """Asks a policy server.

    Args:
        url: Such as `http://127.0.0.1:8000`.
        model: Which model, where the server has several.
        token: Where the server needs one.
        timeout: Seconds to wait for an answer.
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8000",
        model: str | None = None,
        token: str | None = None,
        timeout: float = 10.0,
    ) -> None:
        """Connect only when something is asked."""
        self._url = urlsplit(url)
        if self._url.scheme not in ("http", "https") or not self._url.hostname:
            raise GoalsetsError(f"expected a URL such as http://127.0.0.1:8000, got {url!r}.")
        self._model, self._timeout = model, timeout
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._connection: http.client.HTTPConnection | None = None

    def models(self) -> list[dict[str, Any]]:
        """Every model of the server."""
        return self._call("GET", "/v1/models")["models"]

    def model(self, name: str | None = None) -> dict[str, Any]:
        """One model: its layout, what it can be asked, and its card."""
        wanted = name or self._model
        return self._call("GET", "/v1/model" + (f"?name={quote(wanted)}" if wanted else ""))

    def layout(self) -> StateLayout:
        """What the coordinates of a state mean, as the model was trained."""
        return layout_from_dict(self.model()["layout"])

    def act(self, observation: ArrayLike, goal: Goal, query: str) -> Floats:
        """Choose actions, as `Policy.act` does: `[A]` for one state, `[B, A]` for many."""
        asked = {"observation": _plain(observation), "goal": _goal(goal), "query": query}
        return np.asarray(self._ask("/v1/act", asked)["action"], dtype=np.float32)

    def distance(self, observation: ArrayLike, goal: Goal, query: str) -> Floats:
        """Predict how far the goal set is, as `Policy.distance` does."""
        asked = {"observation": _plain(observation), "goal": _goal(goal), "query": query}
        answer = self._ask("/v1/act", {**asked, "distance": True})
        return np.asarray(answer["distance"], dtype=np.float32)

    def check(
        self,
        state: ArrayLike,
        goal: Goal,
        query: str,
        tolerances: Mapping[str, float | str] | None = None,
    ) -> Checked:
        """Tell whether states lie in a goal set, and what keeps them out."""
        asked: dict[str, Any] = {"state": _plain(state), "goal": _goal(goal), "query": query}
        if tolerances:
            asked["tolerances"] = dict(tolerances)
        answer = self._ask("/v1/check", asked)
        return Checked(answer["contains"], answer["terms"])

    def session(
        self,
        goal: Goal,
        query: str,
        tolerances: Mapping[str, float | str] | None = None,
        distance: bool = False,
    ) -> Session:
        """Open a control loop; close it, or use it in a `with` block."""
        scheme = "wss" if self._url.scheme == "https" else "ws"
        session = Session(f"{scheme}://{self._url.netloc}/v1/session", self._headers, self._timeout)
        try:
            session.ask(goal, query, tolerances, distance=distance, model=self._model)
        except BaseException:
            session.close()
            raise
        return session

    def close(self) -> None:
        """Let the connection go."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __enter__(self) -> Self:
        """Use it in a `with` block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let the connection go."""
        self.close()

    def _ask(self, path: str, asked: dict[str, Any]) -> dict[str, Any]:
        if self._model is not None:
            asked["model"] = self._model
        return self._call("POST", path, json.dumps(asked))

    def _call(self, method: str, path: str, body: str | None = None) -> dict[str, Any]:
        headers = {**self._headers, "Content-Type": "application/json"}
        fresh = self._connection is None
        try:
            status, text = self._exchange(method, path, body, headers)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            # A server lets an idle connection go; everything here may be asked twice.
            if fresh or isinstance(error, TimeoutError):
                raise _unreachable(self._url.geturl(), error) from error
            return self._call(method, path, body)
        return _read(status, text)

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
        return response.status, response.read()


class Session:
    """A control loop: set a goal and a query, stream observations, change the question at will."""

    def __init__(self, url: str, headers: Mapping[str, str], timeout: float) -> None:
        """Connect; `Client.session` is the way to make one."""
        try:
            from websockets.exceptions import InvalidStatus, WebSocketException
            from websockets.sync.client import connect
        except ImportError as error:
            raise GoalsetsError(
                f"sessions need 'websockets', which cannot be imported ({error}). "
                'Install it with: pip install "goalsets[serve]"'
            ) from None
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
            _read(error.response.status_code, error.response.body or b"")
            raise
        except self._failures as error:
            raise _unreachable(url, error) from error
        self.query = ""
        """The question, as the server understood it."""
        self.doubts: list[str] = []
        """What the server thinks one should know about it."""
        self.reached: bool | None = None
        """Whether the last observation lies in the goal set; None where that cannot be judged."""
        self.distance: float | None = None
        """The predicted distance at the last observation, where it was asked for."""
        self.draining = False
        """Whether the server has announced its end."""

    def ask(
        self,
        goal: Goal | None = None,
        query: str | None = None,
        tolerances: Mapping[str, float | str] | None = None,
        *,
        distance: bool | None = None,
        model: str | None = None,
    ) -> None:
        """Ask, or change what is asked; what is left out stays as it was."""
        message: dict[str, Any] = {"type": "ask"}
        if goal is not None:
            message["goal"] = _goal(goal)
        if tolerances is not None:
            message["tolerances"] = dict(tolerances)
        given = {"query": query, "distance": distance, "model": model}
        message.update({name: value for name, value in given.items() if value is not None})
        answer = self._exchange(message)
        self.query, self.doubts = answer["query"], answer["doubts"]
        self.reached = self.distance = None

    def act(self, observation: ArrayLike) -> Floats:
        """Tell what is observed, and get the action `[A]`; then see `reached` and `distance`."""
        answer = self._exchange({"type": "observe", "observation": _plain(observation)})
        self.reached, self.distance = answer["reached"], answer.get("distance")
        return np.asarray(answer["action"], dtype=np.float32)

    def close(self) -> None:
        """End the session."""
        self._socket.close()

    def __enter__(self) -> Self:
        """Use it in a `with` block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the session."""
        self.close()

    def _exchange(self, message: Mapping[str, Any]) -> dict[str, Any]:
        from websockets.exceptions import ConnectionClosed

        try:
            self._socket.send(json.dumps(message))
            while True:
                answer = json.loads(self._socket.recv(self._timeout))
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


def _plain(values: ArrayLike) -> Any:  # noqa: ANN401 - nested lists
    # A NaN becomes a word that is not JSON; the server then names the coordinate.
    return np.asarray(values).tolist()


def _goal(goal: Goal) -> Any:  # noqa: ANN401 - nested lists, or a mapping of them
    if isinstance(goal, Mapping):
        return {name: _plain(values) for name, values in goal.items()}
    return _plain(goal)


def _read(status: int, text: bytes | bytearray) -> dict[str, Any]:
    try:
        answer = json.loads(text)
    except ValueError:
        answer = {}
    if status == 200 and answer:
        return answer
    error = answer.get("error", {}) if isinstance(answer, dict) else {}
    message = error.get("message", f"the server answered {status} without a reason.")
    raise ClientError(error.get("code", "refused"), message, status)


def _unreachable(url: str, error: Exception) -> ClientError:
    return ClientError("unreachable", f"{url} does not answer: {error or type(error).__name__}.")
