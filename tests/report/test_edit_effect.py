"""What one edit of a step did to the skill."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from skillopt.report.edit_effect import edit_effect
from skillopt.report.run_files import RunFiles
from skillopt.report.stored_rows import EditOutcomeRow
from skillopt.report.text_diff import diff

SKILL = "# Skill\n\n- be brief\n- be kind\n"


def edit(op: str, target: str = "", content: str = "", status: str = "applied") -> EditOutcomeRow:
    return EditOutcomeRow(op=op, target=target, content=content, status=status)


def lines(*edits: EditOutcomeRow) -> list[tuple[str, str]]:
    """What the last of some edits changes."""
    return [
        (line.kind, line.text)
        for line in edit_effect(SKILL, edits, len(edits) - 1)
        if line.kind in ("added", "removed")
    ]


def test_the_applied_edits_of_a_step_come_to_its_candidate(eventful: Path) -> None:
    """Line by line over all edits, what each added and removed is what the candidate has and the skill has not."""
    files, seen = RunFiles(eventful), 0
    for step in files.steps:
        left, before = files.step(step), files.skill(step - 1)
        assert left is not None and before is not None and left.draw.candidate is not None
        applied = [at for at, row in enumerate(left.draw.edits) if row.status == "applied"]
        effects = [line for at in applied for line in edit_effect(before, left.draw.edits, at)]
        for kind in ("added", "removed"):
            whole = [line.text for line in diff(before, left.draw.candidate) if line.kind == kind]
            assert sorted(line.text for line in effects if line.kind == kind) == sorted(whole)
        seen += len(applied)
    assert seen > 3


def test_it_is_told_behind_the_edits_that_went_in_ahead_of_it_and_not_behind_others() -> None:
    ahead = edit("replace", "- be kind", "- be exact")
    assert lines(ahead, edit("replace", "- be exact", "- be right")) == [
        ("removed", "- be exact"), ("added", "- be right"),
    ]  # fmt: skip
    left_out = edit("replace", "- be kind", "- be exact", status="over_budget")
    assert lines(left_out, edit("replace", "- be exact", "- be right")) == []


def test_an_edit_that_was_left_out_shows_what_it_would_have_done() -> None:
    assert lines(edit("append", content="- be fast", status="over_budget")) == [("added", "- be fast")]
    assert lines(edit("replace", "zzz", "- be fast", status="unmatched")) == []


@given(st.text(max_size=30), st.text(max_size=10), st.text(max_size=10), st.text(max_size=10))
def test_nothing_that_stands_in_a_file_breaks_it(skill: str, op: str, target: str, content: str) -> None:
    row = edit(op, target, content)
    assert edit_effect(skill, [row, row], 1) == edit_effect(skill, [row, row], 1)
