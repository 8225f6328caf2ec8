"""Films of recordings: every pane is in them, and only so many may wait."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest

from goalsets.envs.tabletop import render_state
from goalsets.evaluate.camera import FRAMES, Picture
from goalsets.play import film
from goalsets.play.film import MAX_WAITING, Filmer, FilmError
from goalsets.play.recording import Recording
from goalsets.play.setup import Setup
from goalsets.play.show import Show


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[Picture]:
    """The pictures of the films that are made."""
    pictures: list[Picture] = []
    write = film.write_film

    def keep(*args: object) -> object:
        pictures.extend(args[0])  # pyright: ignore[reportArgumentType]
        return write(*args)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(film, "write_film", keep)
    return pictures


def record(setup: Setup, steps: int) -> Recording:
    show = Show(setup)
    for _ in range(steps):
        show.step()
    found = show.snapshot()[-1]
    show.close()
    return found


@pytest.fixture
def filmer(two: Setup) -> Iterator[Filmer]:
    made = Filmer(two.task, [checkpoint.name for checkpoint in two.checkpoints])
    yield made
    made.close()


def test_both_panes_are_filmed(two: Setup, filmer: Filmer, written: list[Picture]) -> None:
    recording = record(two, 5)
    name, content = filmer.order(recording).result(60)
    assert name.startswith("episode-1.")
    assert len(content) > 1_000
    assert len(written) == 6  # the start, and five steps
    left, right = np.split(written[-1], 2, axis=1)
    table = render_state(recording.takes[0][-1].observation).shape
    assert left.shape[:2] == right.shape[:2]
    assert left.shape[1] == table[1]
    assert not np.array_equal(left, right)  # two policies, and two names
    assert not np.array_equal(written[0], written[-1])


def test_a_long_episode_is_filmed_in_so_many_pictures(
    two: Setup, filmer: Filmer, written: list[Picture]
) -> None:
    filmer.order(record(two, FRAMES + 20)).result(60)
    assert len(written) == FRAMES


def test_only_so_many_films_wait(
    two: Setup, filmer: Filmer, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()

    def slowly(_: Recording) -> tuple[str, bytes]:
        go_on.wait(60)
        return "episode-1.mp4", b""

    monkeypatch.setattr(filmer, "_make", slowly)
    recording = record(two, 1)
    ordered = [filmer.order(recording) for _ in range(MAX_WAITING)]
    with pytest.raises(FilmError, match="films are being made already"):
        filmer.order(recording)
    go_on.set()
    assert all(future.result(60) for future in ordered)
    filmer.order(recording).result(60)  # and then there is room again
