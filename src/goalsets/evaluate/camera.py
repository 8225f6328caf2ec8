"""A camera that films an episode with its goal, and writes the film.

Rendering MuJoCo needs OpenGL, and without a display MuJoCo's `egl` back end. Worlds that draw
themselves need neither.
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
"""Width in pixels of pictures by worlds that draw themselves; these are taller than wide."""
_RATE = 15
_CAPTION, _FONT = 24, 14
_BORDER = 2


class CameraError(GoalsetsError):
    """Nothing can be drawn on this machine; the message says why and what to try."""


class Camera:
    """Wraps a world and takes pictures of it; the episode itself is unchanged.

    Args:
        world: The world to film.
        goal: `[D]`, drawn into the pictures.
        query: Which part of the goal is asked for.
        frames: How many pictures a whole episode gives.
        due: Returns the question of the moment for the captions; "" for the query itself.
    """

    def __init__(
        self,
        world: Adapter,
        goal: NDArray[Any],
        query: Query,
        frames: int = FRAMES,
        due: Callable[[], str] = str,
    ) -> None:
        """Take a picture of the goal, or raise `CameraError` if nothing can be drawn."""
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
        """Do one step, and take a picture at regular intervals."""
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
        world: The world; it draws itself if it can, otherwise its environment renders it.
        goal: `[D]`.
        query: Which part of the goal is asked for.
        inset: The goal as `picture_of_goal` drew it, for worlds that do not draw goals themselves.
    """
    if world.can("draw"):
        return world.draw(world.observation, goal, query, _DRAWN)
    seen = world.render()
    if inset is not None:
        lay_in(seen, inset)
    return seen


def picture_of_goal(world: Adapter, goal: NDArray[Any], query: Query) -> Picture | None:
    """A small picture of a goal state, rendered by setting the simulator to it.

    None for worlds that draw goals themselves, and for worlds that cannot be set to a state.

    Raises:
        CameraError: Nothing can be drawn on this machine.
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
    """Paste a small picture with a border into the upper right corner."""
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
    """Write pictures as an MP4, or as an animated GIF if there is no encoder.

    Args:
        pictures: All of one size.
        path: Where the MP4 goes.

    Returns:
        The file, and a note if it is not an MP4.
    """
    encoder = find_encoder()
    if encoder is None:
        reason = "there is no MP4 encoder"
    else:
        reason = _encode(encoder, pictures, path)
        if reason is None:
            return path, None
    from PIL import Image

    gif = path.with_suffix(".gif")
    first, *others = (Image.fromarray(picture) for picture in pictures)
    first.save(gif, save_all=True, append_images=others, duration=1000 // _RATE, loop=0)
    return gif, f"{reason}, so the film is a GIF: pip install 'goalsets[video]' installs one."


def find_encoder() -> str | None:
    """The path of an ffmpeg: the system's, or that of the `video` extra."""
    found = shutil.which("ffmpeg")
    if found is not None:
        return found
    try:
        import imageio_ffmpeg  # pyright: ignore[reportMissingImports] - an extra

        return imageio_ffmpeg.get_ffmpeg_exe()
    except (ImportError, RuntimeError):
        return None


def _encode(encoder: str, pictures: Sequence[Picture], path: Path) -> str | None:
    """Write an MP4; return the reason if that fails."""
    height, width = pictures[0].shape[:2]
    shape = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", str(_RATE)]
    # Browsers need the index at the front and this pixel format.
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
