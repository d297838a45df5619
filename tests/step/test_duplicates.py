from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.step.duplicates import merge_duplicates
from skillopt.types import Edit, EditOperation, SourceType

THRESHOLD = 90.0
TAIL = "whenever a customer asks about an order that was placed before, and do so without being asked twice."
"""Enough equal text that one differing word leaves two sentences more than 90 % alike."""


def append(content: str) -> Edit:
    return Edit(EditOperation.APPEND, content=content)


def merged(*contents: str) -> int:
    """How many edits are left of appends with these contents."""
    return len(merge_duplicates([append(content) for content in contents], threshold=THRESHOLD))


def test_no_edits_are_no_edits() -> None:
    assert merge_duplicates([], threshold=THRESHOLD) == ()


def test_a_merged_edit_stands_for_all_it_came_from() -> None:
    edits = [
        Edit(EditOperation.APPEND, "", "Write the date as YYYY-MM-DD.", 2, "success", ("t3", "t1"), 0),
        Edit(EditOperation.APPEND, "", "Answer in one line.", 1, "success", ("t9",)),
        Edit(EditOperation.APPEND, "", "- Write dates as YYYY-MM-DD", 3, "failure", ("t1", "t2"), 1),
    ]
    assert merge_duplicates(edits, threshold=THRESHOLD) == (
        Edit(EditOperation.APPEND, "", "Write the date as YYYY-MM-DD.", 5, "failure", ("t3", "t1", "t2"), 1),
        edits[1],
    )


@pytest.mark.parametrize("order", [("failure", "success"), ("success", "failure")])
def test_a_failure_behind_any_of_them_makes_it_a_failure_edit(order: tuple[SourceType, SourceType]) -> None:
    """F70: failures come first, whichever side proposed the edit first."""
    edits = [Edit(EditOperation.APPEND, content="Name the unit.", source_type=source) for source in order]
    (edit,) = merge_duplicates(edits, threshold=THRESHOLD)
    assert (edit.source_type, edit.support_count) == ("failure", 2)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Name the unit.", "Name the unit."),
        ("Name the unit.", "  Name the\n unit "),
        ("Name the unit.", "* Name the units"),
        ("Always name the unit of the result.", "**Always** name the unit of the result"),
        ("Round all the results to 2 digits.", "Round the results to 2 digits."),
        ("Please answer with nothing but the number.", "Answer with nothing but the number."),
        ("Don't explain the answer.", "Do not explain the answer."),
        ("Don\u2019t explain the answer.", "Do not explain the answer"),
        ("You cannot skip the day-first rule.", "You can not skip the day first rule."),
        ("Keep the cafe\u0301's own spelling.", "Keep the caf\u00e9's own spelling."),
        (f"Give the order code {TAIL}", f"Provide the order codes {TAIL}"),
        ('End with "Done".', 'End with "Done"'),
        ("Write `ORD-7`.\n\n```\nx = 1\n```\n", "- Write `ORD-7`\n```\nx = 1\n```"),
    ],
)
def test_two_ways_to_say_one_thing_are_merged(one: str, other: str) -> None:
    assert merged(one, other) == 1
    assert merged(other, one) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        # numbers
        ("Round to 2 digits", "Round to 3 digits"),
        ("Add 1.5 to", "Add 15 to"),
        ("Subtract 5 from", "Subtract -5 from"),
        ("Use 10% of", "Use 10 of"),
        ("Repeat two times", "Repeat three times"),
        # codes
        ("Write ORD-7 first", "Write ORD-9 first"),
        ("Write dates as YYYY-MM-DD", "Write dates as DD-MM-YYYY"),
        ("Write names as LAST, First", "Write names as LAST First"),
        ("Write names as LAST, First", "Write names as Last, First"),
        ("Set max_tokens here", "Set min_tokens here"),
        ("Call __init__ here", "Call init here"),
        ("Put US before EU", "Put EU before US"),
        ("Use section a-b here", "Use section b here"),
        ("Write `x` - `y` here", "Write `x` `y` here"),
        ("Write (555) ahead", "Write 555 ahead"),
        # names
        ("Route it to Berlin", "Route it to Bern"),
        ("Address it to Smith", "Address it to Smythe"),
        ("規則は東京", "規則は京都"),
        # negations
        ("Do explain it", "Do not explain it"),
        ("Do note it", "Do not it"),
        ("Always explain it", "Never explain it"),
        ("Explain it", "Don't explain it"),
        ("You can explain it", "You cannot explain it"),
        ("Add no unit", "Add a unit"),
        ("Reply with units", "Reply without units"),
        ("Include all units", "Include all except units"),
        ("Do it if they ask", "Do it unless they ask"),
        # opposites
        ("Sort it ascending", "Sort it descending"),
        ("Put it before the name", "Put it after the name"),
        ("Include the unit", "Exclude the unit"),
        ("Keep the first line", "Keep the last line"),
        ("Use upper case", "Use lower case"),
        ("Take the maximum", "Take the minimum"),
        ("Convert it to cents from euros", "Convert it from cents to euros"),
        ("Write the day before the month", "Write the month before the day"),
        # labels in plain words
        ("Write yes here", "Write ye here"),
        ("Write his here", "Write hiss here"),
        ("Route it to billing", "Route it to shipping"),
        # quotations and code
        ('Say "yes, sir" here', 'Say "yes sir" here'),
        ("Say 'it' here", "Say 'them' here"),
        ("Say \u201cthe end\u201d here", "Say \u201can end\u201d here"),
        ("Write `a  b` here", "Write `a b` here"),
        ("Write `the` here", "Write `a` here"),
        ("Copy this:\n```\n- the x\n```\n", "Copy this:\n```\n+ the x\n```\n"),
    ],
)
def test_a_difference_that_matters_keeps_two_edits_however_alike(one: str, other: str) -> None:
    assert merged(f"{one} {TAIL}", f"{other} {TAIL}") == 2
    assert merged(f"{other} {TAIL}", f"{one} {TAIL}") == 2
    assert merged(f"In short: {one}", f"In short: {other}") == 2


