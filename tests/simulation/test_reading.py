"""What the simulated optimizer makes of a prompt."""

from __future__ import annotations

import json
from typing import get_args

import pytest

from skillopt.models.base import ChatRequest, ReplySchema
from skillopt.models.structured import Reply
from skillopt.prompts import render, slots
from skillopt.simulation.reading import ShownEdit, Stage, lacking, list_item, shown_edits, stage_of
from skillopt.simulation.world import World
from skillopt.step.appendix import ConsolidationReply
from skillopt.step.budget import BudgetReply
from skillopt.step.replies import EditsReply, MergeReply, RankingReply
from skillopt.step.rewrite import RewriteReply
from skillopt.step.skill_aware import SkillAwareReply
from skillopt.types import Message, Place

WORLD = World(7)
QUESTION = WORLD.tasks[0].question


def over_the_wire(text: str, schema: ReplySchema | None = None) -> ChatRequest:
    return ChatRequest((Message("user", text),), Place(""), schema)


@pytest.mark.parametrize("stage", get_args(Stage))
def test_in_process_the_place_says_which_stage_asks(stage: str) -> None:
    request = ChatRequest((Message("user", "selected_indices"),), Place(stage), RankingReply.reply_schema())
    assert stage_of(request) == stage


@pytest.mark.parametrize(
    ("text", "schema", "stage"),
    [
        (f"Task: {QUESTION}", EditsReply, "reflect"),
        ("number 0 was not found", EditsReply, "update"),
        (f"Task: {QUESTION}", SkillAwareReply, "reflect"),
        ("shorten these", ConsolidationReply, "appendix_consolidate"),
        ("merge these", MergeReply, "aggregate"),
        (f"rewrite for {QUESTION}", RewriteReply, "rewrite"),
        ("how many of these edits", BudgetReply, "budget"),
        (f"rank these; one speaks of {QUESTION}", RankingReply, "select"),
    ],
)
def test_over_the_wire_the_form_of_the_reply_tells_the_stage(text: str, schema: type[Reply], stage: str) -> None:
    assert stage_of(over_the_wire(text, schema.reply_schema())) == stage


@pytest.mark.parametrize("stage", ["reflect", "update"])
def test_a_rewrite_is_told_by_the_form_of_its_reply(stage: str) -> None:
    """Two stages ask for one; their place alone would mean edits."""
    request = ChatRequest((Message("user", QUESTION),), Place(stage), RewriteReply.reply_schema())
    assert stage_of(request) == "rewrite"


@pytest.mark.parametrize(
    ("text", "stage"),
    [
        (f'Task: {QUESTION}\nReply with {{"reasoning": "...", "edits": [...]}}', "reflect"),
        ('Mend these. Reply with {"edits": [...]}', "update"),
        ('Merge these. Reply with {"edits": [...], "drop_all_reason": "..."}', "aggregate"),
        ('Rank these edits. Reply with {"selected_indices": [...]}', "select"),
        (f'{QUESTION} Reply with {{"slow_update_content": "..."}}', "slow_update"),
        ('Reply with {"consolidated_notes": ["..."]}', "appendix_consolidate"),
        ('Reply with {"meta_skill_content": "..."}', "meta_skill"),
        ('Reply with {"learning_rate": 3}', "budget"),
        (f'{QUESTION} Reply with {{"new_skill": "..."}}', "rewrite"),
        ("Reply with OK.", None),
    ],
)
def test_without_a_schema_the_prompt_tells_the_stage(text: str, stage: str | None) -> None:
    assert stage_of(over_the_wire(text)) == stage


@pytest.mark.parametrize(
    ("prompt", "stage"),
    [
        ("reflect_failure", "reflect"),
        ("reflect_success", "reflect"),
        ("aggregate", "aggregate"),
        ("select", "select"),
        ("update_repair", "update"),
    ],
)
def test_every_prompt_of_a_step_is_known_over_the_wire_by_its_words_alone(prompt: str, stage: str) -> None:
    edit = '{"number": 0, "op": "append", "content": "- Be brief."}'
    known = {"skill": WORLD.perfect_skill(), "trajectories": f"Task: {QUESTION}", "edits": edit}
    messages = render(prompt, **{slot: known.get(slot, "-") for slot in slots(prompt)})
    assert stage_of(ChatRequest(messages, Place(""))) == stage
    shown = [edit.content for edit in shown_edits("\n".join(message.content for message in messages))]
    assert stage == "reflect" or shown == ["- Be brief."]


def test_numbered_edits_are_read_and_an_example_in_the_prompt_is_not() -> None:
    shown = [
        {"number": 0, "op": "append", "target": "", "content": '- {braces} and "quotes"'},
        {"number": 1, "op": "delete", "target": "- a [line", "content": ""},
    ]
    text = 'Reply like {"edits": [{"op": "append", "content": "..."}]}. The skill has {odd [text.\n' + "\n".join(
        json.dumps(each) for each in shown
    )
    assert shown_edits(text) == (
        ShownEdit(0, "append", "", '- {braces} and "quotes"'),
        ShownEdit(1, "delete", "- a [line", ""),
    )


def test_edits_in_a_nested_patch_without_numbers_are_numbered_in_order() -> None:
    patches = [{"patch": {"reasoning": "x", "edits": [{"op": "append", "content": "a"}]}}]
    patches.append({"patch": {"reasoning": "y", "edits": [{"op": "append", "target": None, "content": "b"}]}})
    assert [(edit.number, edit.content) for edit in shown_edits(json.dumps(patches, indent=2))] == [(0, "a"), (1, "b")]


@pytest.mark.parametrize("text", ["", "[" * 500, "{}[]", '{"op": 3}', "no JSON at all"])
def test_a_prompt_without_edits_shows_none(text: str) -> None:
    assert shown_edits(text) == ()


def test_the_rules_of_subjects_that_are_asked_about_and_not_written_down_are_lacking() -> None:
    first, second = WORLD.rules[:2]
    asked = f"{WORLD.tasks[0].question}\n{WORLD.tasks[1].question}"
    assert lacking(WORLD, asked) == ((first, second), ())
    assert lacking(WORLD, f"1. *{first.sentence}*\n{asked}") == ((second,), ())
    assert lacking(WORLD, "Gauge ZZ-00 shows 417.") == ((), ())


def test_what_a_target_complains_of_is_lacking_even_if_it_is_written_somewhere() -> None:
    rule = WORLD.rules[0]
    text = f"Rejected before: {rule.sentence}\n{QUESTION}\nI know no house rule for {rule.code}."
    assert lacking(WORLD, text) == ((rule,), ())
    harmful = WORLD.harmful[0]
    assert lacking(WORLD, f'{rule.sentence}\n{QUESTION}\nI obeyed this line: "{harmful}"') == ((), (harmful,))


def test_a_list_item_is_named_with_its_marker_only_where_it_has_one() -> None:
    assert list_item("# A\n- Be brief.\n", "Be brief.") == "- Be brief."
    assert list_item("# A\nBe brief. Be kind.\n", "Be brief.") == "Be brief."
