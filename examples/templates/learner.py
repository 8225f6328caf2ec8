"""A learner of my own, in one file: imitate by a Huber loss, and count the steps to the goal.

    L_π = E [ huber(π(s_t, ψ) − a_t) ],    L_d = E [ huber(d(s_t, ψ) − k / H) ]
    ψ = ψ(s_t, s_{t+k}, q)

Copy it, change the lines that are marked with "Yours:", and say
`goalsets train TASK --learner huber --plugin my_learner.py`. docs/your-own-learner.md has the whole
contract.
"""

from dataclasses import dataclass

from torch.nn import functional as F

from goalsets.learners import LEARNERS, STEPS, BatchSpec, Learner
from goalsets.nets import GoalMLP
from goalsets.relabel.batch import ACTOR
from goalsets.relabel.goals import ACTOR_GOALS


@dataclass(frozen=True)
class HuberConfig:
    """Yours: what people may set, as in `--set delta=0.5`, each with a line on what it does."""

    delta: float = 1.0
    """Errors above this, in standard deviations, count linearly."""


@LEARNERS.register("huber")  # Yours: its name, the same word in commands, records and docs.
class Huber(Learner):
    """Yours: what it is, in a line."""

    Config = HuberConfig
    # Yours: what its distance counts. Leave it out, and `distance` too, if it learns none.
    distance_unit = STEPS
    # Yours: what suits it, by preset; `small` is for worlds such as the tabletop.
    presets = {  # noqa: RUF012 - declared, and never changed
        "cpu": {"steps": 4_000, "batch_size": 1024, "learning_rate": 2e-3},
    }

    def __init__(self, problem, conditioner, config):
        """Make the networks. `self.actor`, which maps states and ψ to actions, is there already."""
        super().__init__(problem, conditioner, config)
        # Yours: further networks, of any kind.
        self.steps = GoalMLP(problem.state_dim, self.goal_dim, 1, hidden=problem.hidden)

    @classmethod
    def batch_spec(cls, config):
        """Yours: what each batch must hold. Here: for each transition a later state as its goal."""
        return BatchSpec({ACTOR: ACTOR_GOALS})

    def losses(self, batch):
        """Yours: the loss, and what to log. Everything in a batch is a standardised tensor."""
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
        """Yours: how far goals are, `[B]`, in `distance_unit`."""
        return self.count(states, self.conditioner(states, goals, masks)) * self.problem.horizon
