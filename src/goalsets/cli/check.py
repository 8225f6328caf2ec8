"""`goalsets check`: judge a run from its data, without a simulator."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from goalsets.cli.counts import OptionalSize, Size

if TYPE_CHECKING:
    from goalsets.check import Check, Checked, Question
    from goalsets.data.store import Store
    from goalsets.evaluate.goals import Floats
    from goalsets.runs.run import Run

PAGE, NUMBERS = "check.html", "check.json"


def check(  # noqa: PLR0913, PLR0917 - the flags of a command
    run: Annotated[Path, tyro.conf.Positional],
    query: tuple[str, ...] = (),
    suite: Path | None = None,
    goal: str | None = None,
    set: tuple[str, ...] = (),  # noqa: A002 - what people type
    no_pairs: bool = False,
    step: OptionalSize = None,
    data: Path | None = None,
    rate: float | None = None,
    seed: Size = 0,
    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None,
) -> None:
    """Judge a run question by question, from its data alone.

    Nothing is simulated. Each question is checked four ways. Does the data support it? Does the
    policy act like the held-out data? Does it predict the distance well? How does it behave? Each
    question gets a verdict, go, caution or no-go, with the reason. The command writes an HTML page,
    and the numbers as JSON.

    Args:
        run: A run directory, or a model that comes with goalsets: demo or two-cubes.
        query: Questions to check, such as "block0_pos & block0_yaw:20deg"; by default all single
            groups of the layout and all pairs of them.
        suite: Check the questions of a suite instead: a file that 'goalsets suite build' wrote, or
            a YAML description.
        goal: Check this goal instead of many held-out ones. bank:17 is a state of the validation
            split, and 'bank:block0_pos.z >= 0.6' one that satisfies a condition. A JSON file gives
            all coordinates. task:3 works if the task has an environment.
        set: Edits of that goal, as for 'goalsets ask'; without a goal they apply to bank:0.
        no_pairs: Check single groups only.
        step: A step whose weights were kept; the latest checkpoint unless given.
        data: The store of the run's data; by default the one in $GOALSETS_DATA or ~/.goalsets/data
            under the task's name.
        rate: Control steps a second; by default the rate in the store. With a rate, times are
            given in seconds, and the time to act is compared with the control period.
        seed: The seed of the draws of held-out states and goals.
        output: The directory for the page and the numbers; by default RUN/check, or ./check for a
            model that comes with goalsets.
    """
    from goalsets.check import check_run
    from goalsets.check.page import write_json, write_page
    from goalsets.cli.posing import named_goal, run_store
    from goalsets.core import GoalsetsError
    from goalsets.runs.run import Run

    if suite is not None and (query or goal or set):
        raise GoalsetsError(
            "a suite has its own questions and goals: leave out --query, --goal and --set."
        )
    if rate is not None and not rate > 0:
        raise GoalsetsError(f"the rate must be above 0 steps a second, got {rate}.")
    opened = Run.open(run)
    store = run_store(opened, data)
    named = named_goal(opened, store, goal, set, seed)
    questions = _questions(opened, store, query, suite, named)
    found = check_run(opened, store, questions, pairs=not no_pairs, step=step, rate=rate, seed=seed)
    place = output or (Path() if opened.shipped else opened.path) / "check"
    place.mkdir(parents=True, exist_ok=True)
    write_page(found, place / PAGE)
    write_json(found, place / NUMBERS)
    _print(found)
    print(f"page: {place / PAGE}, numbers: {place / NUMBERS}")


def _questions(
    run: Run, store: Store, queries: Sequence[str], suite: Path | None, goal: Floats | None
) -> list[Question] | None:
    """The questions that were named; None for all single groups and pairs."""
    from goalsets.check import make_question, suite_questions
    from goalsets.core import GoalsetsError, Query
    from goalsets.data.tolerances import UsualTolerances

    layout, usual = run.frame.layout, UsualTolerances.of(store.train)
    if suite is not None:
        return suite_questions(suite, layout, usual)
    if goal is not None and not queries:
        raise GoalsetsError("a goal needs a question: say which coordinates count with --query.")
    goals = None if goal is None else goal[None]
    asked = [make_question(Query.parse(text, layout), usual, text, goals) for text in queries]
    return asked or None


def _print(found: Check) -> None:
    from goalsets.check.words import STILL, summary
    from goalsets.cli.printing import print_table

    held_out = f"{found.held_out_episodes:,} held out" if found.held_out else "none held out"
    print(f"{found.run}: {found.learner} with {found.scheme}, step {found.step:,}")
    print(f"data       {found.train_episodes:,} episodes to train on, {held_out}")
    print(f"still      {STILL[found.still]}")
    for note in found.notes:
        print(f"note       {note}")
    rows = [(q.verdict.word, q.name, q.verdict.reason) for q in found.questions]
    print_table(("verdict", "question", "because"), rows)
    if len(found.questions) == 1:
        _print_one(found, found.questions[0])
    print(summary(found))


def _print_one(found: Check, checked: Checked) -> None:
    """Print the details of a single question."""
    from goalsets.check.words import baselines, number, share, times
    from goalsets.core.durations import duration

    for other in checked.verdict.others:
        print(f"also       {other}")
    seen = checked.support
    print(
        f"support    {number(seen.states)} of {seen.all_states:,} states, in "
        f"{number(seen.episodes)} of {seen.all_episodes:,} episodes, from {number(seen.starts)} "
        "different starts"
    )
    if seen.reach is not None:
        print(f"reach      {share(seen.reach.share)} of random states and goals")
    if seen.direct is not None:
        took = "" if seen.steps is None else f", in {duration(seen.steps[1], found.rate)} typically"
        print(
            f"           the data went there {number(seen.visits)} times, {share(seen.direct)} of "
            f"them directly{took}"
        )
    for near in seen.nearest:
        terms = ", ".join(f"{name}: {said}" for name, said in near.terms.items())
        print(f"nearest    step {near.step} of training episode {near.episode}: {terms}")
    if checked.imitation is not None:
        compared = baselines(checked.imitation.overall, found.still)
        for place, (name, error) in enumerate(compared):
            print(f"{'' if place else 'error':10} {error:.2f} {name}")
        print(f"learned    {times(checked.imitation.overall.learned)} as much as look-up")
    if checked.distances is not None:
        knows = checked.distances
        error = "" if knows.error is None else f", off by {duration(knows.error, found.rate)}"
        print(
            f"distance   rank correlation {number(knows.rank_correlation)}{error}; falls along "
            f"{share(knows.falls)} of the recorded ways"
        )
