"""Stage 5: the survivors are applied, each at exactly one place or not at all."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.support.bench import OpenBench, text_of
from tests.support.values import append, replace_edit, state

from skillopt.errors import FatalModelError, TransientModelError
from skillopt.results import Selected
from skillopt.step.update import update
from skillopt.types import Edit, EditOperation, EditState

SKILL = "# Skill\n\n## Form\n\n- Be brief.\n- Name the unit.\n\n## Tone\n\n- Be brief.\n"


def reply(*edits: dict[str, Any] | str) -> dict[str, Any]:
    return {"reasoning": "mended", "edits": list(edits)}


def mended(target: str, content: str) -> dict[str, Any]:
    return {"op": "replace", "target": target, "content": content}


async def test_edits_that_find_their_place_need_no_call(open_bench: OpenBench) -> None:
    bench = open_bench()
    candidate = await update(bench, state(text=SKILL), Selected((append("- New."), replace_edit("the unit", "units"))))
    assert candidate.changed
    assert candidate.skill.text == SKILL.replace("the unit", "units") + "- New.\n"
    assert [outcome.repaired for outcome in candidate.outcomes] == [False, False]
    assert candidate.applied == (append("- New."), replace_edit("the unit", "units"))
    assert bench.optimizer.requests == []


async def test_no_edits_leave_the_skill_as_it_is(open_bench: OpenBench) -> None:
    candidate = await update(open_bench(), state(text=SKILL), Selected())
    assert (candidate.skill.text, candidate.outcomes, candidate.changed) == (SKILL, (), False)


async def test_an_unmatched_edit_is_repaired_once_with_the_nearest_lines_shown(open_bench: OpenBench) -> None:
    """F57."""
    bench = open_bench(optimizer=[reply(mended("- Name the unit.", "- Name units."))])
    edit = replace_edit("- Name teh unit", "- Name units.", tasks=[3])
    candidate = await update(bench, state(text=SKILL), Selected((edit,)))
    (outcome,) = candidate.outcomes
    assert (outcome.state, outcome.repaired) == (EditState.APPLIED, True)
    assert (outcome.edit.target, outcome.edit.task_ids) == ("- Name the unit.", ("t3",))
    assert candidate.skill.text == SKILL.replace("Name the unit.", "Name units.")
    (request,) = bench.optimizer.requests
    assert request.place.stage == "update"
    assert re.search(r"0\. unmatched: the target is not in the skill\n +line 6: - Name the unit\.", text_of(request))


async def test_an_ambiguous_edit_is_repaired_with_its_places_shown(open_bench: OpenBench) -> None:
    """F58."""
    bench = open_bench(optimizer=[reply(mended("## Tone\n\n- Be brief.", "## Tone\n\n- Be kind."))])
    candidate = await update(bench, state(text=SKILL), Selected((replace_edit("- Be brief.", "- Be kind."),)))
    assert candidate.skill.text == SKILL.replace("## Tone\n\n- Be brief.", "## Tone\n\n- Be kind.")
    assert "0. ambiguous: found in 2 places: lines 5 and 10" in text_of(bench.optimizer.requests[0])


@pytest.mark.parametrize("answer", [reply(mended("zzz", "x")), reply("no edit"), reply(mended("", "x"))])
async def test_what_stays_without_a_place_is_applied_nowhere(open_bench: OpenBench, answer: Any) -> None:
    """F57, F58: never at the end instead, and asked for once only."""
    bench = open_bench(optimizer=lambda _: answer)
    candidate = await update(bench, state(text=SKILL), Selected((replace_edit("zzz", "x"),)))
    assert candidate.outcomes[0].state in (EditState.UNMATCHED, EditState.INVALID)
    assert (candidate.skill.text, candidate.changed, candidate.outcomes[0].repaired) == (SKILL, False, False)
    assert len(bench.optimizer.requests) == 1


@pytest.mark.parametrize(
    "answer",
    [reply(), reply(mended("# Skill", "a"), mended("# Skill", "b")), "no JSON", TransientModelError("down")],
)
async def test_a_repair_that_does_not_fit_is_dropped_and_counted(open_bench: OpenBench, answer: Any) -> None:
    """F6: the other edits are applied all the same."""
    bench = open_bench(optimizer=lambda _: answer)
    candidate = await update(bench, state(text=SKILL), Selected((replace_edit("zzz", "x"), append("- New."))))
    assert [outcome.state for outcome in candidate.outcomes] == [EditState.UNMATCHED, EditState.APPLIED]
    assert candidate.skill.text == SKILL + "- New.\n"
    assert bench.counted["dropped_repairs"] == 1


async def test_only_what_has_no_place_is_sent_for_repair_and_the_order_is_kept(open_bench: OpenBench) -> None:
    bench = open_bench(optimizer=[reply(mended("- Name the unit.", "- B."))])
    edits = (append("- A."), replace_edit("zzz", "- B."), append("- C."))
    candidate = await update(bench, state(text=SKILL), Selected(edits))
    assert [outcome.edit.content for outcome in candidate.outcomes] == ["- A.", "- B.", "- C."]
    assert [outcome.repaired for outcome in candidate.outcomes] == [False, True, False]
    text = text_of(bench.optimizer.requests[0])
    assert "zzz" in text
    assert "- A." not in text


async def test_a_repair_may_leave_out_the_content_and_may_become_an_append(open_bench: OpenBench) -> None:
    """More 12: the meaning is clear."""
    bench = open_bench(optimizer=[reply({"op": "append"})])
    edit = Edit(EditOperation.INSERT_AFTER, "zzz", "- New.")
    candidate = await update(bench, state(text=SKILL), Selected((edit,)))
    assert candidate.skill.text == SKILL + "- New.\n"


@pytest.mark.parametrize(
    ("edit", "ends"),
    [
        (replace_edit("<!-- SLOW_UPDATE_START -->", "x"), EditState.PROTECTED),
        (replace_edit("", "x"), EditState.INVALID),
        (append("- Be brief."), EditState.DUPLICATE),
        (append("word " * 300), EditState.OVER_BUDGET),
    ],
)
async def test_what_no_target_could_mend_is_not_sent_for_repair(
    open_bench: OpenBench, edit: Edit, ends: EditState
) -> None:
    """F60, F61, F117: `skill.max_tokens` is enforced in code."""
    text = SKILL + "\n<!-- SLOW_UPDATE_START -->\nGuidance.\n<!-- SLOW_UPDATE_END -->\n"
    bench = open_bench(settings={"skill.max_tokens": 200})
    candidate = await update(bench, state(text=text), Selected((edit,)))
    assert ([outcome.state for outcome in candidate.outcomes], candidate.changed) == ([ends], False)
    assert bench.optimizer.requests == []


async def test_a_provider_that_can_never_answer_ends_the_run(open_bench: OpenBench) -> None:
    bench = open_bench(optimizer=lambda _: FatalModelError("invalid key", status=401))
    with pytest.raises(FatalModelError, match="invalid key"):
        await update(bench, state(text=SKILL), Selected((replace_edit("zzz", "x"),)))
