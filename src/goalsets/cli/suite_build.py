"""`goalsets suite build`: draw the goals of a suite once, for all runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from goalsets.cli.counts import OptionalCount, Size
from goalsets.cli.printing import print_table

if TYPE_CHECKING:
    from goalsets.evaluate.suites import Suite


def build(
    task: Annotated[str, tyro.conf.Positional],
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"])],
    data: Path | None = None,
    description: Path | None = None,
    episodes: OptionalCount = None,
    seed: Size = 0,
) -> None:
    """Build a suite: many questions about one task, on the same episodes for every run.

    A suite consists of predicates: a predicate is a question with its goals. Goals are drawn from
    the validation split only, away from the start of the episode. The file holds every episode with
    its full reference state, and a digest.

    Args:
        task: A task, such as cube-single-noisy-v0.
        output: The file to write, such as suites/cube-single.json.
        data: The store; by default the one in $GOALSETS_DATA or ~/.goalsets/data under the task's
            name.
        description: A YAML file that declares predicates of your own; by default the one that
            goalsets ships for the task.
        episodes: Episodes of each predicate from each official start; by default as the description
            says. The shipped descriptions say 20.
        seed: The seed of the draws of goals.
    """
    from goalsets.cli.printing import find_store
    from goalsets.core import GoalsetsError
    from goalsets.data.store import INDEX
    from goalsets.envs.tasks import TASKS
    from goalsets.evaluate.suites import build_suite, read_description, shipped_description
    from goalsets.evaluate.suites.build import with_episodes

    if task not in TASKS and (Path(task) / INDEX).exists():
        raise GoalsetsError(
            f"{task} is data without an environment, so no episode can be run. 'goalsets check RUN "
            "--suite DESCRIPTION.yaml' checks the questions of a suite on the data alone."
        )
    TASKS[task]
    declared = shipped_description(task) if description is None else read_description(description)
    suite = build_suite(task, find_store(task, data), with_episodes(declared, episodes), seed=seed)
    suite.save(output)
    _print(suite, output)


def _print(suite: Suite, path: Path) -> None:
    counts: dict[str, int] = {}
    for episode in suite.episodes:
        counts[episode.predicate] = counts.get(episode.predicate, 0) + 1
    print(f"{suite.name}: {len(suite.episodes)} episodes of {suite.task}, digest {suite.digest}")
    rows = [
        (name, str(counts[name]), coordinate, *(f"{v:.3f}" for v in numbers), question.query)
        for name, question in suite.questions.items()
        for coordinate, numbers in question.statistics.items()
    ]
    print_table(("predicate", "episodes", "coordinate", "min", "mean", "max", "query"), rows)
    print(f"next: goalsets suite run RUN... --suite {path}")
