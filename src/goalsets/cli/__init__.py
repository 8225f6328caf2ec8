"""The command line: one file for each command."""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from goalsets import __version__
from goalsets.cli.overview import overview
from goalsets.core import GoalsetsError
from goalsets.core.errors import suggest
from goalsets.core.extras import needed_by
from goalsets.core.plugins import use_plugins

Verbs = Mapping[str, Callable[..., Any]]


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line. A user's mistake becomes one line on standard error."""
    words = list(sys.argv[1:] if args is None else args)
    try:
        _run_words(words)
        sys.stdout.flush()
    except GoalsetsError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    except KeyboardInterrupt:  # commands that keep something say more, and never come here
        print("stopped by Ctrl-C", file=sys.stderr)
        raise SystemExit(130) from None
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        # At exit Python flushes standard output again; into a closed pipe that is an error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0) from None


def _run_words(words: list[str]) -> None:
    """Load the plugins and run the command; help ends with a note on plugins."""
    try:
        words, plugins = take_plugins(words)
        use_plugins(plugins, "by --plugin")
        with needed_by(f"'{' '.join(('goalsets', *words[:1]))}'"):
            _dispatch(words)
    except SystemExit as end:
        if end.code in (0, None) and {"-h", "--help"} & set(words):
            print(PLUGIN_HELP, flush=True)
        raise


def _dispatch(words: list[str]) -> None:
    """Run the command that the first words name."""
    if words[:1] == ["--version"]:
        print(f"goalsets {__version__}")
    elif words[:1] in (["-h"], ["--help"]):
        print(overview(_GOALSETS, _verbs()))
        raise SystemExit(0)
    elif words[:1] == ["data"]:
        _check_source(words)
        _run(_data_verbs(), words[1:], "goalsets data", _DATA)
    elif words[:1] == ["suite"]:
        _run(_suite_verbs(), words[1:], "goalsets suite", _SUITE)
    elif words[:2] in (["tasks", "show"], ["tasks", "check"]):
        _one_task(words[1], words[2:])
    elif words[:2] == ["sweep", "status"]:
        _sweep_status(words[2:])
    else:
        _run(_verbs(), words, "goalsets", _GOALSETS)


PLUGIN_HELP = """\
On every command: --plugin NAME loads a module of yours (my_robot, my_lab.robots) or a file
(robots/my_robot.py) that adds tasks, learners, schemes or sources. It may be repeated."""


def take_plugins(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split a command line into the words without `--plugin NAME`, and the plugins."""
    rest: list[str] = []
    plugins: list[str] = []
    remaining = iter(words)
    for word in remaining:
        option, equals, name = word.partition("=")
        if option != "--plugin":
            rest.append(word)
            continue
        name = name if equals else next(remaining, "")
        if not name or name.startswith("-"):
            raise GoalsetsError(
                "--plugin needs a name: a module such as my_robot, or a file such as "
                "robots/my_robot.py."
            )
        plugins.append(name)
    return rest, plugins


_GOALSETS = "Queryable robot goals: train one policy from logs, ask it many questions."
_DATA = "Data: collect it, import your own logs, and inspect it."
_SUITE = "Suites: many questions to one model, on the same episodes for every run."


def _run(verbs: Verbs, words: list[str], program: str, description: str) -> None:
    import tyro

    if words and not words[0].startswith("-") and words[0] not in verbs:
        raise GoalsetsError(
            f"unknown command '{program} {words[0]}': {suggest(words[0], verbs)} "
            f"'{program} --help' describes all."
        )
    tyro.extras.subcommand_cli_from_dict(
        {name: _reflowed(verb) for name, verb in verbs.items()},
        prog=program,
        description=description,
        args=words,
        config=_config(),
    )


def _check_source(words: list[str]) -> None:
    """Raise an error with the near names if `goalsets data import` names an unknown format."""
    from goalsets.data.sources import SOURCES

    if words[1:2] == ["import"] and words[2:] and not words[2].startswith("-"):
        SOURCES[words[2]]


def _one_task(verb: str, words: list[str]) -> None:
    """Run `goalsets tasks show` or `check`; `goalsets tasks` is also a command by itself."""
    import tyro

    from goalsets.cli.tasks import check, show

    chosen = _reflowed({"show": show, "check": check}[verb])
    tyro.cli(chosen, prog=f"goalsets tasks {verb}", args=words, config=_config())


def _sweep_status(words: list[str]) -> None:
    """Run `goalsets sweep status`; `goalsets sweep` is also a command by itself."""
    import tyro

    from goalsets.cli.sweep_status import status

    tyro.cli(_reflowed(status), prog="goalsets sweep status", args=words, config=_config())


def _reflowed(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Join the lines of each argument's description: tyro would break them as in the source."""
    verb.__doc__ = re.sub(r"\n {8,}(?=\S)", " ", inspect.getdoc(verb) or "")
    return verb


def _config() -> tuple[Any, ...]:
    import tyro

    return (
        tyro.conf.OmitArgPrefixes,
        tyro.conf.FlagCreatePairsOff,
        tyro.conf.PositionalMetavarFromFieldName,
        tyro.conf.CascadeSubcommandArgs,  # options may come last, after the choice of a source
    )


def _verbs() -> Verbs:
    from goalsets.cli import (
        ask,
        check,
        distance,
        export,
        landscape,
        plan,
        play,
        query,
        quickstart,
        report,
        serve,
        sweep,
        tasks,
        train,
    )
    from goalsets.cli import eval as evaluation

    return {
        "ask": ask.ask,
        "check": check.check,
        "data": data,
        "distance": distance.distance,
        "eval": evaluation.eval_,
        "export": export.export,
        "landscape": landscape.landscape,
        "plan": plan.plan,
        "play": play.play,
        "query": query.query,
        "quickstart": quickstart.quickstart,
        "report": report.report,
        "serve": serve.serve,
        "suite": suite,
        "sweep": sweep.sweep,
        "tasks": tasks.tasks,
        "train": train.train,
    }


def _data_verbs() -> Verbs:
    from goalsets.cli import data_collect, data_import, data_inspect

    return {
        "collect": data_collect.collect,
        "import": data_import.verb(),
        "inspect": data_inspect.inspect,
    }


def data() -> None:
    """Collect data, import your own, and inspect it: see 'goalsets data --help'."""
    raise AssertionError("handled by main")


def _suite_verbs() -> Verbs:
    from goalsets.cli import suite_build, suite_run

    return {"build": suite_build.build, "run": suite_run.run}


def suite() -> None:
    """Build a suite of many goals, and run it: see 'goalsets suite --help'."""
    raise AssertionError("handled by main")
