"""Exports answer as the policy does, for every learner and conditioner, or there is no file."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

from goalsets import GoalsetsError, Query
from goalsets.core import layout_to_dict
from goalsets.envs.tabletop import tabletop_layout
from goalsets.export import ParityError, export_onnx, onnx_file, parity
from goalsets.export.convert import ConversionError
from goalsets.learners import LEARNERS
from goalsets.runtime import load
from goalsets.runtime.model_file import OPERATIONS
from tests.export.runs import STATES, exported, small_run

KINDS = [
    *((learner, "gs-blockwise", "learned") for learner in LEARNERS),
    ("gcdl", "her-full", "learned"),
    ("crl", "her-task", "learned"),
    ("gcbc", "gs-semantic", "zero"),
    ("gcivl", "gs-uniform", "random"),
    ("gcdl", "gs-direct", "learned", "focused"),
    ("chunkbc", "her-task", "zero", "relational"),
    ("crl", "her-full", "learned", "pooled"),
]


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS, ids="-".join)
def test_export_answers_as_the_policy_does(kind: tuple[str, ...]) -> None:
    run, done = small_run(*kind), exported(*kind)
    assert done.parity.action <= 1e-5
    policy, runtime = run.load()[0], load(done.path)
    rng = np.random.default_rng(3)
    masks = rng.random((41, 18)) < 0.4
    masks[:, 4] = True
    tells = LEARNERS[kind[0]].distance_unit is not None
    for query in ("all", "cube_pos & eff_yaw", masks):
        asked = (STATES, STATES[::-1], query)
        np.testing.assert_allclose(runtime.act(*asked), policy.act(*asked), atol=1e-5)
        if tells:
            found, expected = runtime.distance(*asked), policy.distance(*asked)
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * expected.max())
    if not tells:
        assert done.parity.distance is None
        with pytest.raises(GoalsetsError, match=f"{kind[0].upper()} learns no distance"):
            runtime.distance(STATES[0], STATES[1], "all")


@pytest.mark.full
def test_the_file_is_plain_onnx() -> None:
    """Anybody's onnxruntime runs it, for any batch, and reads what it is."""
    run = small_run("gcdl")
    path = exported("gcdl").path
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    assert {node.op_type for node in model.graph.node} <= OPERATIONS
    # Old enough for every onnxruntime that knows the operations.
    assert model.ir_version == 10
    assert [(opset.domain, opset.version) for opset in model.opset_import] == [("", 20)]
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    mask = np.tile(Query.parse("eff_pos", tabletop_layout(1)).mask, (41, 1))
    for rows in (1, 7, 41):
        feed = {"observation": STATES[:rows], "goal": STATES[-rows:], "query": mask[:rows]}
        actions, distances = session.run(["action", "distance"], feed)
        assert actions.shape == (rows, 5)
        assert distances.shape == (rows,)
    expected = run.load()[0].act(STATES, STATES, "eff_pos")
    np.testing.assert_allclose(actions, expected, atol=1e-5)
    told = session.get_modelmeta().custom_metadata_map
    assert json.loads(told["goalsets.layout"]) == layout_to_dict(tabletop_layout(1))
    card = json.loads(told["goalsets.card"])
    assert (card["learner"], card["scheme"], card["step"]) == ("gcdl", "gs-blockwise", 5)
    assert card["distance"] == "steps"
    assert card["data"]["fingerprint"] == run.data["fingerprint"]
    assert str(path.parent) not in json.dumps(card)
    # What is needed only once is there only once: no weights twice, no operation for nothing.
    used = {name for node in model.graph.node for name in node.input}
    made = {name for node in model.graph.node for name in node.output}
    assert {constant.name for constant in model.graph.initializer} <= used
    assert made - used == {"action", "distance"}


@pytest.mark.full
def test_the_same_run_gives_the_same_file(tmp_path: Path) -> None:
    again = export_onnx(small_run("gcbc"), tmp_path / "again.onnx").path
    assert again.read_bytes() == exported("gcbc").path.read_bytes()


@pytest.mark.full
def test_a_failed_check_is_a_failed_export(tmp_path: Path, monkeypatch) -> None:
    run = small_run("gcbc")
    honest = onnx_file.build_model

    def slightly_wrong(*args):
        model = honest(*args)
        bias = next(c for c in model.graph.initializer if list(c.dims) == [5])
        values = onnx.numpy_helper.to_array(bias) + np.float32(3e-5)
        bias.CopyFrom(onnx.numpy_helper.from_array(values, bias.name))
        return model

    monkeypatch.setattr(onnx_file, "build_model", slightly_wrong)
    with pytest.raises(ParityError, match="exported actions differ .* by 3(.1)?e-05, more than"):
        export_onnx(run, tmp_path / "policy.onnx")
    assert list(tmp_path.iterdir()) == []


