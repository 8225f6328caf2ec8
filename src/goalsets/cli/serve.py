"""`goalsets serve`: policies for robots to ask, over HTTP and WebSocket."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import tyro

from goalsets.cli.counts import OptionalSize, Size
from goalsets.serve.limits import Limits
from goalsets.strangers import TOKEN_VARIABLE


def serve(
    runs: Annotated[tuple[str, ...], tyro.conf.Positional],
    host: str = "127.0.0.1",
    port: Size = 8000,
    token_file: Path | None = None,
    step: OptionalSize = None,
    limits: Limits = Limits(),  # noqa: B008 - frozen
) -> None:
    """Serve trained policies: POST /v1/act, /v1/check and /v1/plan, and a WebSocket for loops.

    The server listens on this machine only, unless told otherwise; on any other address it needs a
    token. GET /v1/models tells what is served, /docs describes the requests, /metrics is for
    Prometheus. SIGTERM and Ctrl-C let open sessions come to their end; a second one does not. From
    Python, use goalsets.serve.client.Client.

    Args:
        runs: Run directories, each as RUN or NAME=RUN; a RUN alone goes by its last part.
        host: The address to listen on. 0.0.0.0 lets other machines in, and needs a token.
        port: The port; 0 takes any that is free.
        token_file: A file with the token that clients must send; $GOALSETS_TOKEN unless given.
            A token is never an argument, because every user of a machine can read those.
        step: A step whose weights were kept; the latest checkpoint unless given.
        limits: How much of everything there may be.
    """
    from goalsets.core.extras import needed_by

    with needed_by("serving", "serve"):
        from goalsets.serve.server import bind
        from goalsets.serve.server import serve as run_server
    from goalsets.serve.guard import Guard
    from goalsets.serve.models import open_models

    # What can be refused is refused before anything is loaded.
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
