"""Edits of several steps before one gate: steps work on the draft, and all of it is accepted or dropped together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.support.bench import Bench, OpenBench, appends, by_stage, look_up, rule, text_of
from tests.support.runs import SMALL, read_json, views, write_run

from skillopt.api import train as train_from
from skillopt.errors import TransientModelError
from skillopt.models.base import ChatRequest
from skillopt.run.outcome import EndState
from skillopt.simulation.scripted import Said
from skillopt.trainer import train

QUIET = {"optimizer.use_slow_update": False, "optimizer.use_meta_skill": False, "train.batch_size": 1}
"""Four steps an epoch, one training task each."""
ONE_EPOCH = {**QUIET, "train.num_epochs": 1}
REMOVED: Mapping[str, Any] = {"edits": [{"op": "delete", "target": "Note 1."}]}


def by_step(*replies: Sequence[str] | Mapping[str, Any], **others: Any) -> Any:
    """An optimizer that says one thing in each step, and from then on nothing: texts are appended."""

    def reflect(request: ChatRequest) -> Any:
        step = request.place.step
        said = replies[step - 1] if step <= len(replies) else ()
        return said if isinstance(said, Mapping) else appends(*said)

    return by_stage(reflect=reflect, **others)


def column(bench: Bench, name: str) -> list[Any]:
    return [record[name] for record in bench.history[1:]]


def asked(bench: Bench, stage: str) -> list[ChatRequest]:
    return [one for one in bench.target.requests if one.place.stage == stage]


async def test_the_edits_of_several_steps_are_gated_together(open_bench: OpenBench) -> None:
    """evaluation.gate_every: no rule of two steps is judged alone, and the second step works on the draft."""
    bench = open_bench(
        optimizer=by_step((rule(4),), (rule(8),), (rule(5),), (rule(6),)),
        settings={**ONE_EPOCH, "evaluation.gate_every": 2},
    )
    outcome = await train(bench)
    assert column(bench, "action") == ["deferred", "accept_new_best"] * 2
    assert column(bench, "gated_steps") == [[], [1, 2], [], [3, 4]]
    assert column(bench, "pending_steps") == [[1], [], [3], []]
    assert column(bench, "pending_edits") == [1, 0, 1, 0]
    assert column(bench, "gate_window") == [2] * 4
    assert column(bench, "val_solved") == [0, 1, 1, 3]
    assert column(bench, "reason")[0] == (
        "1 change so far; the gate judges those of 2 steps together (evaluation.gate_every)"
    )
    assert outcome.best_skill.text == "\n\n".join(map(rule, (4, 8, 5, 6))) + "\n"
    assert {one.place.step for one in asked(bench, "gate")} == {2, 4}
    seen = [rule(4) in text_of(one) for one in asked(bench, "rollout")]
    assert seen == [False, True, True, True]
    reflected = [one for one in bench.optimizer.requests if one.place.stage == "reflect"]
    assert [rule(4) in text_of(one) for one in reflected] == [False, True, True, True]
    drafts = [bench.directory / "steps" / f"step_{step:04d}" / "candidate_skill.md" for step in (1, 2)]
    assert [path.read_text("utf-8") for path in drafts] == [f"{rule(4)}\n", f"{rule(4)}\n\n{rule(8)}\n"]
    assert (bench.directory / "skills" / "skill_v0001.md").read_text("utf-8") == ""
    assert (outcome.summary["total_accepts"], outcome.summary["total_deferred"]) == (2, 2)


async def test_a_rejection_drops_all_of_it_remembers_one_bundle_and_halves_the_window(open_bench: OpenBench) -> None:
    notes = [(f"Note {number}.",) for number in range(1, 9)]
    settings = {**QUIET, "train.num_epochs": 2, "evaluation.gate_every": 4, "optimizer.redraw": 0}
    bench = open_bench(optimizer=by_step(*notes), settings=settings)
    outcome = await train(bench)
    assert column(bench, "action") == [*["deferred"] * 3, "reject", "deferred", "reject", "reject", "reject"]
    assert column(bench, "gated_steps")[3:] == [[1, 2, 3, 4], [], [5, 6], [7], [8]]
    assert column(bench, "gate_window") == [4, 4, 4, 2, 2, 1, 1, 1]
    assert outcome.best_skill.text == ""
    told = next(text_of(one) for one in bench.optimizer.requests if one.place.step == 5)
    for number in range(1, 5):
        assert f'append "Note {number}." (tried in step 4 together with 3 other edits)' in told
    candidates = [bench.directory / "steps" / f"step_{step:04d}" / "candidate_skill.md" for step in (4, 5)]
    assert [path.read_text("utf-8").count("Note") for path in candidates] == [4, 1]


async def test_nothing_unjudged_is_left_at_an_epochs_end(open_bench: OpenBench) -> None:
    """Slow update and meta skill look at what the gate has judged, and so does the end of the training."""
    settings = {"train.batch_size": 2, "train.num_epochs": 2, "evaluation.gate_every": 9}
    looked: list[str] = []

    def look_back(request: ChatRequest) -> Any:
        looked.append(text_of(request))
        return {"slow_update_content": ""}

    bench = open_bench(
        optimizer=by_step((rule(4),), (rule(8),), (rule(5),), {"edits": []}, slow_update=look_back), settings=settings
    )
    outcome = await train(bench)
    assert column(bench, "action") == ["deferred", "accept_new_best"] * 2
    assert column(bench, "gated_steps") == [[], [1, 2], [], [3, 4]], "the last step had nothing to add"
    assert column(bench, "pending_steps")[1::2] == [[], []]
    assert all(rule(5) in text for text in looked)
    assert looked
    assert outcome.best_skill.text.count(" = ") == 3


async def test_a_step_that_adds_nothing_leaves_the_draft_waiting(open_bench: OpenBench) -> None:
    settings = {**ONE_EPOCH, "evaluation.gate_every": 3}
    bench = open_bench(optimizer=by_step((rule(4),), {"edits": []}, {"edits": []}), settings=settings)
    await train(bench)
    assert column(bench, "action") == ["deferred", "deferred", "accept_new_best", "skip_no_patches"]
    assert column(bench, "pending_steps") == [[1], [1], [], []]


async def test_edits_that_undo_each_other_are_no_candidate(open_bench: OpenBench) -> None:
    """F20: the draft is the current skill again, so nothing is measured."""
    settings = {**ONE_EPOCH, "evaluation.gate_every": 3}
    bench = open_bench(optimizer=by_step(("Note 1.",), REMOVED), skill="# Skill\n", settings=settings)
    await train(bench)
    assert column(bench, "action")[:2] == ["deferred", "skip_no_change"]
    assert column(bench, "reason")[1].startswith("the edits that waited for the gate were undone")
    assert asked(bench, "gate") == []


async def test_a_bundle_that_lost_is_known_by_all_its_edits(open_bench: OpenBench) -> None:
    """F90: two steps bring what one step brought before."""
    replies = ("Note 1.",), ("Note 2.",), ("Note 2.", "Note 1."), ("Note 3.",)
    bench = open_bench(optimizer=by_step(*replies), settings={**ONE_EPOCH, "evaluation.gate_every": 2})
    await train(bench)
    assert column(bench, "action") == ["deferred", "reject", "skip_repeated", "reject"]
    assert column(bench, "gate_window") == [2, 1, 1, 1]


@pytest.mark.parametrize(("until", "action"), [(3, "accept_new_best"), (5, "skip_unmeasured")])
async def test_an_outage_at_the_gate_loses_no_edits_before_the_last_step(
    open_bench: OpenBench, until: int, action: str
) -> None:
    """F14: one selection task that cannot be measured; the draft is judged at the next gate."""

    def target(request: ChatRequest) -> Said:
        at_gate = request.place.stage == "gate" and request.messages[-1].content == "q7"
        return TransientModelError("down") if at_gate and request.place.step < until else look_up(request)

    settings = {**ONE_EPOCH, "evaluation.gate_every": 2, "evaluation.max_unmeasured": 0.5}
    replies = (rule(4),), (rule(5),), (rule(6),), ("Note 1.",)
    bench = open_bench(optimizer=by_step(*replies), target=target, settings=settings)
    outcome = await train(bench)
    first = ["deferred", "deferred", action if until == 3 else "deferred"]
    assert column(bench, "action") == [*first, "reject" if until == 3 else action]
    assert column(bench, "pending_steps")[:2] == [[1], [1, 2]]
    assert column(bench, "reason")[1].endswith("the edits are kept, and judged with those of the next step")
    if until == 3:
        assert column(bench, "gated_steps")[2] == [1, 2, 3]
        assert outcome.best_skill.text.count(" = ") == 3
    else:
        assert column(bench, "pending_steps")[2:] == [[1, 2, 3], []]
        assert column(bench, "reason")[3].endswith("are dropped: this was the last step")
        assert outcome.state is EndState.ALL_REJECTED


async def test_tasks_that_only_a_rejected_draft_solved_are_drawn_again(open_bench: OpenBench) -> None:
    """train.sampling unsolved: the second step's rollouts are those of a draft that is no more."""
    known = "\n".join(map(rule, range(4)))
    settings = {**ONE_EPOCH, "train.sampling": "unsolved", "evaluation.gate_every": 2}
    bench = open_bench(optimizer=by_step((known,)), settings=settings)
    await train(bench)
    assert column(bench, "action")[:2] == ["deferred", "reject"]
    assert column(bench, "train_known_solved") == [0] * 4
    assert column(bench, "train_known_n")[:2] == [1, 1]


