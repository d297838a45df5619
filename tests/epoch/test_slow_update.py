"""The guidance that the optimizer writes between epochs, in real runs over scripted models."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.bench import Bench, OpenBench, appends, by_stage, look_up, rule, text_of
from tests.support.runs import read_json

from skillopt.errors import TransientModelError
from skillopt.events import EpochStageCommitted
from skillopt.models.base import ChatRequest
from skillopt.run.outcome import EndState
from skillopt.simulation.scripted import Said
from skillopt.skill.document import Skill
from skillopt.trainer import train

TWO_EPOCHS = {"train.num_epochs": 2, "optimizer.use_meta_skill": False}
NO_EDITS = {"reasoning": "nothing", "edits": []}


def guide(content: str | None) -> dict[str, Any]:
    """The optimizer's reply with guidance."""
    return {"reasoning": "looked back", "slow_update_content": content}


def requests(bench: Bench, stage: str = "slow_update") -> list[ChatRequest]:
    return [one for one in bench.optimizer.requests if one.place.stage == stage]


def gated(bench: Bench) -> int:
    """How often the target was asked a selection task for a slow update."""
    questions = {f"q{number}" for number in range(4, 8)}
    return sum(
        one.place.stage == "slow_update" and one.messages[-1].content in questions for one in bench.target.requests
    )


async def test_guidance_that_helps_is_in_the_best_skill_and_in_the_history(open_bench: OpenBench) -> None:
    bench = open_bench(
        optimizer=by_stage(reflect=NO_EDITS, slow_update=guide(f"\n{rule(4)}\n")),
        skill="# Skill\n",
        settings=TWO_EPOCHS,
    )
    outcome = await train(bench)
    assert outcome.state is EndState.IMPROVED
    assert outcome.best_skill.text == ("# Skill\n\n<!-- SLOW_UPDATE_START -->\nq4 = a4\n<!-- SLOW_UPDATE_END -->\n")
    assert outcome.best_skill.guidance == rule(4)
    _, first, second = bench.history
    assert "slow_update" not in first
    found = second["slow_update"]
    assert found["action"] == "accept_new_best"
    assert found["reason"].startswith("strictly higher: hard 1/4")
    assert (found["current_score"], found["candidate_gate_score"], found["selection_hard"]) == (0.0, 0.25, 0.25)
    assert found["pairs"] == {
        "improved": 0, "regressed": 0, "persistent_fail": 4, "stable_success": 0, "unmeasured": 0,
    }  # fmt: skip
    assert (found["prev_hard"], found["curr_hard"], found["counters"]) == (0.0, 0.0, {})
    assert found["usage"]["optimizer.slow_update"]["calls"] == 1
    assert second["usage"]["optimizer.slow_update"] == found["usage"]["optimizer.slow_update"]
    assert set(found) >= {"guidance_digest", "candidate_hash", "sign_test", "pair_policy"}


async def test_the_record_of_the_last_step_is_true_of_what_training_goes_on_with(open_bench: OpenBench) -> None:
    """val_acc is the skill that training goes on with; the step's own verdict stays."""
    bench = open_bench(optimizer=by_stage(reflect=NO_EDITS, slow_update=guide(rule(4))), settings=TWO_EPOCHS)
    await train(bench)
    record = bench.history[-1]
    assert record["action"] == "skip_no_patches"
    assert (record["val_acc"], record["current_score"], record["best_score"], record["best_step"]) == (
        0.25, 0.25, 0.25, 2,
    )  # fmt: skip
    assert record["current_origin"] == record["best_origin"] == "slow_update_epoch_02"
    text = (bench.directory / "skills" / "skill_v0002.md").read_text("utf-8")
    assert record["skill_len"] == len(text)
    assert rule(4) in text
    assert read_json(bench.directory / "steps" / "step_0002" / "step_record.json") == record
    (told,) = (event for event in bench.events if isinstance(event, EpochStageCommitted))
    assert (told.stage, told.epoch, told.record) == ("slow_update", 2, record)
    assert "slow_update_s" in record["timing"]


async def test_new_guidance_replaces_the_section_whole_and_the_earlier_one_is_shown(open_bench: OpenBench) -> None:
    def script(request: ChatRequest) -> Said:
        return guide(rule(4)) if request.place.epoch == 2 else guide(f"{rule(4)}\n{rule(5)}")

    bench = open_bench(optimizer=by_stage(reflect=NO_EDITS, slow_update=script), settings={"train.num_epochs": 3})
    outcome = await train(bench)
    assert outcome.best_skill.text.count("SLOW_UPDATE_START") == 1
    assert outcome.best_skill.guidance == f"{rule(4)}\n{rule(5)}"
    second, third = (text_of(request) for request in requests(bench))
    assert "(none yet)" in second
    assert f"which stands in the skill already:\n{rule(4)}" in third


