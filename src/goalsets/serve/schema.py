"""The wire format: what may be asked, and what is answered.

Numbers are JSON numbers: text is not read as a number, nor is true. JSON has no NaN and no
infinity; where a client sends one all the same, the answer is an error that names the coordinate.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, TypeAdapter

Number = Annotated[float, Field(strict=True)]
# The first number that is none is told, and no other looked for: a list may have many.
Numbers = Annotated[list[Number], Field(fail_fast=True)]
State = Annotated[Numbers, Field(description="A state: one number for each coordinate.")]
States = Annotated[list[State], Field(fail_fast=True, description="A batch: one state a row.")]
Named = Annotated[
    dict[str, Number | Numbers],
    Field(description="The groups that the query looks at, by name; the rest is left open."),
]

MAX_QUERY = 500
"""Characters of a query: reading one costs time, and nobody types more."""


def _rank(value: object) -> str:
    """Which of the forms a value has, so that an error speaks of that form alone."""
    if isinstance(value, dict):
        return "named"
    return "many" if isinstance(value, list) and value and isinstance(value[0], list) else "one"


OneOrMany = Annotated[
    Annotated[State, Tag("one")] | Annotated[States, Tag("many")], Discriminator(_rank)
]
Goal = Annotated[
    Annotated[State, Tag("one")] | Annotated[States, Tag("many")] | Annotated[Named, Tag("named")],
    Discriminator(_rank),
]
QueryText = Annotated[
    str,
    Field(
        max_length=MAX_QUERY,
        description="Which coordinates define success, such as 'block0_pos & block0_yaw:20deg'.",
        examples=["task", "all"],
    ),
]
ModelName = Annotated[
    str | None, Field(description="Which model; may be left out where only one is served.")
]
Tolerances = Annotated[
    dict[str, Number | str],
    Field(description="By group: observation units, or text such as '20deg'."),
]


class Message(BaseModel):
    """What a client sends; a field that is not known is an error, not silence."""

    model_config = ConfigDict(extra="forbid")


class ActRequest(Message):
    """What to do in one state, or in many, towards a goal set."""

    model: ModelName = None
    observation: OneOrMany
    goal: Goal
    query: QueryText
    distance: Annotated[bool, Field(strict=True, description="Also predict the distance.")] = False


class ActResponse(BaseModel):
    """Actions in the environment's units, within the policy's bounds."""

    model: str
    query: str
    action: list[float] | list[list[float]]
    distance: float | list[float] | None = None
    doubts: list[str] = []
    """What somebody should know before they trust the answer."""


class CheckRequest(Message):
    """Whether states lie in a goal set, and what keeps them out."""

    model: ModelName = None
    state: OneOrMany
    goal: Goal
    query: QueryText
    tolerances: Tolerances | None = None


class Term(BaseModel):
    """How one requirement stands; numbers for one state, lists for many."""

    name: str
    satisfied: bool | list[bool]
    distance: float | list[float]
    """In observation units."""
    tolerance: float
    """In observation units."""
    unit: str | None
    """The unit that people think in, if there is one."""
    distance_in_unit: float | list[float] | None
    tolerance_in_unit: float | None


class CheckResponse(BaseModel):
    """Whether every term holds, and how each stands."""

    model: str
    query: str
    contains: bool | list[bool]
    terms: list[Term]


class PlanRequest(Message):
    """Which questions lead from a state to a goal set, one after another."""

    model: ModelName = None
    observation: State
    goal: Goal
    query: QueryText
    tolerances: Tolerances | None = None


class PlannedStep(BaseModel):
    """One question of a plan."""

    words: str
    """For people."""
    query: str
    values: dict[str, list[float]]
    """What is asked for: by name of each term, in observation units."""
    parts: list[str]
    """What it moves."""
    price: float | None
    """Steps that it should take; null where no way is known."""
    support: int
    """How many recorded moves are like it; large numbers are not counted to the end."""
    far: float | None
    """How many tolerances the nearest recorded move is away."""
    aside: bool
    """Whether it puts something out of the way, where nobody asked for it."""


class ToldPlan(BaseModel):
    """A chain of questions, and how far along it somebody is."""

    found: bool
    missing: str | None
    """Why there is no chain; null where there is one."""
    steps: list[PlannedStep]
    """In order; empty where everything holds already, and where no chain was found."""
    price: float | None
    """Steps that all of it should take."""
    due: int | None
    """Which step is due, counted from 0; null where none is, and the whole question is asked."""
    plans: int
    """How many plans were made for this question so far."""
    text: str
    """The plan in words, over several lines."""


class PlanResponse(BaseModel):
    """A plan from one state."""

    model: str
    query: str
    plan: ToldPlan
    doubts: list[str] = []
    """What somebody should know before they trust the answer."""


class ModelCard(BaseModel):
    """What a served policy is, can be asked, and has shown."""

    name: str
    task: str
    learner: str
    scheme: str
    step: int
    answers: str
    """Which questions change what it does."""
    state_dim: int
    action_dim: int
    horizon: int
    distance: str | None
    """What predicted distances count; null where the learner has none."""
    plans: bool
    """Whether it can be asked with a plan."""
    layout: dict[str, Any]
    vocabulary: list[str]
    """Every name that a query may use."""
    questions: dict[str, str]
    """Questions that have a name, `task` being the official one."""
    card: dict[str, Any]
    """Training, data and evaluations."""


class ModelList(BaseModel):
    """Every model that is served."""

    models: list[ModelCard]


class Health(BaseModel):
    """Whether the server takes new work."""

    status: Literal["ok", "draining"]


class ErrorDetail(BaseModel):
    """Why there is no answer."""

    code: str
    message: str


class ErrorResponse(BaseModel):
    """What every refusal looks like."""

    error: ErrorDetail


# --- Sessions ---------------------------------------------------------------------------------


class Ask(Message):
    """Set the question, or change a part of it: what is left out stays as it was."""

    type: Literal["ask"]
    model: ModelName = None
    goal: Goal | None = None
    query: QueryText | None = None
    tolerances: Tolerances | None = None
    distance: Annotated[bool, Field(strict=True)] | None = None
    plan: Annotated[bool, Field(strict=True)] | None = None
    """Whether to ask one part after another, by a plan; answers then tell it when it changes."""


class Observe(Message):
    """Here is the state; what is the action?"""

    type: Literal["observe"]
    observation: State
    id: Annotated[int, Field(strict=True)] | None = None
    """Comes back with the answer."""


SESSION_MESSAGE: TypeAdapter[Ask | Observe] = TypeAdapter(
    Annotated[Ask | Observe, Discriminator("type")]
)
