from __future__ import annotations

import pytest

from skillopt.environments.options import Option, options_in_text
from skillopt.environments.scorers.choice import Choice, chosen
from skillopt.errors import DataError
from skillopt.types import JsonValue, Score, Task, Trajectory

PETS = tuple(
    Option(label, text) for label, text in zip("ABCDE", ("a dog", "a cat", "red", "green tea", "none"), strict=True)
)
IN_TEXT = "What is it?\nOptions:\n(A) 12/11/1937\n(B) 12/25/1937\n(C) 01/04/1938"


def scored(predicted: str, answer: JsonValue, **fields: JsonValue) -> Score:
    task = Task("1", {"question": "Which?", "answer": answer, **fields})
    Choice().check(task)
    return Choice().score(predicted, task, Trajectory((), predicted))


@pytest.mark.parametrize(
    "answer",
    [
        "(B)", "B", "b", "B.", "B)", "[B]", "**B**", "**(B)**", "`B`", "Option B", "option b.", "\\boxed{B}",
        "$\\boxed{\\text{B}}$", "Answer: B", "answer: (b)", "**Answer**: B", "The answer is B.",
        "The answer is: **(B)**",
        "My answer is option B, since it fits", "The answer is B because it fits", "a cat", "A cat.", "Answer: A cat",
        "(B) a cat", "B. a cat", "B: a cat", "b) a cat", "B - a cat", "Answer: (B) a cat", "B because it fits",
        "The best one is **B**.", "I choose option B here", "(A) is wrong, so the answer is (B).", "B\nIt fits.",
        "First I thought the answer is A, but the answer is B",
    ],
)  # fmt: skip
def test_the_ways_to_choose_b(answer: str) -> None:
    assert chosen(answer, PETS) == "B"


@pytest.mark.parametrize(
    "answer",
    [
        "", "A dog barked at me", "A mouse", "I think so", "The answer is a mouse", "Answer: A mouse", "(Z)", "F",
        "(A) and (B)", "Both A and B", "It is (B), not (A)", "(A) is wrong, so (B)", "a catalogue", "U.S. law", "Bread",
    ],
)  # fmt: skip
def test_a_word_or_several_options_choose_nothing(answer: str) -> None:
    assert chosen(answer, PETS) is None


@pytest.mark.parametrize(
    ("answer", "label"), [("A", "A"), ("a", "A"), ("(a)", "A"), ("A.", "A"), ("Answer: A", "A"), ("A dog", "A")]
)
def test_a_alone_is_a_label(answer: str, label: str) -> None:
    assert chosen(answer, PETS) == label


@pytest.mark.parametrize(
    ("answer", "label"),
    [
        ("(C)", "C"),
        ("Z", "Z"),
        ("A dog", None),
        ("I think", None),
        ("C is right", "C"),
        ("option Q", "Q"),
        ("U.S. law", None),
        ("cat", None),
    ],
)
def test_without_known_options_any_letter_is_a_label(answer: str, label: str | None) -> None:
    assert chosen(answer, ()) == label


@pytest.mark.parametrize(
    ("answer", "label"), [("e", "E"), ("d.", "D"), ("E):", "E"), ("GREEN TEA", "D"), ("C whatever", "C"), ("x", None)]
)
def test_reference_forms(answer: str, label: str | None) -> None:
    """Exact label after stripping ".):", else the exact option text, else the first token."""
    assert chosen(answer, PETS) == label


@pytest.mark.parametrize(
    "answer", ["No", "no.", "**No**", "(No)", "Answer: No", "The answer is no.", "\\boxed{No}", "No, because"]
)
def test_options_without_labels_are_chosen_by_their_text(answer: str) -> None:
    options = options_in_text("Are we there?\nOptions:\n- Yes\n- No")
    assert chosen(answer, options) == "No"
    assert chosen("No one knows", options) is None


def test_two_options_of_one_text_are_told_apart_by_label_only() -> None:
    twins = (Option("A", "same"), Option("B", "same"))
    assert chosen("same", twins) is None
    assert chosen("B", twins) == "B"


@pytest.mark.parametrize("gold", ["(B)", "B", "b.", "12/25/1937", ["(B)"], "(B) 12/25/1937"])
def test_options_may_stand_in_the_question_only(gold: JsonValue) -> None:
    for predicted in ("(B)", "B", "12/25/1937", "The answer is (B) 12/25/1937."):
        assert scored(predicted, gold, question=IN_TEXT).hard == 1
    assert scored("(C)", gold, question=IN_TEXT).hard == 0


def test_feedback_shows_the_options_in_words() -> None:
    """F41"""
    assert scored("C", "(B)", question=IN_TEXT).feedback == (
        "Expected '(B) 12/25/1937'; the answer was 'C' (option (C) 01/04/1938)."
    )
    assert "chooses no single option" in scored("hm", "B").feedback
    assert scored("", "B").feedback == "Expected '(B)'; no answer was found."


@pytest.mark.parametrize("gold", ["E", "the first", 2, "12/12/1212"])
def test_a_gold_that_is_no_option_is_an_error_with_the_labels(gold: JsonValue) -> None:
    with pytest.raises(DataError, match="not the label or the text") as caught:
        scored("A", gold, question=IN_TEXT)
    assert "A, B, C" in caught.value.hint


def test_bad_options_are_an_error_of_the_task() -> None:
    with pytest.raises(DataError, match=r"t\.csv, line 9: task '1': .*no options"):
        Choice().check(Task("1", {"answer": "A", "options": []}, location="t.csv, line 9"))
