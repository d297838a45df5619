"""The simulated optimizer."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from pydantic import ValidationError

from skillopt.models.base import ChatReply, ChatRequest, ReplySchema
from skillopt.simulation.optimizer import SimulatedOptimizer, merged
from skillopt.simulation.reading import ShownEdit
from skillopt.simulation.records import HEADING, question
from skillopt.simulation.world import World
from skillopt.step.replies import EditsReply, MergeReply, RankingReply, read_edits
from skillopt.types import Message, Place

WORLD = World(7)
SCHEMAS: dict[str, ReplySchema] = {
    "reflect": EditsReply.reply_schema(),
    "aggregate": MergeReply.reply_schema(),
    "select": RankingReply.reply_schema(),
    "update": EditsReply.reply_schema(),
}


def request(stage: str, text: str) -> ChatRequest:
    return ChatRequest((Message("user", text),), Place(stage, 1, 1), SCHEMAS.get(stage))


def failures(skill: str, *, first: int = 0, count: int = 4, note: str = "") -> str:
    """A reflection's prompt: the skill, and trajectories with their verdicts."""
    sections = [
        f"Task: {task.question}\nAnswer: {task.numbers[0]}\nVerdict: failed. Expected {task.answer!r}."
        for task in WORLD.tasks[first : first + count]
    ]
    return "\n\n".join([skill, note, *sections])


def nth(number: int) -> str:
    """A prompt of its own for every number: the same failures, and one more task."""
    task = WORLD.tasks[0]
    more = question((task.rules[0],), (1000 + number,))
    return f"{failures(WORLD.seed_skill())}\n\nTask: {more}\nAnswer: 0"


def numbered(*edits: dict[str, str]) -> str:
    return "\n".join(json.dumps({"number": number, **edit}) for number, edit in enumerate(edits))


async def answer(optimizer: SimulatedOptimizer, stage: str, text: str) -> dict[str, Any]:
    reply = (await optimizer.reply(request(stage, text))).text
    return json.loads(reply[reply.index("{") :].removesuffix("```"))


def only(kind: str, **more: float) -> SimulatedOptimizer:
    rates = {"useful": 0.0, "useless": 0.0, "harmful": 0.0, "malformed": 0.0, kind: 1.0, **more}
    return SimulatedOptimizer(WORLD, **rates)  # pyright: ignore[reportArgumentType]


async def test_useful_edits_state_the_missing_rules_of_what_the_prompt_shows_and_no_other() -> None:
    known = WORLD.rules[1]
    reply = await answer(only("useful"), "reflect", failures(WORLD.skill([known.sentence])))
    stated = {rule.code for rule in WORLD.rules for edit in reply["edits"] if rule.sentence in edit["content"]}
    assert stated == {WORLD.rules[0].code, WORLD.rules[2].code, WORLD.rules[3].code}
    assert len(reply["edits"]) == 3


async def test_at_most_the_set_number_of_edits_is_proposed() -> None:
    optimizer = SimulatedOptimizer(WORLD, malformed=0.0, most_edits=2)
    reply = await answer(optimizer, "reflect", failures(WORLD.seed_skill(), count=12))
    assert len(reply["edits"]) == 2


async def test_nothing_useful_to_say_is_an_empty_proposal() -> None:
    assert (await answer(only("useful"), "reflect", failures(WORLD.perfect_skill())))["edits"] == []


async def test_rules_are_written_at_the_end_under_the_heading_and_over_useless_lines() -> None:
    prompts = [failures(WORLD.seed_skill(), first=first) for first in range(0, 120, 4)]
    edits = [edit for prompt in prompts for edit in (await answer(only("useful"), "reflect", prompt))["edits"]]
    assert {(edit["op"], edit.get("target")) for edit in edits} == {
        ("append", None),
        ("insert_after", HEADING),
        ("replace", f"- {WORLD.useless[0]}"),
    }


async def test_a_harmful_sentence_that_a_target_obeyed_is_deleted() -> None:
    skill = WORLD.skill([*(rule.sentence for rule in WORLD.rules), WORLD.harmful[0]])
    text = failures(skill, count=1, note=f'I obeyed this line: "{WORLD.harmful[0]}"')
    reply = await answer(only("useful"), "reflect", text)
    assert reply["edits"] == [{"op": "delete", "target": f"- {WORLD.harmful[0]}"}]