def test_a_policy_that_is_not_a_number_fails_the_check() -> None:
    for found in (parity.Parity(float("nan"), None), parity.Parity(0.0, float("nan"))):
        with pytest.raises(ParityError, match="differ from the policy's by nan"):
            found.check()
    parity.Parity(1e-5, 1e-5).check()


def test_questions_reach_from_one_coordinate_to_all() -> None:
    run = small_run()
    _, _, masks = parity.random_questions(run.frame.layout, run.frame.normaliser, 0)
    counts = masks.sum(axis=1)
    assert masks.shape == (10_000, 18)
    assert (counts == 1).any()
    assert (counts == 18).any()


def test_an_operation_without_a_counterpart_is_named(tmp_path: Path, monkeypatch) -> None:
    run = small_run("gcdl")  # trained before, for GCDL's actor learns from its distance
    strange = lambda self, states, goals, masks: torch.erfinv(states[:, 0])  # noqa: E731
    monkeypatch.setattr(LEARNERS["gcdl"], "distance", strange)
    with pytest.raises(ConversionError, match="cannot convert the policy to ONNX: .*erf_inv"):
        export_onnx(run, tmp_path / "policy.onnx")
    assert list(tmp_path.iterdir()) == []


def test_places_that_cannot_be_written_are_refused_first(tmp_path: Path) -> None:
    with pytest.raises(GoalsetsError, match="choose one in a directory that exists"):
        export_onnx(small_run(), tmp_path / "nowhere" / "policy.onnx")
    with pytest.raises(GoalsetsError, match="cannot be a file"):
        export_onnx(small_run(), tmp_path)


@pytest.mark.full
def test_the_runtime_is_asked_as_the_policy_is() -> None:
    run = small_run("gciql")
    runtime = load(exported("gciql").path)
    assert runtime.layout == run.frame.layout
    query = Query.parse("cube_pos", runtime.layout)
    asked = [runtime.act(STATES[0], STATES[9], q) for q in ("cube_pos", query, query.mask)]
    assert all((answer == asked[0]).all() for answer in asked)
    assert asked[0].shape == (5,)
    assert runtime.distance(STATES[0], STATES[9], "cube_pos").shape == ()
    assert (runtime.act(STATES[0], STATES[9], "eff_pos") != asked[0]).any()
    assert (runtime.act(STATES[0], STATES[9], "cube_pos") == asked[0]).all(), "a mask was kept"
    kept = runtime.act(STATES[0], STATES[9], "cube_pos")
    runtime.act(STATES[5], STATES[9], "cube_pos")
    assert (kept == asked[0]).all(), "an answer was written over"
    assert (runtime.act(STATES[0].tolist(), STATES[9].astype(float), "cube_pos") == kept).all()
    many = runtime.act(STATES[:4], STATES[9], "cube_pos")
    np.testing.assert_allclose(many[0], kept, atol=1e-6)
    for message, arguments in {
        r"observation needs shape \[18\]": (STATES[0, :3], STATES[1], "all"),
        "goal has 3 rows, but another input has 5": (STATES[:5], STATES[:3], "all"),
        "did you mean 'cube_pos'": (STATES[0], STATES[1], "cub_pos"),
        "an empty query has no goal": (STATES[0], STATES[1], np.zeros(18, bool)),
        "over layout 'tabletop-double'": (STATES[0], STATES[1], Query.all(tabletop_layout(2))),
    }.items():
        with pytest.raises(GoalsetsError, match=message):
            runtime.act(*arguments)


@pytest.mark.full
def test_threads_share_a_policy() -> None:
    runtime = load(exported("gcbc").path)
    questions = ["cube_pos", "eff_pos", "eff_yaw", "all"]
    expected = [runtime.act(STATES[i], STATES[9], q) for i, q in enumerate(questions)]
    wrong: list[int] = []

    def ask(index: int) -> None:
        for _ in range(300):
            answer = runtime.act(STATES[index], STATES[9], questions[index])
            if np.abs(answer - expected[index]).max() > 1e-6:
                wrong.append(index)

    threads = [threading.Thread(target=ask, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.full
def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from goalsets.cli import main

    run = small_run("gcbc")
    main(["export", str(run.path), "--to", "onnx", "-o", str(tmp_path / "x.onnx")])
    printed = capsys.readouterr().out
    assert f"exported gcbc of step 5: {tmp_path / 'x.onnx'}" in printed
    assert "answers   any question" in printed
    assert "on 10,000 questions" in printed
    assert load(tmp_path / "x.onnx").card["distance"] is None
