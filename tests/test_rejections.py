from __future__ import annotations

from fractions import Fraction

import pytest

from skillopt.rejections import Rejection, Rejections
from skillopt.types import Change, Edit, EditOperation, Note, Rewrite


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
    assert memory.digest_text(most=9) == '- append "BE BRIEF.\\n" (tried 3 times, last in step 3): lost at 3'


def test_edits_that_differ_in_operation_or_target_are_told_apart() -> None:
    edits = (
        append("x"),
        Edit(EditOperation.INSERT_AFTER, "A", "x"),
        Edit(EditOperation.INSERT_AFTER, "B", "x"),
        Edit(EditOperation.INSERT_BEFORE, "B", "x"),
    )
    text = Rejections((Rejection(1, edits, "lost"),)).digest_text(most=9)
    assert len(text.splitlines()) == 4


def test_memory_ends_with_the_run_with_the_epoch_or_never_begins() -> None:
    lost = Rejection(1, (append("rule"),), "lost", skill="digest")
    for reach, before, after in (("run", True, True), ("epoch", True, False), ("off", False, False)):
        memory = Rejections(reach=reach).add(lost)
        assert (memory.repeated(lost.changes, skill="digest") is not None) == before
        assert bool(memory.next_epoch().digest_text(most=1)) == after
        assert memory.next_epoch().reach == reach


def test_what_lost_to_a_score_that_changed_may_be_tried_again_and_is_still_shown() -> None:
    memory = Rejections().add(Rejection(1, (append("a"),), "lost", "one")).add(Rejection(2, (append("a"),), "x", "two"))
    reopened = memory.reopen("one")
    assert reopened.repeated([append("a")], skill="one") is None
    assert reopened.repeated([append("a")], skill="two") == memory.entries[1]
    assert reopened.digest_text(most=5) == memory.digest_text(most=5)


def test_the_bundle_that_was_lost_last_is_shown_whole_ahead_of_all_others() -> None:
    """F90: a default step has eight edits; what lost together must be seen together."""
    old = [Rejection(step, (append(f"old {step}"),), "lost", broken=("a", "b", "c")) for step in range(1, 9)]
    last = Rejection(9, tuple(append(f"rule {number}") for number in range(8)), "lost")
    memory = Rejections((*old, last))
    assert memory.last_bundle == 8
    lines = memory.digest_text(most=10).splitlines()
    assert all(line.startswith('- append "rule ') for line in lines[:8])
    assert all(line.startswith('- append "old ') for line in lines[8:10])
    assert Rejections().last_bundle == 0


def test_the_digest_is_bounded_and_says_what_it_leaves_out() -> None:
    memory = Rejections(tuple(Rejection(step, (append(f"rule {step}"),), "lost") for step in range(1, 101)))
    lines = memory.digest_text(most=3).splitlines()
    assert [line[: line.index(" (")] for line in lines[:3]] == [f'- append "rule {step}"' for step in (100, 99, 98)]
    assert lines[3:] == ["- and 97 more"]
    assert memory.digest_text(most=0) == ""


def test_a_huge_edit_is_cut_and_says_how_much_is_missing() -> None:
    text = Rejections((Rejection(1, (append("x" * 5000),), "lost"),)).digest_text(most=3)
    assert len(text) < 700
    assert "and 4400 more characters" in text


def test_the_newest_the_most_frequent_and_the_most_harmful_take_turns() -> None:
    """Of a hundred rejections two must not fall out of sight: what keeps coming back, and what broke most."""
    memory = Rejections((
        Rejection(1, (append("often"),), "lost"),
        Rejection(2, (append("harmful"),), "lost", broken=("t1", "t2")),
        Rejection(3, (append("wide"),), "lost", lost_by=Fraction(1, 2)),
        *(Rejection(step, (append("often"),), "lost") for step in (4, 5)),
        *(Rejection(step, (append(f"rule {step}"),), "lost") for step in range(6, 100)),
    ))  # fmt: skip
    lines = memory.digest_text(most=5).splitlines()
    assert [line.partition(" (")[0] for line in lines] == [
        '- append "rule 99"',
        '- append "often"',
        '- append "harmful"',
        '- append "rule 98"',
        '- append "wide"',
        "- and 92 more",
    ]
    assert lines[2].endswith("(tried in step 2): lost; 2 tasks got worse")