async def test_only_a_step_that_was_gated_alone_is_drawn_again(open_bench: OpenBench) -> None:
    """The trajectories of a rejected window's last step are those of the draft, which is no more."""
    tries = iter(range(99))
    script = by_stage(reflect=lambda _: appends(f"Note {next(tries)}."))
    bench = open_bench(optimizer=script, settings={**ONE_EPOCH, "evaluation.gate_every": 2, "optimizer.redraw": 2})
    await train(bench)
    assert column(bench, "action") == ["deferred", "reject", "reject", "reject"]
    assert [len(redraws) for redraws in column(bench, "redraws")] == [0, 0, 2, 2]


@pytest.mark.parametrize(("patience", "steps"), [(0, 8), (1, 4), (2, 6)])
async def test_patience_counts_gates_and_never_ends_with_edits_waiting(
    open_bench: OpenBench, patience: int, steps: int
) -> None:
    notes = [(f"Note {number}.",) for number in range(1, 9)]
    settings = {**QUIET, "train.num_epochs": 2, "evaluation.gate_every": 4, "evaluation.patience": patience}
    bench = open_bench(optimizer=by_step(*notes), settings=settings)
    await train(bench)
    assert len(bench.history) - 1 == steps
    assert column(bench, "pending_edits")[-1] == 0