async def test_steps_do_not_touch_the_guidance(open_bench: OpenBench) -> None:
    """F100: a later step edits the body and leaves the section where and as it is."""
    edits: dict[int, Any] = {
        1: NO_EDITS,
        2: NO_EDITS,
        3: {"edits": [{"op": "delete", "target": rule(4)}, {"op": "append", "content": rule(5)}]},
    }
    script = by_stage(reflect=lambda request: edits[request.place.epoch], update=NO_EDITS, slow_update=guide(rule(4)))
    bench = open_bench(optimizer=script, settings={"train.num_epochs": 3})
    outcome = await train(bench)
    assert outcome.best_skill.guidance == rule(4)
    assert outcome.best_skill.body.strip() == rule(5)


async def test_the_optimizer_sees_both_skills_and_no_selection_task(open_bench: OpenBench) -> None:
    """The step of epoch 2 loses task 0 and gains task 1 (and 4, so that it is accepted)."""
    change = {"edits": [{"op": "replace", "target": rule(0), "content": f"{rule(1)}\n{rule(4)}"}]}
    script = by_stage(reflect=lambda request: change if request.place.epoch == 2 else NO_EDITS, slow_update=guide(""))
    bench = open_bench(optimizer=script, skill=f"# Skill\n{rule(0)}\n", settings=TWO_EPOCHS)
    await train(bench)
    (request,) = requests(bench)
    text = text_of(request)
    assert f"<earlier_skill>\n# Skill\n{rule(0)}\n</earlier_skill>" in text
    assert f"<skill>\n# Skill\n{rule(1)}\n{rule(4)}\n</skill>" in text
    assert text.index("### t0") < text.index("### t2") < text.index("### t1")
    assert not any(f"{letter}{number}" in text for letter in "t" for number in range(4, 10))
    assert "q5" not in text


@pytest.mark.parametrize("gate", [True, False])
async def test_guidance_that_scores_lower_is_rejected_or_applied_and_measured_anew(
    open_bench: OpenBench, gate: bool
) -> None:
    """More 4: slow_update_gate_with_selection; applied guidance has a score of its own before the next comparison."""

    def target(request: ChatRequest) -> str:
        return "unknown" if "Answer nothing." in request.messages[0].content else look_up(request)

    def reflect(request: ChatRequest) -> Said:
        return appends(rule(5)) if request.place.epoch == 3 else NO_EDITS

    settings = {"train.num_epochs": 3, "optimizer.slow_update_gate_with_selection": gate}
    script = by_stage(reflect=reflect, slow_update=guide("Answer nothing."))
    bench = open_bench(optimizer=script, target=target, skill=f"{rule(4)}\n", settings=settings)
    outcome = await train(bench)
    second, third = bench.history[2:]
    assert second["best_score"] == 0.25
    if gate:
        assert second["slow_update"]["action"] == "reject"
        assert (second["val_acc"], third["action"]) == (0.25, "accept_new_best")
        assert "Answer nothing." not in outcome.best_skill.text
    else:
        assert second["slow_update"]["action"] == "force_accept"
        assert gated(bench) == 4
        assert (second["val_acc"], second["current_score"], second["current_origin"]) == (
            0.0, 0.0, "slow_update_epoch_02",
        )  # fmt: skip
        assert "hard 0/4 (0.0 %) against 0/4" in third["reason"] or "not above 0/4" in third["reason"]
        assert outcome.best_skill.text == f"{rule(4)}\n"


async def test_guidance_that_could_not_be_measured_whole_is_not_applied_either(open_bench: OpenBench) -> None:
    """More 4: nothing unmeasured is ever stored as a score, not even without a gate."""

    def target(request: ChatRequest) -> Said:
        lost = "Be exact." in request.messages[0].content and request.messages[-1].content == "q6"
        return TransientModelError("down") if lost else look_up(request)

    settings = {
        **TWO_EPOCHS,
        "optimizer.slow_update_gate_with_selection": False,
        "evaluation.max_unmeasured": 0.5,
    }
    script = by_stage(reflect=NO_EDITS, slow_update=guide("Be exact."))
    bench = open_bench(optimizer=script, target=target, skill="# Skill\n", settings=settings)
    await train(bench)
    record = bench.history[-1]
    assert (record["slow_update"]["action"], record["current_origin"]) == ("skip_unmeasured", "initial_skill")
    assert record["slow_update"]["candidate_gate_score"] is None


