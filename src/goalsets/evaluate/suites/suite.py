"""A suite: every episode in one file, with a digest that reveals changes."""

from __future__ import annotations

import functools
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from goalsets.core import StateLayout, door, layout_to_dict
from goalsets.core.door.fit import Seed, Whole
from goalsets.core.errors import suggest
from goalsets.evaluate.rollout import EpisodeSpec
from goalsets.evaluate.suites.description import SuiteError

FORMAT = "goalsets-suite"
VERSION = 1

__all__ = ["Suite", "SuiteEpisode", "SuiteError", "SuiteQuestion", "layout_digest"]


@dataclass(frozen=True)
class SuiteQuestion:
    """A predicate of a suite, resolved under the task's layout."""

    query: str
    goals: str
    where: str | None
    margin: float | None
    """None if the official goals are used as they are."""
    description: str
    statistics: Mapping[str, Sequence[float]]
    """Minimum, mean and maximum of the references, by coordinate, in observation units."""


@dataclass(frozen=True)
class SuiteEpisode:
    """One episode: its predicate, its start, and the full reference state."""

    predicate: str
    task_id: Whole
    seed: Seed
    goal: tuple[float, ...]


@dataclass(frozen=True)
class Suite:
    """A fixed list of episodes for one task."""

    name: str
    task: str
    layout: str
    """Digest of the layout of the references and queries."""
    data: Mapping[str, Any]
    """Fingerprint of the data whose validation split the references are from."""
    seed: Whole
    """The seed of the draws of references."""
    questions: Mapping[str, SuiteQuestion]
    episodes: tuple[SuiteEpisode, ...]

    @functools.cached_property
    def digest(self) -> str:
        """A digest of the content: equal suites have equal digests."""
        return _digest(self._plain())

    def save(self, path: str | Path) -> None:
        """Write the suite to a JSON file, with its digest."""
        path = Path(path)
        plain = self._plain()
        episodes = ",\n".join(json.dumps(episode) for episode in plain.pop("episodes"))
        head = json.dumps({"digest": self.digest, **plain}, indent=1).removesuffix("\n}")
        # One line for each episode, so that people and diffs can read a suite.
        text = f'{head},\n "episodes": [\n{episodes}\n ]\n}}\n'
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise SuiteError(f"cannot write the suite {path}: {error.strerror}.") from error

    @classmethod
    def load(cls, path: str | Path) -> Suite:
        """Read a suite, and refuse a file whose content does not match its digest."""
        path = Path(path)
        plain = door.read_json(path, what="the suite", kind=SuiteError)
        if not isinstance(plain, dict) or plain.get("format") != FORMAT:
            raise SuiteError(f"{path} is no suite: 'goalsets suite build' writes one.")
        if plain.get("version") != VERSION:
            raise SuiteError(
                f"{path} is a suite of version {plain.get('version')}; this goalsets reads "
                f"version {VERSION}. Build it again."
            )
        stored = plain.pop("digest", None)
        found = _digest(plain)
        if stored != found:
            raise SuiteError(
                f"{path} was changed after it was built: it names the digest {stored}, but its "
                f"content has {found}. Build it again, or get the file again."
            )
        suite: Suite = door.fit(plain, cls, f"{path} is damaged", kind=SuiteError)
        # Keep the digest of the file: a float such as 1 would print as 1.0 and change it.
        vars(suite)["digest"] = found
        for number, episode in enumerate(suite.episodes):
            if episode.predicate not in suite.questions:
                raise SuiteError(
                    f"{path} is damaged: episode {number} asks {episode.predicate!r}, but the "
                    "suite has no such question."
                )
            if not all(map(math.isfinite, episode.goal)):
                raise SuiteError(f"{path} is damaged: the goal of episode {number} is not finite.")
        return suite

    def check_run(self, task: str, layout: StateLayout, run: Path) -> None:
        """Raise an error unless a run of this task and layout can be asked."""
        if task != self.task:
            raise SuiteError(
                f"the suite {self.name!r} is for {self.task}; {run} was trained on {task}. Build "
                f"one with 'goalsets suite build {Path(task).name}'."
            )
        found = layout_digest(layout)
        if found != self.layout:
            raise SuiteError(
                f"the suite {self.name!r} was built for another layout than that of {run} (digest "
                f"{self.layout}, not {found}): its questions would mean something else. Build a "
                "suite for this layout."
            )

    def select(self, only: Sequence[str] = (), episodes: int | None = None) -> list[SuiteEpisode]:
        """The episodes of some or all predicates; the first `episodes` of each start, or all."""
        for name in only:
            if name not in self.questions:
                raise SuiteError(f"unknown predicate {name!r}: {suggest(name, self.questions)}")
        if episodes is not None and episodes < 1:
            raise SuiteError(f"episodes must be 1 or more, got {episodes}.")
        taken: dict[tuple[str, int], int] = {}
        chosen: list[SuiteEpisode] = []
        for episode in self.episodes:
            if only and episode.predicate not in only:
                continue
            place = (episode.predicate, episode.task_id)
            taken[place] = taken.get(place, 0) + 1
            if episodes is None or taken[place] <= episodes:
                chosen.append(episode)
        return chosen

    def spec(self, episode: SuiteEpisode) -> EpisodeSpec:
        """The specification of an episode, as a rollout needs it."""
        query = self.questions[episode.predicate].query
        return EpisodeSpec(self.task, episode.task_id, episode.seed, query, episode.goal)

    def _plain(self) -> dict[str, Any]:
        plain = {**asdict(self), "format": FORMAT, "version": VERSION}
        # Tuples become lists, as in the file.
        return door.parse_json(json.dumps(plain), "the suite")


def layout_digest(layout: StateLayout) -> str:
    """A digest of the parts of a layout that give queries their meaning."""
    plain = layout_to_dict(layout)
    for group in plain["groups"].values():
        for word in ("description", "kind", "relative_to"):
            group.pop(word, None)
    return _digest(plain)


def _digest(plain: Any) -> str:  # noqa: ANN401 - plain data
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