@pytest.mark.parametrize("kind", ["useless", "harmful"])
async def test_useless_and_harmful_edits_are_sentences_of_the_world(kind: str) -> None:
    reply = await answer(only(kind), "reflect", failures(WORLD.seed_skill()))
    contents = [edit["content"].removeprefix("- ") for edit in reply["edits"]]
    assert len(set(contents)) == 4
    assert set(contents) <= set(WORLD.useless if kind == "useless" else WORLD.harmful)


async def test_kinds_come_at_their_rates() -> None:
    optimizer = SimulatedOptimizer(WORLD, useful=0.5, useless=0.25, harmful=0.25, malformed=0.0)
    kinds: Counter[str] = Counter()
    for number in range(200):
        reply = await answer(optimizer, "reflect", nth(number))
        contents = [edit["content"].removeprefix("- ") for edit in reply["edits"]]
        kinds.update("bad" if c in WORLD.harmful else "idle" if c in WORLD.useless else "good" for c in contents)
    shares = {kind: count / kinds.total() for kind, count in kinds.items()}
    assert shares == pytest.approx({"good": 0.5, "idle": 0.25, "bad": 0.25}, abs=0.06)


async def test_a_merge_is_the_union_of_what_was_shown_with_the_sources_of_each() -> None:
    rule, bad = f"- {WORLD.rules[0].sentence}", WORLD.harmful[0]
    shown = numbered(
        {"op": "append", "content": rule},
        {"op": "delete", "target": f"- {bad}"},
        {"op": "insert_after", "target": HEADING, "content": rule.replace(" ", "  ")},
        {"op": "append", "content": "- an edit of another optimizer"},
    )
    reply = await answer(only("useful"), "aggregate", f"{WORLD.seed_skill()}\n{shown}")
    assert reply["edits"] == [
        {"op": "append", "content": rule, "sources": [0, 2]},
        {"op": "delete", "target": f"- {bad}", "sources": [1]},
        {"op": "append", "content": "- an edit of another optimizer", "sources": [3]},
    ]


def test_a_merge_of_nothing_says_why_it_keeps_nothing() -> None:
    assert merged(())["edits"] == []
    assert merged(())["drop_all_reason"]
    assert not merged((ShownEdit(0, "append", "", "x"),))["drop_all_reason"]


async def test_ranking_puts_rules_first_and_harm_last() -> None:
    shown = numbered(
        {"op": "append", "content": f"- {WORLD.harmful[1]}"},
        {"op": "append", "content": f"- {WORLD.useless[1]}"},
        {"op": "append", "content": f"- {WORLD.rules[4].sentence}"},
        {"op": "delete", "target": f"- {WORLD.harmful[0]}"},
    )
    assert (await answer(only("useful"), "select", shown))["selected_indices"] == [2, 3, 1, 0]


async def test_a_repair_gives_one_edit_for_each_with_a_target_that_exists() -> None:
    rule = f"- {WORLD.rules[0].sentence}"
    shown = numbered(
        {"op": "insert_after", "target": "- This line stands in no skill.", "content": rule},
        {"op": "delete", "target": "- twice"},
    )
    with_heading = await answer(only("useful"), "update", f"{WORLD.seed_skill()}\n{shown}")
    assert with_heading["edits"] == [
        {"op": "insert_after", "target": HEADING, "content": rule},
        {"op": "delete", "target": "- twice"},
    ]
    without = await answer(only("useful"), "update", shown)
    assert without["edits"][0] == {"op": "append", "content": rule}


async def test_guidance_states_what_is_missing_and_memory_what_helped() -> None:
    text = failures(WORLD.seed_skill(), count=1)
    guidance = (await answer(only("useful"), "slow_update", text))["slow_update_content"]
    assert guidance == f"- {WORLD.rules[0].sentence}"
    assert (await answer(only("useful"), "meta_skill", text))["meta_skill_content"]


