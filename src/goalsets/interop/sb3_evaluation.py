"""Stable-Baselines3: evaluate a model on each question during training, with intervals."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from goalsets.core import GoalsetsError, Query
from goalsets.core.extras import needed_by
from goalsets.envs.goalset_env import GoalSetEnv
from goalsets.evaluate.stats import Rate

with needed_by("goalsets.interop.sb3", "sb3"):
    from stable_baselines3.common.callbacks import (  # pyright: ignore[reportMissingImports]
        BaseCallback,
        EventCallback,
    )

if TYPE_CHECKING:
    import gymnasium

BEST = "best_model.zip"
RECORDS = "evaluations.jsonl"


@dataclass(frozen=True)
class Answered:
    """How a model did on one question."""

    rate: Rate
    steps: float | None
    """Mean steps of the episodes that reached the goal set; None if none did."""

    def record(self) -> dict[str, Any]:
        """As plain data."""
        low, high = self.rate.interval
        return {
            "successes": self.rate.successes,
            "episodes": self.rate.episodes,
            "low": low,
            "high": high,
            "steps": self.steps,
        }


class GoalSetEvalCallback(EventCallback):
    """Evaluates a model on questions while it learns, and keeps the best.

    Every evaluation runs the same episodes: their seeds, and so their starts and goals, are fixed.
    It logs `eval/success` (the mean over the questions), and for each question
    `eval_success/QUESTION`, `eval_low/QUESTION` and `eval_high/QUESTION`, the rate with its 95 %
    Wilson interval. Those go to TensorBoard, CSV and JSON; the table on the terminal has the mean.

    Args:
        env: A `GoalSetEnv`, possibly wrapped. It must not be a training environment, because an
            evaluation would interrupt its episode.
        questions: The queries to ask, as text; by default those of the environment.
        every: Steps of each training environment between evaluations, as `eval_freq` in
            Stable-Baselines3.
        episodes: Episodes of each question in an evaluation.
        longest: Steps after which an episode has failed, if the environment sets no limit.
        directory: A directory for the best model, `best_model.zip`, and for `evaluations.jsonl`
            with a line for each evaluation; None writes neither.
        seed: The seed of the first episode.
        deterministic: Whether the model acts by its mean.
        on_new_best: Called when a model is better than all before: by the mean success, or at equal
            success by fewer steps.
        verbose: 1 prints a line for each evaluation.
    """

    def __init__(  # noqa: PLR0913 - all but the first have names
        self,
        env: gymnasium.Env[Any, Any],
        *,
        questions: Sequence[str] | None = None,
        every: int = 10_000,
        episodes: int = 20,
        longest: int = 1_000,
        directory: str | Path | None = None,
        seed: int = 0,
        deterministic: bool = True,
        on_new_best: BaseCallback | None = None,
        verbose: int = 1,
    ) -> None:
        """Check the questions before anything is trained."""
        super().__init__(on_new_best, verbose=verbose)
        inner = GoalSetEnv.within(env)
        for name, value in {"every": every, "episodes": episodes, "longest": longest}.items():
            if value < 1:
                raise GoalsetsError(f"{name} must be 1 or more, got {value}.")
        self.env = env
        self.questions = _questions(inner, questions)
        self.every = every
        self.episodes = episodes
        self.longest = longest
        self.directory = None if directory is None else Path(directory)
        self.seed = seed
        self.deterministic = deterministic
        self.answered: Mapping[str, Answered] = {}
        """The last evaluation, by question."""
        self.best: tuple[float, float] | None = None
        """Mean success of the best model, and minus its mean steps."""

    def _on_step(self) -> bool:
        """Evaluate if it is time; return False to end training if `on_new_best` says so."""
        return self.n_calls % self.every != 0 or self.evaluate()

    def evaluate(self) -> bool:
        """Run all episodes of all questions, log them, and keep the model if it is the best."""
        self.answered = {text: self._ask(text) for text in self.questions}
        self._log()
        mean = _mean([answer.rate.value for answer in self.answered.values()])
        steps = [answer.steps for answer in self.answered.values() if answer.steps is not None]
        score = (mean, -_mean(steps) if steps else 0.0)
        new_best = self.best is None or score > self.best
        if self.directory is not None:
            self.directory.mkdir(parents=True, exist_ok=True)
            record = {
                "timesteps": self.num_timesteps,
                "success": mean,
                "best": new_best,
                "questions": {text: answer.record() for text, answer in self.answered.items()},
            }
            with (self.directory / RECORDS).open("a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")
        if not new_best:
            return True
        self.best = score
        if self.directory is not None:
            _save(self.model, self.directory / BEST)
        return self._on_event()

    def _ask(self, text: str) -> Answered:
        lengths = [self._run(text, self.seed + number) for number in range(self.episodes)]
        reached = [length for length in lengths if length is not None]
        return Answered(Rate(len(reached), self.episodes), _mean(reached) if reached else None)

    def _run(self, text: str, seed: int) -> int | None:
        """Run one episode; return the steps until the goal set was reached, or None."""
        observation, info = self.env.reset(seed=seed, options={"query": text})
        steps, state, over = 0, None, False
        # `episode_start` is for recurrent policies; others ignore it.
        while not (over or info["is_success"]):
            seen = self._normalised(observation)
            action, state = self.model.predict(
                seen,
                state=state,
                episode_start=np.array([steps == 0]),
                deterministic=self.deterministic,
            )
            observation, _, terminated, truncated, info = self.env.step(action)
            steps += 1
            over = terminated or truncated or steps >= self.longest
        return steps if info["is_success"] else None

    def _normalised(self, observation: Any) -> Any:  # noqa: ANN401 - a dictionary of arrays
        """An observation, normalised as in training."""
        normalised = self.model.get_vec_normalize_env()
        return observation if normalised is None else normalised.normalize_obs(observation)

    def _log(self) -> None:
        for text, answer in self.answered.items():
            low, high = answer.rate.interval
            told = {"success": answer.rate.value, "low": low, "high": high}
            for name, value in told.items():
                # The table on the terminal truncates long names, and fails if two become equal.
                self.logger.record(f"eval_{name}/{text}", value, exclude=("stdout", "log"))
        mean = _mean([answer.rate.value for answer in self.answered.values()])
        self.logger.record("eval/success", mean)
        self.logger.record("time/total_timesteps", self.num_timesteps, exclude="tensorboard")
        self.logger.dump(self.num_timesteps)
        if self.verbose:
            each = ", ".join(f"{text} {answer.rate}" for text, answer in self.answered.items())
            print(f"evaluated step {self.num_timesteps}: {each}; {self.episodes} episodes each")  # noqa: T201


def _questions(env: GoalSetEnv, given: Sequence[str] | None) -> tuple[str, ...]:
    texts = getattr(env.queries, "texts", None) if given is None else given
    if not texts:
        raise GoalsetsError(
            "the environment draws its queries from a distribution: name the questions to "
            "evaluate, such as GoalSetEvalCallback(..., questions=['eff_pos'])."
        )
    for text in texts:
        Query.parse(text, env.layout)
    return tuple(texts)


def _mean(values: Sequence[float]) -> float:
    return float(sum(values) / len(values))


def _save(model: Any, path: Path) -> None:  # noqa: ANN401 - a model of Stable-Baselines3
    """Replace the best model in one step, so that a kill leaves the old file intact."""
    temporary = path.with_name(f".{path.name}")
    model.save(temporary)
    written = temporary if temporary.exists() else temporary.with_name(temporary.name + ".zip")
    written.replace(path)