def test_words_that_are_not_alike_enough_stay_apart() -> None:
    one, other = "Give the unit.", "Always make sure that you please provide all of these units."
    assert merged(one, other) == 2
    assert len(merge_duplicates([append(one), append(other)], threshold=0)) == 1


def test_at_a_hundred_only_equal_words_are_merged() -> None:
    edits = [append("Name the unit."), append("- Name the unit"), append("Name a unit.")]
    assert [edit.support_count for edit in merge_duplicates(edits, threshold=100)] == [2, 1]


@pytest.mark.parametrize("operation", ["replace", "insert_after", "insert_before"])
def test_edits_at_different_places_stay_apart(operation: str) -> None:
    edits = [Edit(EditOperation(operation), f"- see section {n}", "Name the unit.") for n in (1, 2)]
    assert merge_duplicates(edits, threshold=THRESHOLD) == tuple(edits)


def test_different_operations_at_one_place_stay_apart() -> None:
    edits = [Edit(operation, "- old rule", "- new rule") for operation in EditOperation]
    assert merge_duplicates(edits, threshold=THRESHOLD) == tuple(edits)


def test_what_an_operation_does_not_use_does_not_tell_edits_apart() -> None:
    deletes = [Edit(EditOperation.DELETE, "- old rule", content) for content in ("", "because it is wrong")]
    appends = [Edit(EditOperation.APPEND, target, "- new rule") for target in ("", "the end")]
    assert len(merge_duplicates([*deletes, *appends], threshold=THRESHOLD)) == 2


WORDS = ["Write", "the", "date", "dates", "a", "not", "never", "2", "3", "ORD-7", "`x`", "Berlin", "as", "units,", "."]
CONTENTS = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join) | st.text(max_size=12)
EDITS = st.lists(
    st.builds(
        Edit,
        st.sampled_from(EditOperation),
        CONTENTS,
        CONTENTS,
        st.integers(1, 5),
        st.sampled_from(["failure", "success"]),
        st.lists(st.sampled_from(["t1", "t2", "t3"]), unique=True).map(tuple),
        st.integers(0, 2),
    ),
    max_size=12,
)


@given(EDITS, st.sampled_from([0.0, 60.0, 90.0, 100.0]))
def test_merging_keeps_all_support_and_merging_again_changes_nothing(edits: list[Edit], threshold: float) -> None:
    once = merge_duplicates(edits, threshold=threshold)
    assert sum(edit.support_count for edit in once) == sum(edit.support_count for edit in edits)
    assert {task for edit in once for task in edit.task_ids} == {task for edit in edits for task in edit.task_ids}
    assert merge_duplicates(once, threshold=threshold) == once
    assert merge_duplicates(edits, threshold=threshold) == once


@given(EDITS)
def test_what_is_kept_was_proposed_word_for_word_and_in_that_order(edits: list[Edit]) -> None:
    proposed = [(edit.operation, edit.target, edit.content) for edit in edits]
    kept = [(edit.operation, edit.target, edit.content) for edit in merge_duplicates(edits, threshold=THRESHOLD)]
    first_places = [proposed.index(text) for text in kept]
    assert first_places == sorted(first_places)
    assert max(Counter(kept).values(), default=1) == 1
