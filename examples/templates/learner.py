"""A learner of my own, in one file: imitate with a Huber loss, and count the steps to the goal.

    L_π = E [ huber(π(s_t, ψ) − a_t) ],    L_d = E [ huber(d(s_t, ψ) − k / H) ]
    ψ = ψ(s_t, s_{t+k}, q)

Copy it, change the lines that are marked with "Yours:", and run
`goalsets train TASK --learner huber --plugin my_learner.py`. docs/your-own-learner.md has the whole
contract.
"""

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta
from torch.nn import functional as F

from goalsets.learners import LEARNERS, STEPS, BatchSpec, Learner, Settings
from goalsets.nets import GoalMLP
from goalsets.relabel.batch import ACTOR
from goalsets.relabel.goals import ACTOR_GOALS


@dataclass(frozen=True)
class HuberConfig(Settings):
    """Yours: its settings, as in `--set delta=0.5`, each with a line that explains it.

    A value outside the range of a setting (`gt`, `ge`, `lt`, `le`) is an error. Ranges may be left
    out: then write `delta: float = 1.0`.
    """

    delta: Annotated[float, Meta(gt=0, le=1000)] = 1.0
    """Errors above this, in standard deviations, count linearly."""


@LEARNERS.register("huber")  # Yours: its name, the same word in commands, records and docs.
class Huber(Learner):
    """Yours: one line that describes it."""

    Config = HuberConfig
    # Yours: the unit of its distance. Leave out this line and `distance` if it learns none.
    distance_unit = STEPS
    # Yours: its hyperparameters for each preset; `small` is for tasks such as the tabletop.
    presets = {  # noqa: RUF012 - declared, and never changed
        "cpu": {"steps": 4_000, "batch_size": 1024, "learning_rate": 2e-3},
    }

    def __init__(self, problem, conditioner, config):
        """Make the networks. `self.actor`, which maps states and ψ to actions, already exists."""
        super().__init__(problem, conditioner, config)
        # Yours: further networks, of any kind.
        self.steps = GoalMLP(problem.state_dim, self.goal_dim, 1, hidden=problem.hidden)

    @classmethod
    def batch_spec(cls, config):
        """Yours: the content of a batch. Here each transition has a later state as its goal."""
        return BatchSpec({ACTOR: ACTOR_GOALS})

    def losses(self, batch):
        """Yours: the loss, and the metrics. Everything in a batch is a standardised tensor."""
        goals, delta = batch.goals[ACTOR], self.config.delta
        z = self.condition(batch.states, goals)  # ψ: never ask which scheme made it
        actor_loss = F.huber_loss(self.actor(batch.states, z), batch.actions, delta=delta)
        counted = goals.steps / self.problem.horizon
        steps_loss = F.huber_loss(self.count(batch.states, z), counted, delta=delta)
        logged = {"actor/loss": actor_loss.detach(), "steps/loss": steps_loss.detach()}
        return actor_loss + steps_loss, logged

    def count(self, states, z):
        """Predicted steps `[B]`, in horizons."""
        return self.steps(states, z)[0, :, 0]

    def distance(self, states, goals, masks):
        """Yours: the distance to the goals, `[B]`, in `distance_unit`."""
        return self.count(states, self.conditioner(states, goals, masks)) * self.problem.horizon