async def test_guidance_keeps_what_it_said_before_but_what_a_target_obeyed_to_its_harm() -> None:
    rule, other = WORLD.rules[:2]
    earlier = f"- {rule.sentence}\n- {WORLD.harmful[1]}"
    skill = f"{WORLD.seed_skill()}<!-- SLOW_UPDATE_START -->\n{earlier}\n<!-- SLOW_UPDATE_END -->\n"
    text = failures(skill, count=2, note=f'I obeyed this line: "{WORLD.harmful[1]}"')
    guidance = (await answer(only("useful"), "slow_update", text))["slow_update_content"]
    assert guidance == f"- {rule.sentence}\n- {other.sentence}"


@pytest.mark.parametrize("kind", ["useless", "harmful"])
async def test_guidance_that_strays_is_as_good_as_the_optimizer_is(kind: str) -> None:
    reply = await answer(only(kind, strays=1.0), "slow_update", failures(WORLD.seed_skill()))
    told = [line.removeprefix("- ") for line in reply["slow_update_content"].splitlines()]
    assert len(told) == 4
    assert set(told) <= set(WORLD.useless if kind == "useless" else WORLD.harmful)


LOST = (
    f'- append "- {WORLD.rules[0].sentence}" (tried in step 1): not strictly higher\n'
    f"I know no house rule for {WORLD.rules[0].code}."
)


@pytest.mark.parametrize(("heeds", "proposed"), [(0.0, 4), (1.0, 3)])
async def test_one_that_heeds_proposes_no_edit_that_is_shown_as_lost(heeds: float, proposed: int) -> None:
    """F89, F90: it was told."""
    reply = await answer(only("useful", heeds=heeds), "reflect", failures(WORLD.seed_skill(), note=LOST))
    stated = [edit for edit in reply["edits"] if WORLD.rules[0].sentence in edit["content"]]
    assert (len(reply["edits"]), len(stated)) == (proposed, proposed - 3)


async def test_one_that_heeds_in_part_proposes_a_lost_edit_now_and_then() -> None:
    optimizer, again = only("useful", heeds=0.5), 0
    for number in range(60):
        reply = await answer(optimizer, "reflect", f"{nth(number)}\n{LOST}")
        again += any(WORLD.rules[0].sentence in edit["content"] for edit in reply["edits"])
    assert 15 < again < 45


async def test_one_that_heeds_goes_by_what_its_memory_says_of_the_kinds() -> None:
    memory = "Rules for one subject: 8 accepted, 0 rejected.\nGeneral advice: 0 accepted, 8 rejected.\n"

    async def rules(heeds: float) -> int:
        optimizer = SimulatedOptimizer(WORLD, useful=0.5, useless=0.5, harmful=0.0, malformed=0.0, heeds=heeds)
        replies = [await answer(optimizer, "reflect", f"{nth(number)}\n{memory}") for number in range(40)]
        contents = [edit["content"].removeprefix("- ") for reply in replies for edit in reply["edits"]]
        return sum(content not in WORLD.useless for content in contents)

    assert await rules(1.0) > 1.5 * await rules(0.0)


async def test_one_that_does_not_discern_ranks_as_it_happens() -> None:
    shown = numbered(
        {"op": "append", "content": f"- {WORLD.harmful[1]}"},
        {"op": "append", "content": f"- {WORLD.rules[4].sentence}"},
    )
    first = {
        (await answer(only("useful", discerns=0.0), "select", f"{nth(number)}\n{shown}"))["selected_indices"][0]
        for number in range(20)
    }
    assert first == {0, 1}


@pytest.mark.parametrize("stage", ["check", ""])
async def test_a_question_of_no_stage_is_answered_even_by_a_damaged_optimizer(stage: str) -> None:
    reply = await only("useful", malformed=1.0).reply(ChatRequest((Message("user", "Reply with OK."),), Place(stage)))
    assert "OK" in reply.text
    assert "simulated" in reply.text


async def test_without_a_schema_the_reply_comes_in_a_fence() -> None:
    text = failures(WORLD.seed_skill()) + "edits"
    reply = await only("useful").reply(ChatRequest((Message("user", text),), Place("reflect")))
    assert reply.text.endswith("```")
    assert json.loads(reply.text.split("```json")[1].removesuffix("```"))["edits"]


