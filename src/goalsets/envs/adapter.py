"""An adapter: the interface between an environment of a task and goalsets.

Gymnasium defines how an environment is reset and stepped. Training, evaluation, films and the
playground need a little more: a start that depends only on the seed, a goal state, flat
observations, a picture, a way to set a state. Every method here has a default. The default works
for a plain Gymnasium environment, flat or with the dictionaries of Gymnasium-Robotics. If it cannot
work, it raises a `CannotError` that says which method the task's own adapter must define.
`goalsets.check_task` tries all methods.
"""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalsets.core import GoalsetsError
from goalsets.envs.graphics import drawing

if TYPE_CHECKING:
    from goalsets.core import Query
    from goalsets.envs.task import Task

Floats = NDArray[np.float32]
Picture = NDArray[np.uint8]
State = NDArray[np.floating]

SIDE = 400
"""The default width of a picture in pixels."""


class CannotError(GoalsetsError):
    """A task cannot do something; the message says which method would allow it."""


class Start(NamedTuple):
    """The start of an episode."""

    observation: Floats
    """`[D]`."""
    goal: Floats
    """`[D]`, a full state that reaches the official goal."""


class Stepped(NamedTuple):
    """The result of a step."""

    observation: Floats
    """`[D]`."""
    success: bool | None
    """Whether the environment reports that its own goal is reached; None if it reports nothing."""
    over: bool
    """Whether the environment ends the episode."""


