"""The reply of skill-aware reflection, and that nobody else is asked for it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.bench import OpenBench, text_of
from tests.support.values import rollout, state

from skillopt.config.training_settings import OptimizerSettings
from skillopt.step.reflect import reflect
from skillopt.step.replies import EditsReply, edits_schema
from skillopt.step.skill_aware import SkillAwareReply, asks_for_notes, read_notes, with_notes
from skillopt.types import EditState, Note

ON = {"optimizer.use_skill_aware_reflection": True}
BOTH_KINDS = [rollout(0), rollout(1), rollout(2, 1)]


@pytest.mark.parametrize(
    ("value", "edits", "notes"),
    [
        ({"edits": [], "appendix_notes": ["a"]}, 0, ["a"]),
        ({"appendix_notes": "a"}, 0, ["a"]),
        ({"reasoning": "r", "appendix_notes": ["a", "b"]}, 0, ["a", "b"]),
        ({"patch": {"edits": [{"op": "append", "content": "x"}]}, "appendix_notes": ["a"]}, 1, ["a"]),
        ({"op": "append", "content": "x", "appendix_notes": None}, 1, []),
        ({"edits": [{"op": "append", "content": "x"}]}, 1, []),
        ({"edits": [], "appendix_notes": None}, 0, []),
    ],
)
def test_the_shape_is_tolerated_where_the_meaning_is_clear(value: Any, edits: int, notes: list[str]) -> None:
    """More 12: the public reply has the notes beside the patch."""
    reply = SkillAwareReply.model_validate(value)
    assert len(reply.edits) == edits
    assert [note.text for note in read_notes(reply, source_type="failure", task_ids=("t0", "t1"))] == notes


def test_each_note_is_read_by_itself() -> None:
    reply = SkillAwareReply.model_validate({"edits": [], "appendix_notes": ["a", 7, "c"]})
    assert read_notes(reply, source_type="success", task_ids=("t0", "t1")) == (
        Note("a", "success", ("t0", "t1")),
        Note("7", "success", ("t0", "t1"), EditState.INVALID, "a note is a text"),
        Note(
            "c", "success", ("t0", "t1"), EditState.OVER_BUDGET, "2 trajectories were shown, so at most as many notes"
        ),
    )


def test_a_reply_of_edits_alone_has_no_notes() -> None:
    reply = EditsReply.model_validate({"edits": [], "appendix_notes": ["a"]})
    assert read_notes(reply, source_type="failure", task_ids=("t0",)) == ()


def test_the_schema_is_that_of_edits_with_a_list_of_texts() -> None:
    schema: Any = with_notes(edits_schema(["- a"])).schema
    assert schema["required"] == ["reasoning", "edits", "appendix_notes"]
    assert schema["properties"]["appendix_notes"] == {"type": "array", "items": {"type": "string"}}
    assert "- a" in str(schema["properties"]["edits"])
    assert SkillAwareReply.reply_schema() == with_notes(edits_schema(None))


@pytest.mark.parametrize(
    ("settings", "asked"),
    [
        ({}, []),
        ({"skill_aware_appendix_source": "both"}, []),
        ({"use_skill_aware_reflection": True}, ["failure", "success"]),
        ({"use_skill_aware_reflection": True, "skill_aware_appendix_source": "failure_only"}, ["failure"]),
    ],
)
async def test_the_source_decides_which_reflections_may_write_notes(
    open_bench: OpenBench, settings: dict[str, Any], asked: list[str]
) -> None:
    """Whoever may not is asked by the very prompt and form of a run without it."""
    optimizer = OptimizerSettings(**settings)
    assert [kind for kind in ("failure", "success") if asks_for_notes(optimizer, kind)] == asked
    bench = open_bench(
        optimizer=lambda _: {"edits": [], "appendix_notes": ["Mind it."]},
        settings={f"optimizer.{key}": value for key, value in settings.items()},
    )
    patches = await reflect(bench, state(), BOTH_KINDS)
    assert [patch.source_type for patch in patches] == asked
    assert all([note.text for note in patch.notes] == ["Mind it."] for patch in patches)
    plain = open_bench(optimizer=lambda _: {"edits": []})
    await reflect(plain, state(), BOTH_KINDS)
    for kind, request, same in zip(
        ("failure", "success"), bench.optimizer.requests, plain.optimizer.requests, strict=True
    ):
        assert ("appendix_notes" in text_of(request)) == (kind in asked)
        assert request.schema is not None
        assert ("appendix_notes" in str(request.schema.schema)) == (kind in asked)
        assert (request == same) == (kind not in asked)


async def test_each_failure_is_judged_by_the_skill_it_failed_with(open_bench: OpenBench) -> None:
    """The two judgements and all inputs of a reflection are in the prompt; the skill once, its appendix with it."""
    appendix = "<!-- APPENDIX_START -->\n## Execution Notes Appendix\n\n- Mind it.\n<!-- APPENDIX_END -->\n"
    text = f"# Skill\n\n- XYZ\n\n{appendix}"
    bench = open_bench(optimizer=lambda _: {"edits": []}, settings=ON)
    await reflect(bench, state(text=text, budget=3), BOTH_KINDS[:2])
    (request,) = bench.optimizer.requests
    shown = text_of(request)
    assert all(
        word in shown for word in ("SKILL_DEFECT", "EXECUTION_LAPSE", "at most 3 edits", bench.environment.purpose)
    )
    assert shown.count(text.strip()) == 1
    assert all(f". {one.task.id}\n" in shown for one in BOTH_KINDS[:2])
    assert request.schema is not None
    assert "Mind it." not in str(request.schema.schema), "an edit has no target in the appendix"
