"""The simulated world and the truth about skills in it."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.simulation.records import MOST_ADVICE, Occurrence
from skillopt.simulation.world import World


def test_a_world_follows_from_its_seed_and_sizes() -> None:
    assert World(7).rows() == World(7).rows()
    assert World(7).rows() != World(8).rows()
    sizes = {"rules": 12, "tasks": 120, "rules_per_task": 1, "advice": 6, "misguided": 0}
    assert World(7).identity == {"seed": 7, **sizes}


@settings(max_examples=30)
@given(st.integers(0, 50), st.integers(1, 30), st.integers(1, 90))
def test_ids_and_questions_are_unique_and_every_rule_is_needed_in_turn(seed: int, rules: int, tasks: int) -> None:
    world = World(seed, rules=rules, tasks=tasks)
    assert len({row["id"] for row in world.rows()}) == len({row["question"] for row in world.rows()}) == tasks
    assert len({rule.code for rule in world.rules}) == len({rule.sentence for rule in world.rules}) == rules
    assert {task.rules[0] for task in world.tasks} == set(world.rules[:tasks])


def test_the_first_answer_can_be_computed_by_hand() -> None:
    row = World(7).rows()[0]
    rule = World(7).rules[0]
    number = int(row["question"].split()[3].rstrip("."))
    assert row["category"] == "gauge"
    assert row["answer"] == f"{rule.word}-{number + rule.amount}"
    assert rule.code in row["question"]
    assert rule.word not in row["question"]


def test_a_perfect_skill_solves_all_and_a_seed_skill_nothing() -> None:
    world = World(7)
    assert world.true_score(world.perfect_skill()) == 1
    assert world.true_score(world.seed_skill()) == 0
    assert world.true_score("") == 0


@settings(max_examples=30)
@given(st.data())
def test_the_true_score_counts_the_tasks_whose_rules_all_stand_in_the_skill(data: st.DataObject) -> None:
    world = World(data.draw(st.integers(0, 9)), rules=6, tasks=30, rules_per_task=3)
    held = data.draw(st.sets(st.sampled_from(world.rules)))
    needed = [all(rule in held for rule in task.rules) for task in world.tasks]
    assert world.true_score(world.skill([rule.sentence for rule in held])) == Fraction(sum(needed), 30)


def test_tasks_need_between_one_and_the_most_rules_and_say_all_subjects() -> None:
    world = World(5, rules_per_task=3)
    assert {len(task.rules) for task in world.tasks} == {1, 2, 3}
    for task in world.tasks:
        assert len(set(task.rules)) == len(task.rules)
        assert all(rule.code in task.question for rule in task.rules)
        assert task.answer.count(" and ") == len(task.rules) - 1


def test_an_altered_value_is_not_the_rule() -> None:
    world = World(7)
    rule = world.rules[0]
    assert world.knowledge(rule.sentence).codes == {rule.code}
    for old, new in ((str(rule.amount) + ".", f"{rule.amount}0."), (rule.word, "ELM"), (rule.code, "ZZ-00")):
        assert world.knowledge(rule.sentence.replace(old, new)).codes == set()


def test_a_harmful_sentence_fails_every_task_of_its_kind_and_no_other() -> None:
    world = World(7)
    gauges = Fraction(sum(row["category"] == "gauge" for row in world.rows()), 120)
    assert world.true_score(f"{world.perfect_skill()}* {world.harmful[0]}\n") == 1 - gauges
    assert 0 < gauges < 1


def test_a_subject_may_have_a_harmful_sentence_of_its_own() -> None:
    world = World(7, misguided=3)
    assert world.harmful[4:] == tuple(rule.harmful for rule in world.rules[:3])
    assert len(World(7).harmful) == 4
    assert world.true_score(f"{world.perfect_skill()}- {world.harmful[4]}\n") == 1 - Fraction(1, 12)
    assert world.knowledge(world.harmful[4]).harm(world.rules[0]) == world.harmful[4]


def test_there_is_as_much_useless_advice_as_is_asked_for_and_all_of_it_differs() -> None:
    world = World(7, advice=MOST_ADVICE)
    assert len(set(world.useless)) == MOST_ADVICE
    assert World(7).useless == world.useless[:6]
    assert not any(one in other for one in world.useless for other in world.useless if one != other)
    assert world.knowledge(" ".join(world.useless)) == world.knowledge("")


def test_noise_may_be_that_of_some_tasks_alone() -> None:
    world = World(7)
    waverers = [task for task in world.tasks if world.wavers(task.asked, 0.25)]
    assert 20 <= len(waverers) <= 40
    assert world.true_score(world.perfect_skill(), noise=0.5, wavering=0.25) == 1 - Fraction(len(waverers), 240)
    assert world.true_score("", noise=0.5, wavering=0.25) == Fraction(len(waverers), 240)
    assert world.wavers((Occurrence("ZZ-00", 1),), 1.0)
    assert not world.wavers((Occurrence("ZZ-00", 1),), 0.0)


def test_useless_sentences_change_nothing() -> None:
    world = World(7)
    half = world.skill([rule.sentence for rule in world.rules[:6]])
    assert (
        world.true_score(half + "".join(f"- {each}\n" for each in world.useless))
        == world.true_score(half)
        == Fraction(1, 2)
    )


def test_noise_pulls_the_true_score_towards_its_middle() -> None:
    world = World(7)
    assert world.true_score(world.perfect_skill(), noise=0.25) == Fraction(3, 4)
    assert world.true_score("", noise=0.25) == Fraction(1, 4)
    assert world.true_score("", noise=0.5) == world.true_score(world.perfect_skill(), noise=0.5) == Fraction(1, 2)


def test_rows_are_written_one_to_a_line(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    World(7, tasks=12).write(path)
    written = path.read_bytes()
    assert b"\r" not in written
    assert [json.loads(line) for line in written.splitlines()] == list(World(7, tasks=12).rows())


@pytest.mark.parametrize(
    ("sizes", "named"),
    [
        ({"rules": 0}, "rules is 0"),
        ({"rules": 201}, "rules is 201"),
        ({"tasks": 0}, "tasks is 0"),
        ({"rules": 2, "tasks": 2001}, "tasks is 2001"),
        ({"advice": 0}, "advice is 0"),
        ({"advice": MOST_ADVICE + 1}, f"advice is {MOST_ADVICE + 1}"),
        ({"misguided": -1}, "misguided is -1"),
        ({"misguided": 13}, "misguided is 13"),
        ({"rules_per_task": 0}, "rules_per_task is 0"),
        ({"rules": 2, "rules_per_task": 3}, "rules_per_task is 3"),
    ],
)
def test_a_size_out_of_its_range_is_refused_with_the_limit(sizes: dict[str, int], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        World(7, **sizes)
