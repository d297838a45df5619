"""The simulated target."""

from __future__ import annotations

import pytest

from skillopt.models.base import ChatRequest
from skillopt.simulation.lapses import lapsed_codes, reminder
from skillopt.simulation.target import SimulatedTarget, complaints
from skillopt.simulation.world import World
from skillopt.types import Message, Place

WORLD = World(7)


def request(skill: str, question: str, *, repeat: int = 0, stage: str = "rollout") -> ChatRequest:
    system = (Message("system", skill),) if skill else ()
    return ChatRequest((*system, Message("user", question)), Place(stage, attempt=repeat))


async def last_line(target: SimulatedTarget, skill: str, question: str, *, repeat: int = 0) -> str:
    return (await target.reply(request(skill, question, repeat=repeat))).text.splitlines()[-1]


@pytest.mark.parametrize("world", [WORLD, World(8, rules=5, tasks=40, rules_per_task=3)], ids=["one rule", "three"])
async def test_it_solves_exactly_the_tasks_that_the_world_says_a_skill_solves(world: World) -> None:
    target = SimulatedTarget(world)
    for held in range(0, len(world.rules) + 1, 2):
        sentences = [rule.sentence for rule in world.rules[:held]]
        for skill in (world.skill(sentences), world.skill([*sentences, world.harmful[1]])):
            right = [task for task in world.tasks if await last_line(target, skill, task.question) == task.answer]
            assert tuple(right) == world.solved(skill)


async def test_it_says_what_it_lacks_and_what_it_obeyed() -> None:
    target, rule = SimulatedTarget(WORLD), WORLD.rules[0]
    question = WORLD.tasks[0].question
    lost = (await target.reply(request("", question))).text
    assert complaints(lost) == ({rule.code}, set())
    misled = (await target.reply(request(f"{rule.sentence} {WORLD.harmful[0]}", question))).text
    assert complaints(misled) == (set(), {WORLD.harmful[0]})
    assert complaints((await target.reply(request(rule.sentence, question))).text) == (set(), set())


async def test_it_obeys_a_harmful_sentence_for_one_subject_and_says_so() -> None:
    world = World(7, misguided=1)
    skill = world.skill([*(rule.sentence for rule in world.rules), world.harmful[4]])
    right = [
        task for task in world.tasks if await last_line(SimulatedTarget(world), skill, task.question) == task.answer
    ]
    assert tuple(right) == world.solved(skill)
    assert {task.rules[0] for task in world.tasks} - {task.rules[0] for task in right} == {world.rules[0]}
    misled = (await SimulatedTarget(world).reply(request(skill, world.tasks[0].question))).text
    assert complaints(misled) == (set(), {world.harmful[4]})


async def test_it_reads_rules_in_the_skill_and_not_in_the_question() -> None:
    task = WORLD.tasks[0]
    asked = f"{task.rules[0].sentence}\n{task.question}"
    assert await last_line(SimulatedTarget(WORLD), "", asked) != task.answer


async def test_it_answers_in_a_tag_where_the_prompt_speaks_of_one() -> None:
    task, skill = WORLD.tasks[0], WORLD.perfect_skill()
    asked = f"{task.question}\nGive the answer between <answer> and </answer>."
    assert await last_line(SimulatedTarget(WORLD), skill, asked) == f"<answer>{task.answer}</answer>"


@pytest.mark.parametrize("asked", ["Reply with OK.", "", "Gauge ZZ-00 shows 417."])
async def test_what_it_does_not_know_gets_a_reply_all_the_same(asked: str) -> None:
    reply = await SimulatedTarget(WORLD, noise=1.0).reply(request(WORLD.perfect_skill(), asked))
    assert reply.text
    assert reply.finish_reason == "stop"


async def test_equal_requests_get_equal_replies_wherever_they_are_asked() -> None:
    first, second = SimulatedTarget(WORLD, noise=0.5), SimulatedTarget(WORLD, noise=0.5)
    asked = [(WORLD.perfect_skill(), task.question) for task in WORLD.tasks]
    forward = [await first.reply(request(*each)) for each in asked]
    backward = [await second.reply(request(*each, stage="gate")) for each in reversed(asked)]
    assert forward == backward[::-1]


