"""`goalsets serve`: serve policies to robots over HTTP and WebSocket."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import tyro

from goalsets.cli.counts import OptionalSize, Port
from goalsets.serve.limits import Limits
from goalsets.strangers import TOKEN_VARIABLE


def serve(
    runs: Annotated[tuple[str, ...], tyro.conf.Positional],
    host: str = "127.0.0.1",
    port: Port = 8000,
    token_file: Path | None = None,
    step: OptionalSize = None,
    limits: Limits = Limits(),  # noqa: B008 - frozen
) -> None:
    """Serve trained policies over HTTP (/v1/act, /v1/check, /v1/plan) and WebSocket.

    By default the server listens on this machine only; on any other address it needs a token.
    GET /v1/models lists the models, /docs describes the requests, /metrics is for Prometheus.
    After SIGTERM or Ctrl-C, open sessions may finish; a second one ends them at once. From Python,
    use goalsets.serve.client.Client.

    Args:
        runs: Run directories, each as RUN or NAME=RUN; without a NAME, the name is the last part of
            the path.
        host: The address to listen on. With 0.0.0.0, other machines may connect; that needs a
            token.
        port: The port; 0 takes any that is free.
        token_file: A file with the token that clients must send; $GOALSETS_TOKEN unless given.
            The token cannot be an argument, because every user of a machine can read arguments.
        step: A step whose weights were kept; the latest checkpoint unless given.
        limits: Upper bounds on clients, sessions and requests.
    """
    from goalsets.core.extras import needed_by

    with needed_by("serving", "serve"):
        from goalsets.serve.server import bind
        from goalsets.serve.server import serve as run_server
    from goalsets.serve.guard import Guard
    from goalsets.serve.models import open_models

    # Check the token and the address before loading models, which takes seconds.
    guard = Guard(host, _token(token_file))
    with bind(host, port) as listening:
        models = open_models(runs, step)
        for model in models:
            config = model.run.config
            print(
                f"{model.name}: {config.learner}, {config.scheme}, trained on {config.task}, "
                f"step {model.step:,}{', with a planner' if model.planner else ''}"
            )
        run_server(
            models,
            listening,
            guard,
            limits,
            ready=lambda url: print(f"serving on {url}; Ctrl-C ends it", flush=True),
        )
    print("the server has ended", flush=True)


def _token(file: Path | None) -> str | None:
    from goalsets.core import door

    if file is None:
        return os.environ.get(TOKEN_VARIABLE) or None
    return door.read_text(file, what="the token file", limit=1 << 16).strip()
