"""Inspection: the figures by hand, every suspicious thing found, and a page that holds together."""

from __future__ import annotations

import html.parser
from pathlib import Path

import numpy as np
import pytest

from goalsets import Episode, Group, StateLayout
from goalsets.cli import main
from goalsets.data.bounds import Limits
from goalsets.data.inspect import Inspection, inspect_store, measure, write_page
from goalsets.data.writer import StoreWriter, write_store

LAYOUT = StateLayout(
    8,
    [
        Group("line", (0,), "absolute", unit="m", scale=10, tolerance=1.0),
        Group("plane", (1, 2), tolerance=1.0),
        Group("heading", (3, 4), "angle").with_tolerance("10deg"),
        Group("switch", (5,), "exact"),
        Group("still", (6,), "absolute", tolerance=0.1),
    ],
    name="bench",
)


def walk(episode: int, length: int = 40) -> Episode:
    """A made-up episode of which every figure is known."""
    time = np.arange(length + 1)
    states = np.zeros((length + 1, 8), dtype=np.float32)
    states[:, 0] = time % 10 + 0.5  # ten cells, a whole one each step
    states[:, 1] = (time // 10) + 0.5  # four rows of cells...
    states[:, 2] = episode + 0.5  # ...and a column an episode: never leaves in an episode
    angle = np.radians(time * 9.0)
    states[:, 3], states[:, 4] = np.cos(angle), np.sin(angle)
    states[:, 5] = episode % 2
    states[:, 6] = 7.0
    states[:, 7] = np.linspace(0, 1, length + 1)
    rng = np.random.default_rng(episode)
    return Episode(states, rng.uniform(-1, 1, (length, 2)).astype(np.float32))


def look(
    tmp_path: Path, episodes: list[Episode], layout: StateLayout | None = LAYOUT
) -> Inspection:
    return inspect_store(write_store(tmp_path / "s", episodes, layout=layout))


def test_figures(tmp_path: Path) -> None:
    seen = look(tmp_path, [walk(e) for e in range(6)])
    groups = {group.name: group for group in seen.groups}
    assert list(groups) == ["line", "plane", "heading", "switch", "still", "[7]"]
    line = groups["line"]
    assert (line.low, line.high, line.unit) == (0.5, 9.5, "m x 10")
    assert (line.step_share, line.episode_share) == (1.0, 1.0)
    assert line.cells == 10
    assert line.coverage == 1.0
    plane = groups["plane"]
    assert plane.step_share == pytest.approx(4 / 40)
    assert plane.cells == 5 * 6
    heading = groups["heading"]
    assert heading.episode_share == 1.0
    assert len(heading.histograms) == 1
    assert heading.histograms[0].low == pytest.approx(-180, abs=10)
    switch = groups["switch"]
    assert (switch.cells, switch.step_share, switch.episode_share) == (2, 0.0, 0.0)
    assert groups["still"].low == groups["still"].high == 7.0
    loose = groups["[7]"]
    assert loose.assumed
    assert loose.tolerance == pytest.approx(0.05)
    assert sum(line.histograms[0].counts) == 6 * 41
    assert sum(seen.actions[0].counts) == 6 * 40, "the filling action of a last state was counted"


def test_nothing_suspicious_but_what_is_constant(tmp_path: Path) -> None:
    seen = look(tmp_path, [walk(e) for e in range(6)])
    assert seen.suspects == ("coordinate 6 (still) never change.",)


def changed(episode: int, **changes: object) -> Episode:
    good = walk(episode)
    states, actions = good.observations.copy(), good.actions.copy()
    for name, value in changes.items():
        if name == "actions":
            actions[3, 1] = value
        else:
            states[5, int(name[1:])] = value
    return Episode(states, actions)


SUSPECTS = {
    "1 values of states are not finite, in episodes 2.": changed(2, s0=np.nan),
    "1 values of actions are not finite, in episodes 2.": changed(2, actions=np.inf),
    "1 episodes are copies of others: 2 = 0.": walk(0),
    "1 episodes are far shorter than the others: 2.": walk(2, length=1),
    "the norm is not 1 in heading (": changed(2, s3=5.0),
}


@pytest.mark.parametrize(("message", "episode"), SUSPECTS.items(), ids=list(SUSPECTS))
def test_suspects(tmp_path: Path, message: str, episode: Episode) -> None:
    with np.errstate(invalid="ignore"):
        seen = look(tmp_path, [walk(0), walk(1), episode, walk(3), walk(4)])
    assert any(message in text for text in seen.suspects), seen.suspects


def test_bounds_of_actions_are_shown_and_watched(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ones = np.ones(2, np.float32)
    episodes = [walk(0), changed(1, actions=3.0)]
    write_store(tmp_path / "s", episodes, layout=LAYOUT, limits=Limits((-ones, ones)))
    main(["data", "inspect", str(tmp_path / "s")])
    out = capsys.readouterr().out
    assert "  actions of 2 components within -1 to 1, from the action space\n" in out
    assert (
        "suspicious: 1.25% of actions leave their bounds, in components 1: they reach from 3 to 3."
        in out
    )
    write_store(tmp_path / "s", [switched(e) for e in episodes], layout=LAYOUT)
    main(["data", "inspect", str(tmp_path / "s")])
    out, page = capsys.readouterr().out, (tmp_path / "s.html").read_text()
    for text in (out, page):
        assert "from the data, widened by a tenth of its range at either end" in text
        assert "action 1 has two values, 0 and 1: a switch?" in text
    assert "leave their bounds" not in out
    assert "<td>1</td><td>0</td><td>1</td>" in page


def switched(episode: Episode) -> Episode:
    actions = episode.actions.copy()
    actions[:, 1] = actions[:, 1] > 0
    return Episode(episode.observations, actions)


def test_notices_of_the_import_are_kept(tmp_path: Path) -> None:
    with StoreWriter(tmp_path / "s", LAYOUT, "a log") as writer:
        writer.add(walk(0))
        store = writer.finish(["the last action was dropped (3 episodes)."])
    assert inspect_store(store).notices == ("the last action was dropped (3 episodes).",)


def test_steps_read_as_seconds_where_the_rate_is_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_store(tmp_path / "s", [walk(0), walk(1, length=20)], layout=LAYOUT, rate=20)
    main(["data", "inspect", str(tmp_path / "s")])
    said = "  20 steps a second: episodes of 1 to 2 s, the median is 1.5 s\n"
    assert said in capsys.readouterr().out
    assert "20 steps a second" in (tmp_path / "s.html").read_text()
    write_store(tmp_path / "s", [walk(0)], layout=LAYOUT)
    main(["data", "inspect", str(tmp_path / "s")])
    assert "a second" not in capsys.readouterr().out


def test_large_sets_are_judged_by_evenly_spread_episodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measure, "MAX_STATES", 100)
    seen = look(tmp_path, [walk(e) for e in range(10)])
    assert seen.looked_at == 2
    assert seen.splits["train"] == (10, 400)


class _Balance(html.parser.HTMLParser):
    """Checks that every element that opens also closes."""

    void = frozenset({"meta", "path", "br", "link"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in self.void:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        assert tag in self.void

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_page(tmp_path: Path) -> None:
    episodes = [walk(0), walk(1), walk(0)]
    seen = look(tmp_path, episodes)
    write_page(seen, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    parser = _Balance()
    parser.feed(text)
    assert parser.open == []
    for group in LAYOUT.groups:
        assert f"<h3>{group.name}</h3>" in text
    assert "1 episodes are copies of others" in text
    assert "never changes: cannot be a goal" in text
    assert "http" not in text, "the page needs nothing from elsewhere"


def test_a_store_without_a_layout(tmp_path: Path) -> None:
    seen = look(tmp_path, [walk(0)], layout=None)
    assert [group.name for group in seen.groups] == [f"[{i}]" for i in range(8)]