def damage(stage: str, reply: ChatReply) -> str:
    """Name what is wrong with a reply, as a reader meets it."""
    if reply.cut:
        return "cut"
    try:
        value = json.loads(reply.text)
    except ValueError:
        return "broken" if reply.text.startswith("{") else "prose"
    try:
        form = RankingReply if stage == "select" else EditsReply
        entries = getattr(form.model_validate(value), "edits", [])
    except ValidationError:
        return "types"
    read, _ = read_edits(entries, source_type="failure", task_ids=())
    return "target" if all(edit.target.startswith("- This line stands") for edit in read) else "none"


@pytest.mark.parametrize("stage", ["reflect", "aggregate", "select"])
async def test_damaged_replies_come_in_every_kind_and_each_is_damaged(stage: str) -> None:
    shown = numbered({"op": "append", "content": "- a"}, {"op": "append", "content": "- b"})
    prompts = [f"{nth(number)}\n{shown}" for number in range(60)]
    replies = [await only("useful", malformed=1.0).reply(request(stage, prompt)) for prompt in prompts]
    targets = set() if stage == "select" else {"target"}
    assert {damage(stage, reply) for reply in replies} == {"cut", "broken", "prose", "types"} | targets


async def test_replies_are_damaged_at_the_set_rate() -> None:
    optimizer = SimulatedOptimizer(WORLD, malformed=0.25)
    whole = SimulatedOptimizer(WORLD, malformed=0.0)
    prompts = [nth(number) for number in range(200)]
    asked = [request("reflect", prompt) for prompt in prompts]
    damaged = sum([await optimizer.reply(each) != await whole.reply(each) for each in asked])
    assert abs(damaged / 200 - 0.25) < 0.08


async def test_a_reply_depends_on_the_request_and_on_neither_order_nor_place() -> None:
    prompts = [failures(WORLD.seed_skill(), first=first) for first in range(0, 120, 4)]
    forward = [await SimulatedOptimizer(WORLD).reply(request("reflect", prompt)) for prompt in prompts]
    one = SimulatedOptimizer(WORLD)
    elsewhere = [ChatRequest((Message("user", p),), Place("", 4, 9, 3), SCHEMAS["reflect"]) for p in prompts]
    backward = [await one.reply(each) for each in reversed(elsewhere)]
    assert forward == backward[::-1]
    assert len({reply.text for reply in forward}) > 20


@pytest.mark.parametrize(
    ("rates", "says"),
    [
        ({"useful": -0.1}, "useful is -0.1"),
        ({"malformed": 1.5}, "malformed is 1.5"),
        ({"most_edits": 0}, "most_edits is 0"),
        ({"heeds": 1.1}, "heeds is 1.1"),
        ({"strays": 2.0}, "strays is 2.0"),
        ({"discerns": -1.0}, "discerns is -1.0"),
    ],
)
def test_rates_out_of_their_range_are_refused(rates: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        SimulatedOptimizer(WORLD, **rates)


def test_its_identity_changes_with_all_that_determines_a_reply() -> None:
    others = (SimulatedOptimizer(World(8)), only("useful"), SimulatedOptimizer(WORLD, most_edits=2))
    assert all(other.identity != SimulatedOptimizer(WORLD).identity for other in others)
    assert SimulatedOptimizer(WORLD).identity["simulated"] is True


async def test_another_wording_of_the_instructions_changes_no_reply() -> None:
    world = World(3, rules=4, tasks=16)
    shown = "\n".join(f"Task: {task.question}\nWrong answer: 1" for task in world.tasks[:4])
    place = Place("reflect", 1, 1)

    async def said(instructions: str, *, tasks: str = shown) -> str:
        request = ChatRequest((Message("system", instructions), Message("user", tasks)), place)
        return (await SimulatedOptimizer(world).reply(request)).text

    assert await said("Improve the skill.") == await said("Please make this document better, step by step.")
    assert await said("Improve the skill.") != await said("Improve the skill.", tasks=shown.split("\n", 2)[2])
