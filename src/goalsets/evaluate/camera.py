"""A camera: films an episode with the goal drawn in, and writes the film.

Real rendering of MuJoCo's worlds needs OpenGL; without a display, MuJoCo's `egl` back end. Worlds
that draw themselves need nothing.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalsets.core import GoalsetsError, Query
from goalsets.envs.adapter import Adapter, CannotError, Start, Stepped

Picture = NDArray[np.uint8]

FRAMES = 100
"""How many pictures a film has: rendering in software takes a third of a second each."""
_DRAWN = 256
"""Pixels of the width of pictures by worlds that draw themselves: they are taller than wide."""
_RATE = 15
_CAPTION, _FONT = 24, 14
_BORDER = 2


class CameraError(GoalsetsError):
    """Nothing can be drawn here; the message says why and what to try."""


class Camera:
    """Stands before a world and keeps pictures of it. What happens there stays the same.

    Args:
        world: What is filmed.
        goal: `[D]`, drawn in.
        query: What of the goal is asked for.
        frames: How many pictures a whole episode gives.
        due: Says what is asked for at the moment, for the captions; nothing where it is the query.
    """

    def __init__(
        self,
        world: Adapter,
        goal: NDArray[Any],
        query: Query,
        frames: int = FRAMES,
        due: Callable[[], str] = str,
    ) -> None:
        """Take a picture of the goal, or say why nothing can be drawn."""
        self._world = world
        self._goal, self._query = goal, query
        self._every = -(-world.task.horizon // frames)
        self._inset = picture_of_goal(world, goal, query)
        self._step, self._due = 0, due
        self.pictures: list[Picture] = []

    def start(self, goal: int, seed: int) -> Start:
        """Start an episode, and a film with the first observation."""
        started = self._world.start(goal, seed)
        self._world.show_goal(self._goal, self._query)
        self.pictures, self._step = [], 0
        self.take()
        return started

    def step(self, action: NDArray[Any]) -> Stepped:
        """Step, and take a picture every so often."""
        told = self._world.step(action)
        self._step += 1
        if self._step % self._every == 0:
            self.take()
        return told

    def take(self, caption: str = "") -> None:
        """Take a picture now."""
        seen = draw_world(self._world, self._goal, self._query, self._inset)
        due = self._due()
        now = f"step {self._step}" + (f": {due}" if due else "")
        self.pictures.append(with_caption(seen, caption or now))


def draw_world(world: Adapter, goal: NDArray[Any], query: Query, inset: Picture | None) -> Picture:
    """A picture of a world as it is, with its goal.

    Args:
        world: Drawn by itself if it can, or else by its environment.
        goal: `[D]`.
        query: What of the goal is asked for.
        inset: The goal as `picture_of_goal` drew it, for worlds that do not draw it themselves.
    """
    if world.can("draw"):
        return world.draw(world.observation, goal, query, _DRAWN)
    seen = world.render()
    if inset is not None:
        lay_in(seen, inset)
    return seen


def picture_of_goal(world: Adapter, goal: NDArray[Any], query: Query) -> Picture | None:
    """A goal state, small, rendered by putting the simulator there.

    None for worlds that draw goals themselves, and for those that cannot be put into a state. An
    error says why nothing can be drawn at all.
    """
    if world.can("draw"):
        return None
    world.start(1, 0)
    if world.can("put"):
        world.put(goal)
    world.show_goal(goal, query)
    try:
        seen = world.render()
    except CannotError as error:
        raise CameraError(f"nothing can be drawn here: {error}") from None
    except Exception as error:  # a back end may fail in any way
        raise CameraError(
            f"nothing can be drawn here: MuJoCo finds no OpenGL ({type(error).__name__}: "
            f"{error}). Without a display, set MUJOCO_GL=egl, or MUJOCO_GL=osmesa."
        ) from None
    return seen[::4, ::4] if world.can("put") else None


def lay_in(picture: Picture, inset: Picture) -> None:
    """Lay a small picture with a border into the upper right corner."""
    height, width = inset.shape[:2]
    corner = picture[: height + 2 * _BORDER, -width - 2 * _BORDER :]
    corner[:] = (255, 190, 60)
    corner[_BORDER:-_BORDER, _BORDER:-_BORDER] = inset


def with_caption(picture: Picture, text: str) -> Picture:
    """A picture with a line of text below it."""
    from PIL import Image, ImageDraw, ImageFont

    height, width = picture.shape[:2]
    # Encoders want even numbers of pixels.
    canvas = Image.new("RGB", (width + width % 2, height + height % 2 + _CAPTION), "white")
    canvas.paste(Image.fromarray(picture), (0, 0))
    font = ImageFont.load_default(_FONT)
    ImageDraw.Draw(canvas).text((6, canvas.height - _CAPTION + 3), text, fill="black", font=font)
    return np.asarray(canvas)


def write_film(pictures: Sequence[Picture], path: Path) -> tuple[Path, str | None]:
    """Write pictures as an MP4, or as an animated GIF where no encoder is found.

    Args:
        pictures: All of one size.
        path: Where the MP4 goes.

    Returns:
        Where the film is, and what to say if it is not an MP4.
    """
    encoder = find_encoder()
    if encoder is None:
        reason = "no MP4 encoder is here"
    else:
        reason = _encode(encoder, pictures, path)
        if reason is None:
            return path, None
    from PIL import Image

    gif = path.with_suffix(".gif")
    first, *others = (Image.fromarray(picture) for picture in pictures)
    first.save(gif, save_all=True, append_images=others, duration=1000 // _RATE, loop=0)
    return gif, f"{reason}, so the film is a GIF: pip install 'goalsets[video]' brings one."


def find_encoder() -> str | None:
    """The path of an ffmpeg: the system's, or the one that the `video` extra brings."""
    found = shutil.which("ffmpeg")
    if found is not None:
        return found
    try:
        import imageio_ffmpeg  # pyright: ignore[reportMissingImports] - an extra

        return imageio_ffmpeg.get_ffmpeg_exe()
    except (ImportError, RuntimeError):
        return None


def _encode(encoder: str, pictures: Sequence[Picture], path: Path) -> str | None:
    """Write an MP4; return why not if that fails."""
    height, width = pictures[0].shape[:2]
    shape = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", str(_RATE)]
    # The index goes first and the colours are common ones: browsers then play it.
    result = ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-movflags", "+faststart", str(path)]
    with tempfile.TemporaryFile() as frames:
        for picture in pictures:
            frames.write(picture.tobytes())
        frames.seek(0)
        done = subprocess.run(
            [encoder, "-y", "-loglevel", "error", *shape, "-i", "-", *result],
            stdin=frames,
            capture_output=True,
            check=False,
        )
    if done.returncode == 0:
        return None
    return f"{encoder} failed ({done.stderr.decode(errors='replace').strip()[-200:]})"