def test_every_edit_has_a_turn() -> None:
    memory = Rejections(tuple(Rejection(step, (append(f"rule {step}"),), "lost") for step in range(1, 8)))
    assert len(memory.digest_text(most=9).splitlines()) == 7


def test_no_selection_task_is_named() -> None:
    """Ids of selection tasks are for the record; the optimizer is told how many got worse."""
    memory = Rejections((Rejection(1, (append("x"),), "lost", broken=("SECRET-1",)),))
    assert memory.digest_text(most=5) == '- append "x" (tried in step 1): lost; 1 task got worse'


def test_a_rewrite_is_remembered_by_what_it_says_that_it_changed_and_bounded() -> None:
    rewrite = Rewrite("# A" * 9999, tuple(f"change {number}" for number in range(200)))
    memory = Rejections((Rejection(2, (rewrite,), "3/10 is not above 4/10", broken=("t1",)),))
    line = memory.digest_text(most=5)
    assert line.startswith('- rewrite of the whole skill: "change 0; change 1; ')
    assert line.endswith("(tried in step 2): 3/10 is not above 4/10; 1 task got worse")
    assert len(line) < 800
    again = memory.add(Rejection(3, (Rewrite("#  a" * 9999, ("other words",)),), "lost again"))
    told = '- rewrite of the whole skill: "other words" (tried 2 times, last in step 3): lost again'
    assert again.digest_text(most=5) == told


BUNDLE = (append("- Use tables."), Edit(EditOperation.DELETE, "old line"))
MEMORY = Rejections(
    (
        Rejection(3, BUNDLE, "lost", skill="A"),
        Rejection(4, (append("x"),), "lost", skill="B"),
        Rejection(5, (Rewrite("# A\n\n- b\n", ("a summary",)),), "lost", skill="C"),
    )
)


@pytest.mark.parametrize(
    ("edits", "skill", "repeated"),
    [
        (BUNDLE, "A", True),
        ((BUNDLE[1], append("-  use TABLES.\n")), "A", True),
        (BUNDLE, "B", False),
        (BUNDLE[:1], "A", False),
        ((*BUNDLE, append("more")), "A", False),
        ((append("x"),), "A", False),
        ((append("x"),), "B", True),
        ((), "A", False),
        ((Rewrite("# A\n\n- b\n", ("another summary",)),), "C", True),
        ((Rewrite("#  a\n-  B"),), "C", True),
        ((Rewrite("# A\n\n- c\n"),), "C", False),
        ((Rewrite("# A\n\n- b\n"),), "A", False),
        ((append("# A\n\n- b\n"),), "C", False),
    ],
)
def test_a_bundle_is_known_to_lose_only_as_a_whole_and_on_the_same_skill(
    edits: tuple[Change, ...], skill: str, repeated: bool
) -> None:
    """A right edit that was lost in a bad bundle may come back in another; and what lost once may win later."""
    assert (MEMORY.repeated(edits, skill=skill) is not None) is repeated


def test_reminders_are_remembered_with_the_edits_they_were_tried_with() -> None:
    lost = Rejection(3, (append("rule"), Note("Mind it.")), "a tie", skill="digest")
    alone = Rejection(4, (Note("Mind  IT."), Note("Mind that.")), "a tie", skill="digest")
    memory = Rejections().add(lost).add(alone)
    assert memory.digest_text(most=9).splitlines() == [
        '- remind "Mind  IT." (tried 2 times, last in step 4 together with 1 other change): a tie',
        '- remind "Mind that." (tried in step 4 together with 1 other change): a tie',
        '- append "rule" (tried in step 3 together with 1 other change): a tie',
    ]
    assert memory.repeated([Note("mind it."), append("rule")], skill="digest") == lost
    assert memory.repeated([Note("Mind that."), Note("Mind it.")], skill="digest") == alone
    assert memory.repeated(lost.changes[:1], skill="digest") is None
    assert memory.repeated([Note("Mind it.")], skill="digest") is None