@pytest.mark.parametrize(
    ("said", "counted"),
    [
        (guide(""), {"guidance_empty": 1}),
        (guide(None), {"guidance_empty": 1}),
        (guide(" \n\t"), {"guidance_empty": 1}),
        (guide("x <!-- SLOW_UPDATE_END --> y"), {"guidance_refused": 1}),
        (guide("<!-- APPENDIX_START -->"), {"guidance_refused": 1}),
        (guide("a\0b"), {"guidance_refused": 1}),
        (guide("word " * 200), {"guidance_over_size": 1}),
        ("no JSON", {"replies_asked_again": 1, "replies_dropped": 1}),
        (TransientModelError("busy"), {"provider_failed_TransientModelError": 1}),
    ],
    ids=lambda value: repr(value)[:40],
)
async def test_a_text_that_is_no_guidance_leaves_the_skill_as_it_is(
    open_bench: OpenBench, said: Said, counted: dict[str, int]
) -> None:
    """No marker pair is added to a skill that has no guidance; skill.max_tokens holds for guidance too."""
    bench = open_bench(
        optimizer=by_stage(reflect=NO_EDITS, slow_update=said),
        skill="# Skill\n",
        settings={**TWO_EPOCHS, "skill.max_tokens": 100},
    )
    outcome = await train(bench)
    found = bench.history[-1]["slow_update"]
    assert (found["action"], found["counters"]) == ("no_content", counted)
    assert outcome.state is EndState.NO_CANDIDATES
    assert outcome.best_skill.text == "# Skill\n"
    assert gated(bench) == 0


async def test_the_guidance_that_is_there_already_is_not_measured_again(open_bench: OpenBench) -> None:
    """F20."""
    seed = Skill.parse("# Skill\n").with_section("SLOW_UPDATE", "Be exact.").text
    bench = open_bench(
        optimizer=by_stage(reflect=NO_EDITS, slow_update=guide(" Be exact.\n")), skill=seed, settings=TWO_EPOCHS
    )
    await train(bench)
    assert bench.history[-1]["slow_update"]["action"] == "skip_no_change"
    assert gated(bench) == 0
    assert (bench.directory / "best_skill.md").read_text("utf-8") == seed


async def test_without_it_nothing_is_compared_and_nothing_written(open_bench: OpenBench) -> None:
    settings = {**TWO_EPOCHS, "optimizer.use_slow_update": False}
    bench = open_bench(optimizer=by_stage(reflect=NO_EDITS, slow_update=guide(rule(4))), settings=settings)
    await train(bench)
    assert requests(bench) == []
    assert not any(one.place.stage == "slow_update" for one in bench.target.requests)
    assert "slow_update" not in bench.history[-1]
    assert not (bench.directory / "slow_update").exists()


async def test_the_first_epoch_has_nothing_to_look_back_on(open_bench: OpenBench) -> None:
    settings = {"train.num_epochs": 1}
    bench = open_bench(optimizer=by_stage(reflect=NO_EDITS, slow_update=guide(rule(4))), settings=settings)
    await train(bench)
    assert requests(bench) == []


async def test_nothing_is_asked_once_no_score_can_be_higher(open_bench: OpenBench) -> None:
    solving = by_stage(reflect=appends(*(rule(number) for number in range(4, 8))), slow_update=guide("Be exact."))
    bench = open_bench(optimizer=solving)
    await train(bench)
    assert requests(bench) == []


async def test_another_start_replays_the_slow_update(open_bench: OpenBench, tmp_path: Any) -> None:
    """A provider that failed at this place is not asked again either."""
    evidence = tmp_path / "evidence.sqlite"
    settings = {"train.num_epochs": 3}

    def script(request: ChatRequest) -> Said:
        return TransientModelError("busy") if request.place.epoch == 2 else guide(rule(4))

    bench = open_bench(optimizer=by_stage(reflect=NO_EDITS, slow_update=script), settings=settings, evidence=evidence)
    await train(bench)
    history = bench.history
    again = open_bench(optimizer=(), target=(), settings=settings, evidence=evidence)
    outcome = await train(again)
    assert again.history == history
    assert outcome.best_skill.guidance == rule(4)
    assert (again.optimizer.requests, again.target.requests) == ([], [])
