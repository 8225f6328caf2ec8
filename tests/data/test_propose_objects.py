"""Proposals about objects: which are alike, and what moves them; offered, and never in force."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from goalsets.core import GoalsetsError, layout_to_dict, read_layout
from goalsets.core.objects import families
from goalsets.data.flatten import FieldSpec
from goalsets.data.importing import import_source
from goalsets.data.propose import Proposal, propose_layout
from goalsets.data.sources import Npz
from goalsets.envs.tabletop import record_play, tabletop_layout

EPISODES, STEPS = 12, 200


def carry(things: int, size: int = 3, seed: int = 0) -> np.ndarray:
    """Episodes `[E, T, 1 + things, size]` of a hand that fetches things and puts them elsewhere."""
    rng = np.random.default_rng(seed)
    log = np.empty((EPISODES, STEPS, 1 + things, size))
    for episode in log:
        places = rng.uniform(0, 1, (1 + things, size))
        target, held = rng.uniform(0, 1, size), None
        for row in episode:
            row[:] = places
            way = target - places[0]
            step = way * min(1, 0.05 / max(1e-9, np.linalg.norm(way)))
            places[0] += step
            if held is not None:
                places[held] += step
            if np.linalg.norm(way) < 0.05:
                fetches = held is None and rng.random() < 0.7
                nearest = 1 + int(np.linalg.norm(places[1:] - places[0], axis=1).argmin())
                near = np.linalg.norm(places[nearest] - places[0]) < 0.02
                held = nearest if near and held is None else None
                target = rng.uniform(0, 1, size)
                if fetches and held is None:
                    # It does not grasp at the very middle.
                    target = places[1 + rng.integers(things)] + rng.uniform(-0.01, 0.01, size)
    return log


def propose(names: list[str], log: np.ndarray, follow: bool = True) -> Proposal:
    """A proposal for episodes `[E, T, n, size]` of `n` named vectors."""
    fields = [FieldSpec(name, log.shape[3]) for name in names]
    rows = log.reshape(log.shape[0] * log.shape[1], -1)
    starts = range(0, len(rows), log.shape[1]) if follow else None
    return propose_layout(fields, rows, "made", starts=starts)


def words(proposal: Proposal) -> dict[str, str]:
    """What is offered about objects, by group."""
    offered: dict[str, str] = {}
    for offer in proposal.offers:
        if offer.kind in ("alike", "relative"):
            for group in offer.groups:
                word = group.kind if offer.kind == "alike" else f"from {group.relative_to}"
                offered[group.name] = " ".join(filter(None, (offered.get(group.name), word)))
    return offered


@pytest.fixture(scope="module")
def tabletop() -> Proposal:
    """From what a scripted player did with two blocks, under the names that the world gives."""
    log = record_play(30, 200, num_blocks=2).observations
    fields = [FieldSpec(group.name, len(group.indices)) for group in tabletop_layout(2).groups]
    rows = log.reshape(-1, log.shape[-1])
    return propose_layout(fields, rows, "table", starts=range(0, len(rows), log.shape[1]))


def test_blocks_on_a_table_are_alike_and_moved_by_the_gripper(tabletop: Proposal) -> None:
    assert words(tabletop) == {
        "block0_pos": "block*_pos from eff_pos",
        "block1_pos": "block*_pos from eff_pos",
        "block0_yaw": "block*_yaw",
        "block1_yaw": "block*_yaw",
    }
    (alike,) = [offer for offer in tabletop.offers if offer.kind == "alike"]
    assert alike.evidence == (
        "their names are block*_pos, block*_yaw, where the star is 0, 1; eff_pos moves all of them"
    )
    moved = [offer.evidence for offer in tabletop.offers if offer.kind == "relative"]
    pattern = r"when it moves, eff_pos is within 0\.\d+ of it in 9\d% of \d+ rows; otherwise in \d%"
    assert all(re.fullmatch(pattern, evidence) for evidence in moved)
    assert not any(group.kind or group.relative_to for group in tabletop.layout.groups)


def test_all_offers_together_are_the_layout_that_people_wrote(tabletop: Proposal) -> None:
    adopted, written = tabletop.adopt(*tabletop.offers), tabletop_layout(2)
    assert [(f.names, f.kinds) for f in families(adopted)] == [
        (f.names, f.kinds) for f in families(written)
    ]
    assert adopted.group("block1_pos").relative_to == written.group("block1_pos").relative_to
    assert adopted.group("block1_yaw").metric == "angle"
    assert layout_to_dict(tabletop.adopt(*reversed(tabletop.offers))) == layout_to_dict(adopted)


def test_the_file_does_as_it_says(tabletop: Proposal, tmp_path: Path) -> None:
    path = tmp_path / "layout.yaml"
    text = tabletop.to_yaml()
    path.write_text(text)
    assert layout_to_dict(read_layout(path)) == layout_to_dict(tabletop.layout)
    said = re.findall(r"^# Replace (.*) by:\n((?:  # .*\n)+)", text, re.MULTILINE)
    offers = tabletop.offers
    assert len(said) == len(offers) == 6
    for (gone, lines), offer in zip(said, offers, strict=True):
        edited = text.replace(lines, lines.replace("  # ", "  "))
        for name in gone.split(", "):
            edited, count = re.subn(
                f"^  {name}: .*metric: euclidean, tolerance: [0-9.]+}}  # .*\n",
                "",
                edited,
                count=1,
                flags=re.M,
            )
            assert count == 1
        path.write_text(edited)
        read = layout_to_dict(read_layout(path))["groups"]
        assert read == layout_to_dict(tabletop.adopt(offer))["groups"]
    assert "Do not accept this for parts of the robot, such as its joints" in text
    assert "show it relative to eff_pos. It changes no query's meaning." in text


def test_two_cups_that_a_hand_carries() -> None:
    proposal = propose(["hand", "left_cup/pos", "right_cup/pos"], carry(2))
    assert words(proposal) == {
        "left_cup/pos": "*_cup/pos from hand",
        "right_cup/pos": "*_cup/pos from hand",
    }
    evidence = [o.evidence for o in proposal.offers if o.kind in ("alike", "relative")]
    assert evidence[:2] == [
        "their names are *_cup/pos, where the star is left, right; hand moves all of them",
        "when it moves, hand is within 0.014 of it in 91% of 288 rows; otherwise in 1%",
    ]
    assert "kind: '*_cup/pos'" in proposal.to_yaml()


def test_other_words_count_if_the_data_show_that_one_group_moves_them_all() -> None:
    log = carry(2, size=2)
    names = ["hand/pos", "mug/pos", "bowl/pos"]
    assert words(propose(names, log)) == {
        "mug/pos": "*/pos from hand/pos",
        "bowl/pos": "*/pos from hand/pos",
    }
    assert words(propose(names, log, follow=False)) == {}
    # What else is known of the same things follows.
    turns = np.random.default_rng(0).normal(size=(*log.shape[:2], 2, 2))
    both = np.concatenate([log, turns], axis=2)
    offered = words(propose([*names, "mug/turn", "bowl/turn"], both))
    assert offered["mug/turn"] == offered["bowl/turn"] == "*/turn"


def test_joints_are_offered_with_a_warning_and_not_in_force() -> None:
    walk = np.cumsum(np.random.default_rng(0).normal(size=(1, 300, 9, 1)), axis=1)
    proposal = propose([f"joint{n}" for n in range(9)], walk)
    (offer,) = [offer for offer in proposal.offers if offer.kind == "alike"]
    assert offer.evidence == "their names are joint*, where the star is 0, 1, …, 8"
    assert {group.kind for group in offer.groups} == {"joint*"}
    assert {group.kind for group in proposal.layout.groups} == {""}


def test_the_first_number_of_a_name_is_the_object() -> None:
    log = np.random.default_rng(0).normal(size=(1, 100, 5, 1))
    names = ["cup0_led0", "cup0_led1", "cup1_led0", "cup1_led1", "cup7/lid"]
    assert words(propose(names, log)) == {
        "cup0_led0": "cup*_led0",
        "cup0_led1": "cup*_led1",
        "cup1_led0": "cup*_led0",
        "cup1_led1": "cup*_led1",
    }


ROBOTS = (
    ["robot0_eef_pos", "robot0_eef_vel", "object_pos"],
    ["shoulder_pan.pos", "shoulder_lift.pos", "elbow_flex.pos", "wrist_flex.pos", "gripper.pos"],
    ["0", "1", "2"],
    ["left", "right"],
    ["cup0_pos"],
)


@pytest.mark.parametrize("names", ROBOTS, ids=lambda names: names[0])
def test_nothing_is_offered_for_other_names_and_for_what_moves_by_itself(names: list[str]) -> None:
    walk = np.cumsum(np.random.default_rng(0).normal(size=(4, 100, len(names), 3)), axis=1)
    assert words(propose(names, walk)) == {}


def test_groups_of_another_size_and_those_that_never_change_are_not_alike() -> None:
    rng = np.random.default_rng(0)
    fields = [
        FieldSpec("cup0", 3),
        FieldSpec("cup1", 2),
        FieldSpec("lid0", 1),
        FieldSpec("lid1", 1),
    ]
    rows = rng.normal(size=(100, 7))
    rows[:, 6] = 0.5
    assert words(propose_layout(fields, rows)) == {}
    most = [FieldSpec("cup0", 2), FieldSpec("cup1", 1), FieldSpec("cup2", 2), FieldSpec("cup3", 2)]
    offered = words(propose_layout(most, rng.normal(size=(100, 7))))
    assert offered == dict.fromkeys(("cup0", "cup2", "cup3"), "cup*")


def _held_always(log: np.ndarray) -> None:
    log[..., 1, :] = log[..., 0, :] + 0.01


def _moves_between_episodes(log: np.ndarray) -> None:
    log[..., 1, :] = log[:, :1, 0, :]


def _jumps_when_reached(log: np.ndarray) -> None:
    """A target that is drawn anew wherever the hand is, once it is reached."""
    rng = np.random.default_rng(0)
    for episode in log:
        target = episode[10, 0].copy()
        for row in episode:
            row[1] = target
            if np.linalg.norm(row[0] - target) < 0.1:
                target = rng.uniform(0, 1, 3)


def _moves_by_itself(log: np.ndarray) -> None:
    log[..., 1, :] = np.roll(log[..., 0, :], 3, axis=0)
    log[:, ::2, 1, :] = log[:, 1::2, 1, :]  # it rests in every other row


def _unseen(log: np.ndarray) -> None:
    log[..., 1, :] = np.where(np.arange(STEPS)[:, None] < STEPS - 1, np.inf, log[..., 1, :])


@pytest.mark.parametrize(
    "change",
    [_held_always, _moves_between_episodes, _jumps_when_reached, _moves_by_itself, _unseen],
)
def test_what_the_hand_does_not_move_is_not_relative_to_it(change) -> None:
    log = carry(1)
    assert words(propose(["hand_pos", "cup_pos"], log)) == {"cup_pos": "from hand_pos"}
    change(log)
    assert words(propose(["hand_pos", "cup_pos"], log)) == {}


def test_rows_with_gaps_are_passed_over() -> None:
    log = carry(1)
    log[np.random.default_rng(0).random(log.shape[:3]) < 0.1] = np.nan
    assert words(propose(["hand_pos", "cup_pos"], log)) == {"cup_pos": "from hand_pos"}


def test_the_nearest_of_those_that_move_it_is_offered() -> None:
    log = carry(1)
    wrist = log[:, :, :1] + 0.08
    offered = words(propose(["wrist", "hand", "cup"], np.concatenate([wrist, log], axis=2)))
    assert offered == {"cup": "from hand"}


def test_offers_that_exclude_each_other_are_refused_together() -> None:
    """A puck that never leaves the table: its height is constant, the hand's is not."""
    log = carry(1)
    log[..., 1, 2] = 0.5
    log[..., 0, 2] = 0.5 + 0.01 * np.sin(np.arange(STEPS))
    proposal = propose(["hand", "puck"], log)
    assert words(proposal) == {"puck": "from hand"}
    by_kind = {offer.kind: offer for offer in proposal.offers}
    with pytest.raises(GoalsetsError, match="'puck' and 'hand' cannot be compared: they differ"):
        proposal.adopt(by_kind["relative"], by_kind["constant"])


def test_an_import_sees_which_rows_follow_each_other(tmp_path: Path) -> None:
    log = carry(2).astype(np.float32)
    ends = np.tile(np.arange(STEPS) == STEPS - 1, EPISODES)
    names = ("hand", "cup_a", "cup_b")
    parts = {name: log[:, :, n].reshape(-1, 3) for n, name in enumerate(names)}
    actions = np.zeros((len(ends), 1), dtype=np.float32)
    np.savez(tmp_path / "log.npz", actions=actions, terminals=ends, **parts)
    imported = import_source(Npz(tmp_path / "log.npz", observations=names), tmp_path / "store")
    assert imported.proposal is not None
    assert words(imported.proposal) == {
        "cup_a": "cup_* from hand",
        "cup_b": "cup_* from hand",
    }
    assert not any(group.kind for group in imported.store.layout.groups)
