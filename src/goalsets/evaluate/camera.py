"""A camera: films an episode with the goal drawn in, and writes the film.

Real rendering of OGBench's environments needs OpenGL; without a display, MuJoCo's `egl` back end.
The tabletop draws itself.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from goalsets.core import GoalsetsError, Query
from goalsets.envs.tabletop import TabletopEnv, render_state
from goalsets.envs.tasks import Task
from goalsets.evaluate.poses import put_state, show_goal
from goalsets.evaluate.start import make_environment, start_episode

Picture = NDArray[np.uint8]

FRAMES = 100
"""How many pictures a film has: rendering in software takes a third of a second each."""
SIDE = 400
"""Pixels of a picture's sides. In software, a scene's shapes cost more than its pixels do."""
_RATE = 15
_CAPTION, _FONT = 24, 14
_BORDER = 2


def make_filmed(task: Task) -> Any:  # noqa: ANN401 - a Gymnasium environment
    """Create a task's environment with pictures that are large enough to look at."""
    size = {} if task.family == "tabletop" else {"width": SIDE, "height": SIDE}
    return make_environment(task, **size)


class CameraError(GoalsetsError):
    """Nothing can be drawn here; the message says why and what to try."""


class Camera(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Wraps an environment and keeps pictures of it. What happens in it stays the same.

    Args:
        env: The environment.
        goal: `[D]`, drawn in.
        query: What of the goal is asked for.
        horizon: Steps of an episode; from it follows how often a picture is taken.
        frames: How many pictures a whole episode gives.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        goal: NDArray[Any],
        query: Query,
        horizon: int,
        frames: int = FRAMES,
    ) -> None:
        """Take a picture of the goal, or say why nothing can be drawn."""
        super().__init__(env)
        self._goal, self._query = goal, query
        self._every = -(-horizon // frames)
        self._draws_itself = isinstance(env.unwrapped, TabletopEnv)
        self._inset = None if self._draws_itself else picture_of_goal(env, goal, query)
        self._step = 0
        self.pictures: list[Picture] = []

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:  # noqa: ANN401 - Gymnasium's own
        """Start a film with the first observation."""
        observation, info = self.env.reset(**kwargs)
        if not self._draws_itself:
            show_goal(self.env, self._goal, self._query)
        self.pictures, self._step = [], 0
        self._last = observation
        self.take()
        return observation, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:  # noqa: ANN401
        """Step, and take a picture every so often."""
        told = self.env.step(action)
        self._last = told[0]
        self._step += 1
        if self._step % self._every == 0:
            self.take()
        return told

    def take(self, caption: str = "") -> None:
        """Take a picture now."""
        text = caption or f"step {self._step}"
        if self._draws_itself:
            seen = render_state(self._last, self._goal, query=self._query)
        else:
            seen = np.array(self.env.render())
            assert self._inset is not None
            lay_in(seen, self._inset)
        self.pictures.append(with_caption(seen, text))


def picture_of_goal(env: gymnasium.Env[Any, Any], goal: NDArray[Any], query: Query) -> Picture:
    """A goal state, small, rendered by putting the simulator there."""
    start_episode(env, 1, 0)
    put_state(env, goal)
    show_goal(env, goal, query)
    try:
        seen = env.render()
    except Exception as error:  # a back end may fail in any way
        raise CameraError(
            f"nothing can be drawn here: MuJoCo finds no OpenGL ({type(error).__name__}: "
            f"{error}). Without a display, set MUJOCO_GL=egl, or MUJOCO_GL=osmesa."
        ) from None
    return np.array(seen)[::4, ::4]


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
