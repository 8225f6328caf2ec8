"""A worker process: one environment, one episode after another."""

from __future__ import annotations

import signal
import traceback
from multiprocessing.connection import Connection

from goalsets.data.collect.recipes import Recipe


def work(connection: Connection, recipe: Recipe, seed: int) -> None:
    """Collect the episodes that `connection` asks for until it closes.

    The answer to a job is the episode's rows; an exception is answered by its text, and is the end.
    """
    # Ctrl-C reaches the whole group of processes, but the one that started us decides what to do.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        _answer(connection, recipe, seed)
    except (EOFError, BrokenPipeError):
        # Nobody is there any more. What was under way is collected again next time.
        return
    except Exception:
        connection.send(traceback.format_exc())


def _answer(connection: Connection, recipe: Recipe, seed: int) -> None:
    from goalsets.data.collect.behaviour import make_driver
    from goalsets.data.collect.episode import collect_episode

    driver = make_driver(recipe)
    while True:
        job = connection.recv()
        connection.send(collect_episode(driver, recipe, seed, job))
