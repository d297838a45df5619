"""Every prompt as a Markdown file with slots."""

from __future__ import annotations

from dataclasses import replace
from importlib import resources

import pytest
from tests.support.values import rollout

from skillopt.prompts import render, slots
from skillopt.step.showing import show_trajectories
from skillopt.types import Score, Task

FILES = resources.files("skillopt.prompts").iterdir()
NAMES = sorted(path.name.removesuffix(".md") for path in FILES if path.name.endswith(".md"))


@pytest.mark.parametrize("name", NAMES)
def test_every_slot_is_filled_once_and_in_its_place(name: str) -> None:
    """F54: what is improved stands under its own slot."""
    system, user = render(name, **{slot: f"<<{slot}>>" for slot in slots(name)})
    assert (system.role, user.role) == ("system", "user")
    text = f"{system.content}\n{user.content}"
    assert "{{" not in text
    assert all(text.count(f"<<{slot}>>") == 1 for slot in slots(name))


@pytest.mark.parametrize("name", NAMES)
def test_the_user_part_holds_the_skill_in_its_own_tag(name: str) -> None:
    """F54."""
    _, user = render(name, **{slot: f"<<{slot}>>" for slot in slots(name)})
    assert "<skill>\n<<skill>>\n</skill>" in user.content


@pytest.mark.parametrize("name", NAMES)
def test_the_system_part_asks_for_one_json_object(name: str) -> None:
    system, _ = render(name, **dict.fromkeys(slots(name), ""))
    assert "Reply with one JSON object" in system.content


def test_what_a_slot_receives_is_never_searched_for_slots() -> None:
    values = dict.fromkeys(slots("select"), "x") | {"skill": "{{edits}} {{budget}} \\1"}
    _, user = render("select", **values)
    assert "{{edits}} {{budget}} \\1" in user.content


@pytest.mark.parametrize("change", [{"skil": "x"}, {"memories": "XYZ"}])
def test_what_was_meant_for_the_model_is_never_lost(change: dict[str, str]) -> None:
    """F75: a value without a slot is an error, and so is a slot without a value."""
    with pytest.raises(ValueError, match=r"(slots without a value|values without a slot): \['"):
        render("select", **(dict.fromkeys(slots("select"), "x") | change))
    with pytest.raises(ValueError, match=r"slots without a value: \['budget'"):
        render("select", skill="x")


def test_a_prompt_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        render("reflekt")


def test_the_worked_example_has_the_layout_of_the_trajectories_that_are_shown() -> None:
    """A small model takes over the form of the example, so the two must not drift apart."""
    one = replace(
        rollout(1, said="5"), task=Task("example-1", {"question": "q"}), score=Score(0, 0.0, "", "5", "EUR 5.00")
    )
    shown = show_trajectories([one], most_tokens=500).replace("Task: q1", "Task: Amount: five euros")
    assert shown in render("reflect_failure", **dict.fromkeys(slots("reflect_failure"), ""))[0].content
