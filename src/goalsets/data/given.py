"""A source of episodes that a program holds in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalsets.core import Episode, GoalsetsError
from goalsets.core.errors import suggest
from goalsets.data.flatten import FieldSpec, Shape, choose_fields, flatten, leaves, vector_shape
from goalsets.data.sources.base import LEFT_OUT, Notices, SourceError, check_split, make_episode
from goalsets.data.store import Split

_KEYS = ("observations", "actions", "extras", "names")


@dataclass(frozen=True)
class Given:
    """Episodes in memory."""

    logged: tuple[Episode, ...]
    """The episodes, checked."""
    parts: tuple[FieldSpec, ...]
    """What makes up their observations."""
    rate: float | None = None
    """Steps a second, if known."""
    notices: Notices = field(default_factory=Notices, repr=False, compare=False)
    """What was left out or changed."""

    has_validation = False
    store_name = "episodes"

    @classmethod
    def read(
        cls,
        episodes: Iterable[Mapping[str, Any] | Episode],
        rate: float | None = None,
        names: Sequence[str] = (),
    ) -> Given:
        """Check the given episodes and convert them."""
        notices = Notices()
        if isinstance(episodes, Mapping | Episode | str):
            raise SourceError(
                f"expected several episodes, such as a list of them, got {type(episodes).__name__}."
            )
        found: list[Episode] = []
        parts: tuple[FieldSpec, ...] = ()
        for number, given in enumerate(episodes):
            where = f"episode {number}"
            plain = _as_mapping(given, where, notices)
            own = _parts(plain, names, where, notices)
            if parts and own != parts:
                raise SourceError(
                    f"{where} has {_print(own)}; expected {_print(parts)}, as in earlier episodes."
                )
            parts = own
            episode = _episode(plain, parts, where, notices)
            if episode is not None:
                _check_actions(episode, found, where)
                found.append(episode)
        if not found:
            raise SourceError("there are no episodes with a transition.")
        return cls(tuple(found), parts, rate, notices)

    def fields(self) -> tuple[FieldSpec, ...]:
        """One field for each key of the observations."""
        return self.parts

    def episodes(self, split: Split = "train") -> Iterator[Episode]:
        """Give all episodes."""
        check_split(split, self.has_validation, self.describe())
        yield from self.logged

    def describe(self) -> str:
        """Say what is being read."""
        return f"{len(self.logged)} episodes in memory"


def _as_mapping(given: object, where: str, notices: Notices) -> Mapping[str, Any]:
    if isinstance(given, Episode):
        return {
            "observations": given.observations,
            "actions": given.actions,
            "extras": given.extras,
        }
    if not isinstance(given, Mapping):
        raise SourceError(
            f"{where}: expected a dictionary with 'observations' and 'actions', got "
            f"{type(given).__name__}."
        )
    keys = [str(key) for key in given]
    for key in ("observations", "actions"):
        if key not in keys:
            raise SourceError(f"{where} has no {key!r}: {_instead(key, keys)}")
    unread = [key for key in keys if key not in _KEYS]
    if unread:
        notices.add(f"not read: {', '.join(unread)} (to keep values, put them into 'extras')")
    return given


def _instead(key: str, keys: Sequence[str]) -> str:
    return suggest(key, keys) if keys else "it is empty."


def _parts(
    plain: Mapping[str, Any], names: Sequence[str], where: str, notices: Notices
) -> tuple[FieldSpec, ...]:
    """What makes up the observations of an episode."""
    shapes = {key: _shape(value) for key, value in leaves(plain["observations"]).items()}
    try:
        parts, left_out = choose_fields(shapes)
    except GoalsetsError as error:
        raise SourceError(
            f"{where}: {error} Expected observations [T + 1, D], or a dictionary of them."
        ) from None
    for key in left_out:
        notices.add(LEFT_OUT.format(key))
    own = tuple(str(name) for name in plain.get("names", names))
    if not own:
        return parts
    if len(parts) != 1:
        raise SourceError(
            f"{where}: names can be given for one array of observations only, got {len(parts)} "
            "arrays."
        )
    if len(own) != parts[0].size:
        raise SourceError(
            f"{where}: got {len(own)} names for {parts[0].size} coordinates of the observations."
        )
    return (replace(parts[0], names=own),)


def _episode(
    plain: Mapping[str, Any], parts: Sequence[FieldSpec], where: str, notices: Notices
) -> Episode | None:
    try:
        states = flatten(plain["observations"], parts)
    except GoalsetsError as error:
        raise SourceError(f"{where}, observations: {error}") from None
    actions = _actions(plain["actions"], where)
    for what, values in (("observations", states), ("actions", actions)):
        if not np.isfinite(values).all():
            wrong = int((~np.isfinite(values)).sum())
            raise SourceError(f"{where}: {wrong} values of its {what} are not finite.")
    extras = plain.get("extras", {})
    if not isinstance(extras, Mapping):
        raise SourceError(
            f"{where}: expected 'extras' as a dictionary of arrays, got {type(extras).__name__}."
        )
    kept = {str(key): np.asarray(value) for key, value in extras.items()}
    return make_episode(where, states, actions, kept, notices)


def _actions(given: object, where: str) -> NDArray[np.float32]:
    """Read actions. A part that is not numbers is an error, because actions must be complete."""
    try:
        parts, left_out = choose_fields({k: _shape(v) for k, v in leaves(given).items()})
        if not left_out:
            return flatten(given, parts)
    except GoalsetsError as error:
        raise SourceError(f"{where}, actions: {error} Expected actions [T, A].") from None
    raise SourceError(
        f"{where}: actions {', '.join(map(repr, left_out))} are not vectors of numbers."
    )


def _check_actions(episode: Episode, before: Sequence[Episode], where: str) -> None:
    expected = before[0].actions.shape[1] if before else episode.actions.shape[1]
    if episode.actions.shape[1] != expected:
        raise SourceError(
            f"{where}: its actions have {episode.actions.shape[1]} components; expected "
            f"{expected}, as in earlier episodes."
        )


def _shape(value: object) -> Shape | None:
    """The shape of one step's entry; None if it is not an array of numbers over time."""
    try:
        array: NDArray[Any] = np.asarray(value)
    except ValueError:  # lists of different lengths
        return None
    return vector_shape(array.shape[1:], array.dtype) if array.ndim else None


def _print(parts: Sequence[FieldSpec]) -> str:
    return ", ".join(
        f"{part.name or 'observations'} of {part.size} coordinates"
        + (f" ({', '.join(part.names)})" if part.names else "")
        for part in parts
    )
