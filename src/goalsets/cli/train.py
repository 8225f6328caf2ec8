"""`goalsets train`: train a policy from logs."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from goalsets.cli.counts import Count, OptionalCount, OptionalSize, Size

if TYPE_CHECKING:
    from goalsets.data.store import Store
    from goalsets.evaluate.alongside import Failure
    from goalsets.runs.config import TrainConfig
    from goalsets.runs.run import Run
    from goalsets.train.log import Log


@dataclass(frozen=True)
class Overrides:
    """Hyperparameters that replace those of the preset."""

    steps: OptionalCount = None
    """Gradient steps."""
    batch_size: OptionalCount = None
    """Transitions in a batch."""
    learning_rate: float | None = None
    """Learning rate of AdamW."""
    weight_decay: float | None = None
    """Weight decay of AdamW."""
    schedule: Literal["constant", "cosine"] | None = None
    """Whether the learning rate stays constant or decays along a cosine."""
    labels: Literal["predicate", "terms", "identity", "arrival"] | None = None
    """The rule by which relabeling decides whether a state is at a goal."""
    direct: OptionalCount = None
    """Draw only goals that the data reaches within this many steps, and that do not hold yet."""
    direct_robot: OptionalCount = None
    """With --direct: the same, for questions of which only the place of the hand is left."""
    linger: OptionalSize = None
    """With --direct: also draw goals for this many steps after the data reached them."""
    settled: OptionalSize = None
    """With --direct: a goal about an object must have held for this many steps."""
    inputs: str | None = None
    """How the networks see a question: plain (as in the paper), relational or focused."""
    fill: Literal["learned", "zero", "random"] | None = None
    """What replaces the goal coordinates that a query leaves out."""
    clamp: Literal["environment", "standardised"] | None = None
    """The units in which the actor's actions are bounded."""
    action_low: tuple[float, ...] | None = None
    """The smallest action: one number, or one per component; by default from task or store."""
    action_high: tuple[float, ...] | None = None
    """The largest action, in the same form."""
    action_switches: tuple[int, ...] | None = None
    """Components of actions that are switches; policies answer only their two values in the data.
    By default those of the store; without a number, none."""
    clip_apart: bool | None = None
    """Whether the gradient of each network is clipped separately."""
    hidden: OptionalCount = None
    """Width of the networks' hidden layers."""
    precision: Literal["float32", "bfloat16"] | None = None
    """Number format of hidden layers in training; bfloat16 is faster on processors that have it."""
    horizon: OptionalCount = None
    """How many steps ahead a goal may be; by default the task's, or estimated from your store."""


@dataclass(frozen=True)
class Looking:
    """What is evaluated, kept and logged during training."""

    evaluate: Literal["alongside", "afterwards", "never"] = "alongside"
    """Evaluate on the official goals during training, after training, or never."""
    episodes: Size = 10
    """Episodes for each official goal in an evaluation."""
    keep_every: OptionalCount = None
    """Steps between the weights that are kept and evaluated; by default a quarter of all steps."""
    checkpoint_every: Count = 1_000
    """Steps between checkpoints."""
    log_every: Count = 100
    """Steps between rows of metrics."""
    wandb: str | None = None
    """Also log to this project of Weights & Biases."""


