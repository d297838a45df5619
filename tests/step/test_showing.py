"""What the optimizer is shown."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.values import append, replace_edit, rollout, state

from skillopt.rejections import Rejection, Rejections
from skillopt.skill.size import estimate_tokens
from skillopt.step.showing import show_edits, show_rejections, show_skill, show_trajectories, trim_middle
from skillopt.types import Message, Score, Trajectory


def test_a_trajectory_names_its_task_its_turns_and_its_verdict() -> None:
    """F74, F41: expected and got, as the scorer says it."""
    one = rollout(3, 0, 0.25, said="a4", feedback="Expected 'a3', got 'a4'.")
    assert show_trajectories([one], most_tokens=500) == (
        "### 1. t3\nTask: q3\nWrong answer: a4\nVerdict: failed (partial credit 0.25). Expected 'a3', got 'a4'."
    )


def test_the_expected_answer_is_the_last_word_on_a_failed_task() -> None:
    one = replace(rollout(3, said="a4"), score=Score(0, 0.25, "Expected 'a3'; the answer was 'a4'.", "a4", "a3"))
    assert show_trajectories([one], most_tokens=500) == (
        "### 1. t3\nTask: q3\nWrong answer: a4\nPartial credit: 0.25\nExpected answer: a3"
    )


def test_feedback_that_says_more_than_the_two_answers_stands_ahead_of_the_expected_one() -> None:
    scored = Score(0, 0.5, "1 of 2 fields is right: 'b' was 2.", "a4", "a3", note="1 of 2 fields is right: 'b' was 2.")
    one = replace(rollout(3, said="a4"), score=scored)
    assert show_trajectories([one], most_tokens=500).endswith(
        "Partial credit: 0.50\nFeedback: 1 of 2 fields is right: 'b' was 2.\nExpected answer: a3"
    )


def test_an_answer_that_was_read_from_a_longer_one_is_shown_as_it_was_read() -> None:
    one = replace(rollout(3, said="I think it is a4"), score=Score(0, 0.0, "", "a4", "a3"))
    assert show_trajectories([one], most_tokens=500).endswith(
        "Wrong answer: I think it is a4\nRead as: a4\nExpected answer: a3"
    )


def test_trajectories_are_numbered_in_their_order() -> None:
    text = show_trajectories([rollout(7, 1), rollout(2)], most_tokens=500)
    assert text.index("### 1. t7") < text.index("Verdict: solved") < text.index("### 2. t2")


def test_tool_turns_are_shown_and_a_cut_answer_is_named_as_cut() -> None:
    turns = (Message("user", "q"), Message("tool", "42"), Message("assistant", "forty-"))
    one = replace(rollout(0), trajectory=Trajectory(turns, "forty-", finish_reason="length"))
    text = show_trajectories([one], most_tokens=500)
    assert "Task: q\nTool: 42\nWrong answer: forty-\n(the answer was cut at the target's token limit)\n" in text


def test_an_answer_that_the_provider_withheld_is_named_as_such() -> None:
    turns = (Message("user", "q"), Message("assistant", ""))
    one = replace(rollout(0), trajectory=Trajectory(turns, "", finish_reason="content_filter"))
    assert "(the provider's content filter withheld the answer)" in show_trajectories([one], most_tokens=500)


def test_a_trajectory_is_trimmed_and_its_verdict_and_end_are_kept() -> None:
    """More 19."""
    one = rollout(0, said="x " * 4000 + "THE END")
    text = show_trajectories([one], most_tokens=100)
    assert "THE END\nVerdict: failed" in text
    assert "Task: q0" in text
    assert estimate_tokens(text) < 160


def test_feedback_of_any_length_fits_the_prompt() -> None:
    one = replace(rollout(0), score=Score(0, 0.0, "Cell A1: " + "got 1, expected 2; " * 4000 + "last cell"))
    text = show_trajectories([one], most_tokens=100)
    assert "Cell A1" in text
    assert text.endswith("last cell")
    assert estimate_tokens(text) < 260


def test_edits_are_one_json_object_a_line_numbered_from_0() -> None:
    rows = [json.loads(line) for line in show_edits([append("a\nb", support=2), replace_edit("é", "c")]).splitlines()]
    assert rows[0] == {
        "number": 0,
        "op": "append",
        "target": "",
        "content": "a\nb",
        "support_count": 2,
        "source_type": "failure",
    }
    assert (rows[1]["number"], rows[1]["op"], rows[1]["target"]) == (1, "replace", "é")


def test_an_empty_skill_and_no_rejections_are_said_in_words() -> None:
    assert show_skill(state(text="")) == "(the skill is still empty)"
    assert show_rejections(state()) == "(none)"


def test_the_latest_rejected_edits_are_shown_with_the_gates_reasons() -> None:
    """F90, More 19."""
    lost = tuple(Rejection(step, (append(f"edit {step}"),), f"reason {step}") for step in range(1, 8))
    text = show_rejections(replace(state(), rejections=Rejections(lost)))
    assert "edit 7" in text
    assert "reason 3" in text
    assert 'edit 1"' not in text
    assert text.endswith("- and 1 more")


@settings(max_examples=60)
@given(st.text("ab \n", max_size=400) | st.text(max_size=200), st.integers(1, 80))
def test_trimming_keeps_the_beginning_and_the_end_and_says_how_much_is_left_out(text: str, most: int) -> None:
    trimmed = trim_middle(text, most_tokens=most)
    if estimate_tokens(text) <= most:
        assert trimmed == text
        return
    head, _, rest = trimmed.partition("\n[... ")
    left_out, _, tail = rest.partition(" characters left out ...]\n")
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) + int(left_out) + len(tail) == len(text)
    assert len(head) <= len(tail)