class Adapter:
    """One environment of a task.

    Args:
        task: The task of the environment.
        env: A Gymnasium environment.
    """

    def __init__(self, task: Task, env: Any) -> None:  # noqa: ANN401 - Gymnasium's types say little
        """Keep the task and the environment."""
        self.task = task
        self.env: Any = env
        self.observation: Floats = np.zeros(task.layout.dim, dtype=np.float32)
        """The last observation."""

    @property
    def inner(self) -> Any:  # noqa: ANN401 - an environment of any class
        """The environment without Gymnasium's wrappers."""
        return self.env.unwrapped

    def close(self) -> None:
        """Close the environment."""
        self.env.close()

    # --- Episodes --------------------------------------------------------------------------------

    def start(self, goal: int, seed: int) -> Start:
        """Start an episode. It depends only on the official goal, counted from 1, and the seed."""
        raw, info = self.reset(seed, {"task_id": goal})
        self.observation = self.observe(raw)
        return Start(self.observation, self.goal_state(raw, info))

    def step(self, action: State) -> Stepped:
        """Do one step with an action `[A]`."""
        raw, _, terminated, truncated, info = self.env.step(self.action(action))
        self.observation = self.observe(raw)
        return Stepped(self.observation, self.success(info), bool(terminated or truncated))

    def reset(self, seed: int | None, options: dict[str, Any] | None) -> tuple[Any, dict[str, Any]]:
        """Reset the environment. With a seed, everything that follows depends only on the seed."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # many environments warn about their spaces
            return self.env.reset(seed=seed, options=options)

    def observe(self, raw: Any) -> Floats:  # noqa: ANN401 - whatever the environment observes
        """The state `float32[D]` of an observation; for a dictionary, its entry `observation`."""
        if isinstance(raw, Mapping):
            if "observation" not in raw:
                raise self.cannot("observe a flat state", "observe(raw)")
            raw = raw["observation"]
        return np.asarray(raw, dtype=np.float32).reshape(-1)

    def goal_state(self, raw: Any, info: Mapping[str, Any]) -> Floats:  # noqa: ANN401 - as above
        """The official goal as a state `float32[D]`.

        By default it is `info["goal"]`. A `desired_goal` has only the coordinates of the official
        query; the other coordinates are then those of the start.
        """
        if "goal" in info:
            return np.asarray(info["goal"], dtype=np.float32).reshape(-1)
        wanted = raw.get("desired_goal") if isinstance(raw, Mapping) else None
        asked = [] if wanted is None else list(self.task.query.indices)
        if wanted is None or np.size(wanted) != len(asked):
            raise self.cannot("give its goal as a full state", "goal_state(raw, info)")
        state = self.observe(raw).copy()
        state[asked] = np.asarray(wanted).reshape(-1)
        return state

    def success(self, info: Mapping[str, Any]) -> bool | None:
        """Whether the environment's own goal is reached; None if it does not report that."""
        for name in ("success", "is_success"):
            if name in info:
                return bool(info[name])
        return None

    def action(self, values: State) -> Any:  # noqa: ANN401 - whatever the environment takes
        """Convert an action `[A]` of a policy to the environment's form."""
        from gymnasium import spaces

        space = self.action_space
        if isinstance(space, spaces.Box):
            shaped = values if values.shape == space.shape else values.reshape(space.shape)
            return shaped if space.dtype.kind == "f" else np.rint(shaped).astype(space.dtype)
        if isinstance(space, spaces.Discrete):
            # One number is the choice itself; several numbers are the scores of the choices.
            choice = np.argmax(values) if values.size > 1 else np.rint(values.item() - space.start)
            return int(np.clip(choice, 0, space.n - 1) + space.start)
        raise self.cannot(f"take actions of the kind {space}", "action(values)")

    @functools.cached_property
    def action_space(self) -> Any:  # noqa: ANN401 - a space of Gymnasium
        """The environment's action space. Cached, because some environments build it each time."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.env.action_space

    @property
    def action_bounds(self) -> tuple[Floats, Floats] | None:
        """Lowest and highest action, `[A]` each; None if the space has no bounds."""
        from gymnasium import spaces

        space = self.action_space
        if not isinstance(space, spaces.Box) or not space.is_bounded("both"):
            return None
        low, high = (np.asarray(b, dtype=np.float32).reshape(-1) for b in (space.low, space.high))
        return low, high

    # --- Setting and drawing states --------------------------------------------------------------

    def put(self, state: State) -> None:
        """Set the simulator to an observed state `[D]`, as far as an observation determines it."""
        raise self.cannot("be set to a state", "put(state)")

    def look(self) -> Floats:
        """Observe the current state of the simulator, without a step."""
        if not hasattr(self.inner, "_get_obs"):
            raise self.cannot("be observed between steps", "look()")
        return self.observe(self.inner._get_obs())

    def show_goal(self, goal: State, query: Query) -> None:
        """Move the environment's own goal marks to this goal; by default there are none."""

    def render(self, size: int = SIDE) -> Picture:
        """A picture `uint8[H, W, 3]` of the simulator's state, `size` pixels wide."""
        seen, opengl = None, drawing() if self.physics is not None else contextlib.nullcontext()
        with contextlib.suppress(NotImplementedError), opengl:  # an environment that cannot draw
            seen = self.env.render() if self.env.render_mode == "rgb_array" else None
        if not isinstance(seen, np.ndarray) or seen.ndim != 3 or seen.shape[2] != 3:
            raise self.cannot("be drawn", "render(size)")
        return _resized(np.array(seen, dtype=np.uint8), size)

    def draw(
        self, observation: State, goal: State | None, query: Query | None, size: int = SIDE
    ) -> Picture:
        """A picture of any state with the goal in it, for worlds that can draw states."""
        raise self.cannot("draw a given state", "draw(observation, goal, query, size)")

    def come_close(self) -> None:
        """Move the camera near, in worlds that are otherwise shown whole; by default do nothing."""

    @property
    def physics(self) -> tuple[Any, Any] | None:
        """MuJoCo's model and data after a start; None for worlds without MuJoCo."""
        model, data = getattr(self.inner, "model", None), getattr(self.inner, "data", None)
        return (model, data) if hasattr(data, "qpos") else None

    @property
    def step_seconds(self) -> float | None:
        """The duration of a step in simulated time; None if unknown."""
        known = getattr(self.inner, "dt", None)
        if known is not None:
            return float(known)
        pictures = (self.env.metadata or {}).get("render_fps")
        return 1 / float(pictures) if pictures else None

    @property
    def pushes(self) -> str | None:
        """The name of what `push` pushes; None if nothing can be pushed."""
        return None

    def push(self, rng: np.random.Generator) -> None:
        """Disturb an object of the task."""
        raise self.cannot("be pushed", "push(rng), and pushes for its name")

    def follow(self, state: Floats, moved: Collection[str]) -> Floats:
        """Adjust an edited state `[D]` to the groups that the user `moved`.

        For example, an arm follows its gripper, and a relative position follows its base. By
        default nothing is adjusted, so an edited goal may be an impossible state.
        """
        del moved
        return state

    def can(self, method: str) -> bool:
        """Whether the task's adapter defines a method of its own instead of the default."""
        return getattr(type(self), method) is not getattr(Adapter, method)

    def cannot(self, what: str, method: str) -> CannotError:
        """The error that says what this task cannot do, and which method would allow it."""
        return CannotError(
            f"{self.task.name} cannot {what}: its adapter, {type(self).__name__}, must define the "
            f"method {method}."
        )


def _resized(picture: Picture, width: int) -> Picture:
    if picture.shape[1] == width:
        return picture
    from PIL import Image

    height = round(width * picture.shape[0] / picture.shape[1])
    return np.array(Image.fromarray(picture).resize((width, height)))