def train(  # noqa: PLR0913, PLR0917 - the flags of a command
    task: Annotated[str, tyro.conf.Positional],
    learner: str | None = None,
    scheme: str | None = None,
    preset: str = "cpu",
    seed: Size = 0,
    data: Path | None = None,
    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None,
    resume: bool = False,
    set: tuple[str, ...] = (),  # noqa: A002 - what people type
    threads: OptionalCount = None,
    device: str = "cpu",
    data_in: Literal["auto", "memory", "disk"] = "auto",
    overrides: Overrides = Overrides(),  # noqa: B008 - frozen
    looking: Looking = Looking(),  # noqa: B008 - frozen
) -> None:
    """Train a policy from logged data, and evaluate it during training.

    The run directory holds everything: configuration, layout, weights, metrics and evaluations.
    You may kill a training at any time; --resume continues it exactly.

    Args:
        task: A task, such as cube-single-noisy-v0 ('goalsets tasks' lists them), or the directory
            of a store of your own.
        learner: The algorithm: gcbc (the default), chunkbc, gcivl, gciql, gcdl, crl, hiql, qrl, or
            one of a plugin.
        scheme: How transitions are relabeled. gs-blockwise (the paper's, and the default),
            gs-semantic and gs-uniform train for any query. gs-direct does too, needs only minutes,
            and copes with several objects (docs/direct.md). her-full trains for the full state
            only, her-task for the official query only.
        preset: Where the hyperparameters come from: cpu (minutes on two cores), hour (direct
            hindsight with every scheme), paper, released (as in the paper's code) or ogbench.
        seed: The seed of all random draws.
        data: The store; by default the one in $GOALSETS_DATA or ~/.goalsets/data under the task's
            name. Some tasks generate their data.
        output: The run directory; by default runs/TASK/LEARNER-SCHEME-PRESET-sSEED.
        resume: Continue the run in the run directory.
        set: Settings of the learner, such as --set alpha=0.3 witness=true.
        threads: Threads to compute with; by default one for each processor.
        device: Where to compute: cpu, or an accelerator that torch has, such as cuda.
        data_in: Whether the data is copied into memory or read from disk. From disk, training needs
            less than 1 GiB for data of any size. auto decides by the size and prints its choice.
            The weights are the same.
        overrides: Replace single hyperparameters of the preset.
        looking: What is evaluated, kept and logged during training.
    """
    import torch
    from rich.console import Console

    from goalsets.cli.training_screen import TrainingScreen
    from goalsets.data.drawing import choose_place
    from goalsets.evaluate.alongside import Alongside
    from goalsets.learners import DEFAULT
    from goalsets.relabel.queries import DEFAULT_SCHEME
    from goalsets.runs.presets import resolve
    from goalsets.runs.run import lock_run
    from goalsets.train.session import Pace
    from goalsets.train.session import train as run_training
    from goalsets.workers import available_cores

    changed = {k: v for k, v in dataclasses.asdict(overrides).items() if v is not None}
    settings = _settings(set)

    def configure(**more: Any) -> TrainConfig:  # noqa: ANN401 - fields of the configuration
        return resolve(
            task,
            learner=learner or DEFAULT,
            scheme=scheme or DEFAULT_SCHEME,
            preset=preset,
            seed=seed,
            overrides={**more, **changed},
            settings=settings,
        )

    config = configure()  # report mistakes in it before data is looked for or generated
    place = output or Path("runs") / Path(task).name / _run_name(config, preset)
    with lock_run(place):  # report that another process trains here before the data is read
        store, known = _find_data(task, data)
    if not known and config.horizon is None:
        config = configure(horizon=_horizon(store))
    evaluate = looking.evaluate if known and _can_simulate(task) else "never"
    where = choose_place(data_in, store.train, say=_say)
    cores = available_cores()
    torch.set_num_threads(threads or cores)
    # Alongside, training goes on in the other half of the cores.
    workers = cores if evaluate == "afterwards" else max(1, cores // 2)
    screen = TrainingScreen(
        Console(stderr=True), evaluate, lambda run: Alongside(run, looking.episodes, workers)
    )
    with screen:
        try:
            run = run_training(
                config,
                store,
                place,
                resume=resume,
                pace=Pace(
                    looking.log_every,
                    looking.checkpoint_every,
                    looking.keep_every or max(1, config.steps // 4),
                ),
                watch=screen,
                more_logs=_wandb(looking.wandb),
                device=device,
                data_in=where,
                say=_say,
            )
            screen.finish()
        except KeyboardInterrupt:
            print(
                f"stopped: {place} has the last checkpoint. Run the same command with --resume "
                "to continue.",
                file=sys.stderr,
            )
            raise SystemExit(130) from None
        finally:
            screen.abandon()
    print(f"trained {config.learner} with {config.scheme} on {task}: {run.path}")
    if screen.failures:
        _say_failures(screen.failures, run)
    if known:
        print(f"next: goalsets eval {run.path}, or goalsets check {run.path}")
    else:
        print(f"next: goalsets check {run.path}")


def _horizon(store: Store) -> int | None:
    """The horizon that the data itself suggests; None where it cannot."""
    from goalsets.core.durations import duration
    from goalsets.data.horizon import WORDS, usual_horizon

    if store.layout is None or store.train.num_transitions < 1:
        return None  # training then says what the store lacks
    found = usual_horizon(store.train, store.layout)
    _say(f"goals lie up to {duration(found, store.rate)} ahead: {WORDS}.")
    return found


def _say_failures(failures: Sequence[Failure], run: Run) -> None:
    """Repeat at the end, where people look, which evaluations failed."""
    from goalsets.evaluate.alongside import LOG

    steps = ", ".join(f"{failure.step:,}" for failure in failures)
    what = "evaluation" if len(failures) == 1 else "evaluations"
    _say(
        f"{len(failures)} {what} failed, at step {steps}: {failures[-1].reason}\n"
        f"Their full output is in {run.path / LOG}. The weights are kept: to try again, run "
        f"goalsets eval {run.path} --step {failures[-1].step}."
    )


def _run_name(config: TrainConfig, preset: str) -> str:
    return f"{config.learner}-{config.scheme}-{preset}-s{config.seed}"


def _find_data(task: str, data: Path | None) -> tuple[Store, bool]:
    """The store to train on, and whether the task has an environment to evaluate in."""
    from goalsets.cli.printing import find_store
    from goalsets.data.store import INDEX, Store
    from goalsets.envs.tasks import TASKS

    known = task in TASKS or not (Path(task) / INDEX).exists()
    if known:
        TASKS[task]
    store = find_store(task, data, make=True) if known else Store.open(task, mapped=True)
    store.verify()
    return store, known


def _can_simulate(task: str) -> bool:
    """Whether the task's environment can be made; if not, say why. Training goes on without it."""
    from goalsets.core.extras import MissingExtraError
    from goalsets.envs.tasks import TASKS

    try:
        TASKS[task].require_libraries()
    except MissingExtraError as error:
        _say(f"training goes on without evaluations: {error}")
        return False
    return True


def _say(text: str) -> None:
    print(text, file=sys.stderr)


def _settings(pairs: Sequence[str]) -> dict[str, Any]:
    """Turn `alpha=0.3` into a setting."""
    from goalsets.core import GoalsetsError, door

    settings: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not (name and equals and value):
            raise GoalsetsError(f"--set takes settings such as alpha=0.3, got {pair!r}.")
        settings[name.replace("-", "_")] = door.parse_yaml(value, f"--set {name}")
    return settings


def _wandb(project: str | None) -> Callable[[Run], Sequence[Log]]:
    from goalsets.train.log import import_wandb

    if project:
        import_wandb()  # before anything is written

    def make(run: Run) -> Sequence[Log]:
        from goalsets.train.log import WandbLog

        return [WandbLog(run.path, project, dataclasses.asdict(run.config))] if project else []

    return make
