"""The wire format: requests and answers.

Numbers must be JSON numbers; text and booleans are not accepted. JSON has no NaN and no infinity.
If a client sends one, the answer is an error that names the coordinate.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, TypeAdapter

Number = Annotated[float, Field(strict=True)]
# Only the first wrong number is reported, because a list may have many.
Numbers = Annotated[list[Number], Field(fail_fast=True)]
State = Annotated[Numbers, Field(description="A state: one number for each coordinate.")]
States = Annotated[list[State], Field(fail_fast=True, description="A batch: one state a row.")]
Named = Annotated[
    dict[str, Number | Numbers],
    Field(description="The groups that the query asks for, by name; the rest is left open."),
]

MAX_QUERY = 500
"""Most characters of a query, because parsing costs time."""


def _rank(value: object) -> str:
    """The form of a value, so that an error is about that form only."""
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
    str | None, Field(description="The model's name; optional if only one is served.")
]
Tolerances = Annotated[
    dict[str, Number | str],
    Field(description="By group: observation units, or text such as '20deg'."),
]


class Message(BaseModel):
    """A message of a client; unknown fields are errors."""

    model_config = ConfigDict(extra="forbid")


class ActRequest(Message):
    """A request for actions in one state or many, towards a goal set."""

    model: ModelName = None
    observation: OneOrMany
    goal: Goal
    query: QueryText
    distance: Annotated[bool, Field(strict=True, description="Also predict the distance.")] = False


class ActResponse(BaseModel):
    """Actions in the environment's units, within their bounds."""

    model: str
    query: str
    action: list[float] | list[list[float]]
    distance: float | list[float] | None = None
    doubts: list[str] = []
    """Warnings about the question."""


class CheckRequest(Message):
    """A request to check whether states lie in a goal set, and which requirements do not hold."""

    model: ModelName = None
    state: OneOrMany
    goal: Goal
    query: QueryText
    tolerances: Tolerances | None = None


class Term(BaseModel):
    """One requirement: numbers for one state, lists for many."""

    name: str
    satisfied: bool | list[bool]
    distance: float | list[float]
    """In observation units."""
    tolerance: float
    """In observation units."""
    unit: str | None
    """The physical unit, if there is one."""
    distance_in_unit: float | list[float] | None
    tolerance_in_unit: float | None


class CheckResponse(BaseModel):
    """Whether every term holds, and the distance of each."""

    model: str
    query: str
    contains: bool | list[bool]
    terms: list[Term]


class PlanRequest(Message):
    """A request for the questions that lead from a state to a goal set, one after another."""

    model: ModelName = None
    observation: State
    goal: Goal
    query: QueryText
    tolerances: Tolerances | None = None


class PlannedStep(BaseModel):
    """One question of a plan."""

    words: str
    """The step in words."""
    query: str
    values: dict[str, list[float]]
    """The goal of each term by its name, in observation units."""
    parts: list[str]
    """The part that it moves."""
    price: float | None
    """The number of steps that it should take; null if no way is known."""
    support: int
    """How many recorded moves are like it; counting stops at a large number."""
    far: float | None
    """The distance to the nearest recorded move, in tolerances."""
    aside: bool
    """Whether it moves something out of the way that the question does not ask for."""


class ToldPlan(BaseModel):
    """A chain of questions, and the progress along it."""

    found: bool
    missing: str | None
    """Why there is no chain; null if there is one."""
    steps: list[PlannedStep]
    """In order; empty if everything holds already, or if no chain was found."""
    price: float | None
    """The number of steps that the whole chain should take."""
    due: int | None
    """The current step, counted from 0; null when the whole question is asked."""
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
    """Warnings about the question."""


class ModelCard(BaseModel):
    """The description of a served policy."""

    name: str
    task: str
    learner: str
    scheme: str
    step: int
    answers: str
    """Which questions it answers, in words."""
    state_dim: int
    action_dim: int
    horizon: int
    distance: str | None
    """The unit of predicted distances; null if the learner has none."""
    plans: bool
    """Whether it can be asked with a plan."""
    layout: dict[str, Any]
    vocabulary: list[str]
    """Every name that a query may use."""
    questions: dict[str, str]
    """Queries with a name; `task` is the official one."""
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
    """The form of every refusal."""

    error: ErrorDetail


# --- Sessions ---------------------------------------------------------------------------------


class Ask(Message):
    """Set the question, or change parts of it; other parts stay as they were."""

    type: Literal["ask"]
    model: ModelName = None
    goal: Goal | None = None
    query: QueryText | None = None
    tolerances: Tolerances | None = None
    distance: Annotated[bool, Field(strict=True)] | None = None
    plan: Annotated[bool, Field(strict=True)] | None = None
    """Whether to ask one part after another, by a plan; answers have the plan when it changes."""


class Observe(Message):
    """An observation; the answer is an action."""

    type: Literal["observe"]
    observation: State
    id: Annotated[int, Field(strict=True)] | None = None
    """Returned with the answer."""


SESSION_MESSAGE: TypeAdapter[Ask | Observe] = TypeAdapter(
    Annotated[Ask | Observe, Discriminator("type")]
)
