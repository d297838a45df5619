from __future__ import annotations

from skillopt.rejections import Rejection, Rejections
from skillopt.types import Edit, EditOperation


def append(content: str) -> Edit:
    return Edit(EditOperation.APPEND, content=content)


def test_no_rejections_say_nothing() -> None:
    assert Rejections().digest_text(most=5) == ""


def test_each_edit_is_shown_exactly_with_the_reason_it_lost_newest_first() -> None:
    """F90: the exact edit and the gate's reason."""
    memory = (
        Rejections()
        .add(Rejection(1, (append("- Use\n  tables."),), "3/10 is not above 4/10"))
        .add(Rejection(2, (Edit(EditOperation.REPLACE, 'say "no"', "Größe"),), "2/10 is not above 4/10"))
        .add(Rejection(4, (Edit(EditOperation.DELETE, "x"), Edit(EditOperation.INSERT_AFTER, "# A", "y")), "a tie"))
    )
    assert memory.digest_text(most=9).splitlines() == [
        '- delete "x" (tried in step 4 together with 1 other edit): a tie',
        '- insert_after "# A": "y" (tried in step 4 together with 1 other edit): a tie',
        '- replace "say \\"no\\"" with "Größe" (tried in step 2): 2/10 is not above 4/10',
        '- append "- Use\\n  tables." (tried in step 1): 3/10 is not above 4/10',
    ]


def test_one_edit_proposed_again_and_again_is_one_line_with_a_count() -> None:
    """F90: an optimizer that repeats one edit, in other spacing and letter case."""
    memory = Rejections()
    for step, content in enumerate(["Be brief.", "be  brief.", "BE BRIEF.\n"], start=1):
        memory = memory.add(Rejection(step, (append(content),), f"lost at {step}"))
    assert memory.digest_text(most=9) == '- append "BE BRIEF.\\n" (tried in 3 steps, last in step 3): lost at 3'


def test_edits_that_differ_in_operation_or_target_are_told_apart() -> None:
    edits = (
        append("x"),
        Edit(EditOperation.INSERT_AFTER, "A", "x"),
        Edit(EditOperation.INSERT_AFTER, "B", "x"),
        Edit(EditOperation.INSERT_BEFORE, "B", "x"),
    )
    text = Rejections((Rejection(1, edits, "lost"),)).digest_text(most=9)
    assert len(text.splitlines()) == 4


def test_the_digest_is_bounded_and_says_what_it_leaves_out() -> None:
    memory = Rejections(tuple(Rejection(step, (append(f"rule {step}"),), "lost") for step in range(1, 101)))
    lines = memory.digest_text(most=3).splitlines()
    assert [line[: line.index(" (")] for line in lines[:3]] == [f'- append "rule {step}"' for step in (100, 99, 98)]
    assert lines[3:] == ["- and 97 older"]
    assert memory.digest_text(most=0) == ""


def test_a_huge_edit_is_cut_and_says_how_much_is_missing() -> None:
    text = Rejections((Rejection(1, (append("x" * 5000),), "lost"),)).digest_text(most=3)
    assert len(text) < 700
    assert "and 4400 more characters" in text