async def test_a_rejected_window_is_one_rejection_for_the_fresh_pass(open_bench: OpenBench) -> None:
    notes = [(f"Note {number}.",) for number in range(1, 5)]
    settings = {**ONE_EPOCH, "evaluation.gate_every": 2, "evaluation.refresh": 2}
    bench = open_bench(optimizer=by_step(*notes), settings=settings)
    await train(bench)
    assert [record is not None for record in column(bench, "refresh")] == [False, False, False, True]


async def test_a_second_start_in_the_middle_of_a_window_pays_nothing_twice(
    open_bench: OpenBench, tmp_path: Path
) -> None:
    settings = {**ONE_EPOCH, "evaluation.gate_every": 3}
    evidence, steps = tmp_path / "evidence.sqlite", ((rule(4),), ("Note 1.",), (rule(5),), (rule(6),))
    bench = open_bench(optimizer=by_step(*steps), settings=settings, evidence=evidence)
    await train(bench)
    files = views(bench.directory)
    again = open_bench(optimizer=(), target=(), settings=settings, evidence=evidence)
    await train(again)
    assert views(again.directory) == files


async def test_one_step_a_gate_is_the_plain_loop_byte_for_byte(tmp_path: Path) -> None:
    found: list[dict[str, Any]] = []
    for settings in ({}, {"evaluation.gate_every": 1}):
        out = f"run{len(found)}"
        await train_from(write_run(tmp_path, settings={**settings, "env.out_root": out}))
        found.append(views(tmp_path / out))
    assert found[0] == found[1]


async def test_where_every_step_ends_an_epoch_the_window_changes_nothing(tmp_path: Path) -> None:
    """Each step is gated alone then: the same skills, scores, prompts and costs as in the plain loop."""
    optimizer = "simulated:optimizer?useful=0.5&useless=0.6&harmful=0.4&seed=3&rules=4&tasks=32"
    found: list[Any] = []
    for every in (1, 7):
        settings = {
            "model.optimizer.name": optimizer,
            "evaluation.gate_every": every,
            "train.batch_size": 99,
            "train.num_epochs": 4,
            "env.out_root": f"run{every}",
        }
        await train_from(write_run(tmp_path, settings=settings))
        records = read_json(tmp_path / f"run{every}" / "history.json")
        found.append([{**record, "gate_window": None, "timing": None} for record in records])
    assert found[0] == found[1]
    assert {"reject"} < {record["action"] for record in found[0]}


@pytest.mark.parametrize("every", [2, 3])
async def test_each_deferred_step_is_judged_once_in_its_own_epoch(tmp_path: Path, every: int) -> None:
    """A simulated training with good, useless and harmful edits: whatever happens, no edit is judged twice or never."""
    optimizer = "simulated:optimizer?useful=0.5&useless=0.6&harmful=0.4&seed=3&rules=4&tasks=32"
    settings = {
        "model.optimizer.name": optimizer,
        "evaluation.gate_every": every,
        "optimizer.learning_rate": 1,
        "train.num_epochs": 3,
    }
    outcome = await train_from(write_run(tmp_path, SMALL, settings=settings))
    records = read_json(outcome.directory / "history.json")[1:]
    waiting: list[int] = []
    for number, record in enumerate(records):
        judged = record["gated_steps"]
        assert [step for step in judged if step != record["step"]] == (waiting if judged else [])
        waiting = record["pending_steps"]
        last = number + 1 == len(records) or records[number + 1]["epoch"] != record["epoch"]
        assert not (last and waiting)
        assert (record["action"] == "deferred") == bool(waiting)
        if number and record["action"] == "reject":
            assert record["gate_window"] == max(1, records[number - 1]["gate_window"] // 2)
    assert any(len(record["gated_steps"]) > 1 for record in records)
