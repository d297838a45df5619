"""More 18: a key in the user's own content is told by its place, and not shown."""

from __future__ import annotations

from skillopt.run.content_warnings import content_warnings
from skillopt.skill.document import Skill
from skillopt.types import Task

KEY = "sk-planted-4f9d0c7be1a2"


def test_the_lines_of_the_skill_and_the_places_of_the_tasks_are_named() -> None:
    skill = Skill.parse(f"# A\n- use {KEY}\n- b\r\n- Bearer 0123456789ab\n")
    tasks = [
        Task(f"t{number}", {"question": f"q {KEY if number else ''}"}, "", f"t.jsonl, line {number}")
        for number in range(6)
    ]
    of_skill, of_tasks = content_warnings(skill, tasks)
    assert of_skill.startswith("the seed skill holds what looks like a key or token (lines 2, 4)")
    assert of_tasks.startswith(
        "5 tasks hold what looks like a key or token (t.jsonl, line 1; t.jsonl, line 2; t.jsonl, "
    )
    assert KEY not in of_skill + of_tasks


def test_a_task_without_a_place_is_named_by_its_id() -> None:
    (told,) = content_warnings(Skill.parse(""), [Task("t1", {"nested": {"a": [KEY]}})])
    assert told.startswith("1 task holds what looks like a key or token ('t1')")


def test_ordinary_content_is_told_nothing_of() -> None:
    assert (
        content_warnings(Skill.parse("# Task list\n- the basic skill\n"), [Task("t", {"question": "key_of_x"})]) == ()
    )