async def test_noise_turns_about_its_share_of_the_answers_both_ways() -> None:
    target = SimulatedTarget(WORLD, noise=0.2)
    for skill in ("", WORLD.perfect_skill()):
        right = [await last_line(target, skill, task.question) == task.answer for task in WORLD.tasks]
        assert abs(sum(right) / len(right) - WORLD.true_score(skill, noise=0.2)) < 0.1


async def test_where_noise_is_that_of_some_tasks_the_others_never_slip() -> None:
    target, skill = SimulatedTarget(WORLD, noise=0.5, wavering=0.25), WORLD.perfect_skill()
    slipped = {
        task for task in WORLD.tasks for repeat in range(6)
        if await last_line(target, skill, task.question, repeat=repeat) != task.answer
    }  # fmt: skip
    waverers = {task for task in WORLD.tasks if WORLD.wavers(task.asked, 0.25)}
    assert slipped <= waverers
    assert len(slipped) > 0.8 * len(waverers)


async def test_a_repeat_draws_its_own_noise() -> None:
    target, skill = SimulatedTarget(WORLD, noise=0.5), WORLD.perfect_skill()
    replies = {
        repeat: [await last_line(target, skill, t.question, repeat=repeat) for t in WORLD.tasks] for repeat in (0, 1)
    }
    assert replies[0] != replies[1]
    calm = SimulatedTarget(WORLD)
    question = WORLD.tasks[0].question
    assert await last_line(calm, skill, question, repeat=0) == await last_line(calm, skill, question, repeat=1)


async def test_a_slip_is_a_wrong_answer_of_the_right_form() -> None:
    task = WORLD.tasks[0]
    answer = await last_line(SimulatedTarget(WORLD, noise=1.0), WORLD.perfect_skill(), task.question)
    assert answer != task.answer
    assert answer.startswith(task.rules[0].word)


async def solved(target: SimulatedTarget, skill: str, *, repeat: int = 0) -> set[str]:
    return {
        task.id for task in WORLD.tasks if await last_line(target, skill, task.question, repeat=repeat) == task.answer
    }


async def test_a_target_that_lapses_does_not_follow_what_stands_in_its_skill_and_says_so() -> None:
    """No edit helps there, since the rule stands in the skill already; a reminder does."""
    target, skill = SimulatedTarget(WORLD, lapse=0.5), WORLD.perfect_skill()
    kept = await solved(target, skill)
    assert abs(len(kept) / len(WORLD.tasks) - 0.5) < 0.1
    for task in WORLD.tasks[:20]:
        said = (await target.reply(request(skill, task.question))).text
        assert lapsed_codes(said) == (() if task.id in kept else (task.rules[0].code,))
    reworded = await solved(target, f"{skill}- Be brief.\n")
    assert reworded == kept, "a lapse is drawn from the task, whatever the skill"
    assert await solved(target, skill, repeat=1) != kept

    reminded, other = WORLD.rules[0], WORLD.rules[1]
    better = await solved(target, f"{skill}- {reminder([reminded.code])}\n")
    gained = {task.rules[0].code for task in WORLD.tasks if task.id in better - kept}
    assert (kept <= better, gained) == (True, {reminded.code})
    both = await solved(target, f"{skill}- {reminder([reminded.code, other.code])}\n")
    assert {task.rules[0].code for task in WORLD.tasks if task.id in both - kept} == {reminded.code, other.code}


async def test_where_it_knows_no_rule_it_cannot_lapse() -> None:
    question = WORLD.tasks[0].question
    for lapse in (0.0, 1.0):
        said = (await SimulatedTarget(WORLD, lapse=lapse).reply(request("", question))).text
        assert complaints(said) == ({WORLD.tasks[0].rules[0].code}, set())
        assert lapsed_codes(said) == ()


def test_its_identity_changes_with_all_that_determines_a_reply() -> None:
    others = (
        *(SimulatedTarget(World(8)), SimulatedTarget(World(7, rules=3))),
        *(SimulatedTarget(WORLD, noise=0.1), SimulatedTarget(WORLD, lapse=0.1), SimulatedTarget(WORLD, wavering=0.5)),
    )
    assert all(other.identity != SimulatedTarget(WORLD).identity for other in others)
    assert SimulatedTarget(World(7)).identity == SimulatedTarget(WORLD).identity
