"""The endpoints."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request, Response, WebSocket
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

import goalsets
from goalsets.core import GoalSet, GoalsetsError
from goalsets.serve import plans, questions
from goalsets.serve.door import Application, Door, encode
from goalsets.serve.errors import ServeError, as_serve_error, error_body, explain
from goalsets.serve.metrics import CONTENT_TYPE
from goalsets.serve.reading import QuickRoute
from goalsets.serve.schema import (
    ActRequest,
    ActResponse,
    CheckRequest,
    CheckResponse,
    ErrorResponse,
    Health,
    ModelCard,
    ModelList,
    PlanRequest,
    PlanResponse,
)
from goalsets.serve.session import ServerSession
from goalsets.serve.state import State

DESCRIPTION = """\
Actions of trained policies towards goal sets: a goal state, and a query that names which of its
coordinates matter. Control loops use the WebSocket at `/v1/session`; its messages are described in
the documentation of goalsets.
"""
_REFUSALS: dict[int | str, dict[str, Any]] = {
    400: {"model": ErrorResponse, "description": "The request is not HTTP, or not JSON."},
    401: {"model": ErrorResponse, "description": "The server needs a token."},
    403: {"model": ErrorResponse, "description": "A web page of another origin is asking."},
    404: {"model": ErrorResponse, "description": "There is no such path, or no such model."},
    408: {"model": ErrorResponse, "description": "The request did not arrive in time."},
    413: {"model": ErrorResponse, "description": "The body is too large."},
    422: {"model": ErrorResponse, "description": "The input cannot be answered."},
    503: {"model": ErrorResponse, "description": "There is no room now; try again."},
}
_QUICK_ROWS = 8
"""A batch up to this size is answered in the event loop, like a single state."""


def make_app(state: State) -> Application:
    """The application, behind its door."""
    app = FastAPI(
        title="goalsets policy server",
        version=goalsets.__version__,
        description=DESCRIPTION,
        lifespan=lambda _: _lifespan(state),
        redoc_url=None,
    )
    app.router.route_class = QuickRoute
    _add_errors(app)
    _add_information(app, state)
    _add_questions(app, state)

    @app.websocket("/v1/session")
    async def session(socket: WebSocket) -> None:
        await ServerSession(socket, state).run()

    return Door(app, state)


@contextlib.asynccontextmanager
async def _lifespan(state: State) -> AsyncIterator[None]:
    watch = asyncio.ensure_future(state.look_after_sessions())
    yield
    watch.cancel()
    state.batches.close()
    state.plans.close()


def _add_information(app: FastAPI, state: State) -> None:
    """Add the endpoints that describe the server and its models."""

    @app.get("/healthz", response_model=Health, responses={503: {"model": Health}})
    async def healthz() -> Response:
        """Say whether the server takes new work."""
        if state.draining:
            return _json({"status": "draining"}, 503)
        return _json({"status": "ok"})

    @app.get(
        "/metrics",
        response_class=Response,
        responses={200: {"content": {"text/plain": {}}}, **_REFUSALS},
    )
    async def metrics() -> Response:
        """Counters and times, for Prometheus."""
        return Response(state.metrics.text(), headers={"content-type": CONTENT_TYPE})

    @app.get("/v1/models", response_model=ModelList, responses=_REFUSALS)
    async def models() -> Response:
        """List every model."""
        return _json({"models": list(state.models.described.values())})

    @app.get("/v1/model", response_model=ModelCard, responses=_REFUSALS)
    async def model(
        name: Annotated[str | None, Query(description="Optional if there is only one.")] = None,
    ) -> Response:
        """Describe one model: its layout, the questions it takes, and its card."""
        return _json(state.models.described[state.models.find(name).name])


def _add_questions(app: FastAPI, state: State) -> None:
    """Add the endpoints that ask the models."""
    rows = state.limits.batch_rows

    @app.post("/v1/act", response_model=ActResponse, responses=_REFUSALS)
    async def act(request: ActRequest) -> Response:
        """Choose an action in one state, or in many at once."""
        model = state.models.find(request.model)
        query = model.query(request.query)
        observation = questions.read_states("observation", request.observation, model.layout, rows)
        goal = questions.read_goal(request.goal, query, model, rows)
        count = max(len(array) if array.ndim == 2 else 1 for array in (observation, goal))

        def choose() -> tuple[Any, Any, float]:
            start = time.perf_counter()
            chosen = questions.act(model, observation, goal, query, request.distance)
            return *chosen, time.perf_counter() - start

        found = choose() if count <= _QUICK_ROWS else await state.batches.run(choose)
        actions, far, seconds = found
        state.metrics.count_actions(model.name, "request", count, seconds)
        return _json(
            {
                "model": model.name,
                "query": str(query),
                "action": actions.tolist(),
                "distance": None if far is None else far.tolist(),
                "doubts": questions.say_doubts(model, query),
            }
        )

    @app.post("/v1/check", response_model=CheckResponse, responses=_REFUSALS)
    async def check(request: CheckRequest) -> Response:
        """Say whether states lie in a goal set, and how far each requirement is from satisfied."""
        model = state.models.find(request.model)
        query = model.query(request.query)
        states = questions.read_states("state", request.state, model.layout, rows)
        # Judging needs only the coordinates of the query, whatever the policy sees.
        goal = questions.read_goal(request.goal, query, model, rows, shown=query.mask)
        goals = GoalSet(goal, query, request.tolerances)
        count = max(len(array) if array.ndim == 2 else 1 for array in (states, goal))
        found = (
            questions.check(states, goals)
            if count <= _QUICK_ROWS
            else await state.batches.run(lambda: questions.check(states, goals))
        )
        return _json({"model": model.name, "query": str(goals.query), **found})

    @app.post("/v1/plan", response_model=PlanResponse, responses=_REFUSALS)
    async def plan(request: PlanRequest) -> Response:
        """Make a plan: the questions that lead from a state to a goal set, one after another."""
        model = state.models.find(request.model)
        plans.planner_of(model)
        query = model.query(request.query)
        observation = questions.read_states("observation", request.observation, model.layout)
        goal = questions.read_goal(request.goal, query, model)
        questions.check_one_goal(goal)
        goals = GoalSet(goal, query, request.tolerances)
        found = await state.batches.run(lambda: plans.make(model, observation, goals))
        doubts = questions.say_doubts(model, query)
        return _json(
            {"model": model.name, "query": str(goals.query), "plan": found, "doubts": doubts}
        )


def _add_errors(app: FastAPI) -> None:
    """Make every refusal look the same."""

    @app.exception_handler(GoalsetsError)
    async def refused(_: Request, error: Exception) -> Response:
        assert isinstance(error, GoalsetsError)
        return _refusal(as_serve_error(error))

    @app.exception_handler(RequestValidationError)
    async def unreadable(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return _refusal(ServeError(422, "invalid", explain(error.errors())))

    @app.exception_handler(HTTPException)
    async def elsewhere(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        code = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "refused")
        message = f"{request.method} {request.url.path[:64]}: {error.detail}."
        return _refusal(ServeError(error.status_code, code, message), error.headers)

    @app.exception_handler(Exception)
    async def failed(_: Request, __: Exception) -> Response:
        # The traceback is in the log; clients only learn that it was the server's fault.
        return _refusal(ServeError(500, "internal", "the server failed; its log says why."))


def _refusal(error: ServeError, headers: Any = None) -> Response:  # noqa: ANN401 - Starlette's own
    more = {**(headers or {}), **({"retry-after": "1"} if error.status == 503 else {})}
    return _json(error_body(error), error.status, more)


def _json(answer: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(encode(answer), status, headers, "application/json")
