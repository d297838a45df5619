"""What becomes of new text that copies training tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from tests.support.bench import OpenBench
from tests.support.values import append, measured, patch, state

from skillopt.skill.document import Skill
from skillopt.step.copies import copies_of_tasks, memory_in, refuse_copies, refused_for, said
from skillopt.types import Copy, Discarded, EditState, Patch

QUESTION = "how many boxes of number {} are in the large store of Oslo"
COPIED = append("Ask how many boxes of number 2 are in the large store.")
RULE = append("Count the boxes.")


def row(_split: str, number: int) -> Mapping[str, Any]:
    return {"id": f"t{number}", "question": QUESTION.format(number), "answer": f"a{number}"}


@pytest.mark.parametrize(("memorising", "found"), [("allow", 0), ("flag", 1), ("refuse", 1)])
def test_nobody_looks_where_copies_are_allowed(open_bench: OpenBench, memorising: str, found: int) -> None:
    bench = open_bench(settings={"skill.memorising": memorising}, row=row)
    (copies,) = copies_of_tasks(bench, Skill(), [COPIED.content])
    assert copies == (Copy("t2", "how many boxes of number 2 are in the large store"),)[:found]
    assert copies_of_tasks(bench, Skill(COPIED.content), [COPIED.content]) == ((),)


@pytest.mark.parametrize("memorising", ["allow", "flag"])
def test_unless_copies_are_refused_the_patch_stays_as_it_is(open_bench: OpenBench, memorising: str) -> None:
    bench = open_bench(settings={"skill.memorising": memorising}, row=row)
    whole = patch(COPIED, RULE)
    assert refuse_copies(bench, state(), whole) is whole
    assert refused_for(bench, Skill(), COPIED.content) == ""


def test_a_refused_edit_ends_as_memorised_and_says_which_task_it_copies(open_bench: OpenBench) -> None:
    bench = open_bench(settings={"skill.memorising": "refuse"}, row=row)
    before = patch(COPIED, RULE)
    after = refuse_copies(bench, state(text=""), before)
    assert after.edits == (RULE,)
    (entry,) = after.discarded
    assert isinstance(entry, Discarded) and entry.state is EditState.MEMORISED
    assert entry.detail == ('it copies "how many boxes of number 2 are in the large store" from the training task t2')
    assert "Ask how many boxes" in entry.entry and entry.copies[0].task_id == "t2"
    assert refused_for(bench, Skill(), COPIED.content) == entry.detail
    assert refused_for(bench, Skill(), RULE.content) == ""


def test_selection_and_test_tasks_are_not_looked_through(open_bench: OpenBench) -> None:
    """The optimizer cannot copy what it never sees, and what is said of copies must not tell of them."""
    bench = open_bench(settings={"skill.memorising": "refuse"}, row=row)
    assert refused_for(bench, Skill(), QUESTION.format(5)).endswith("from the training task t0") is False
    assert copies_of_tasks(bench, Skill(), ["number 5 are in the large store of Oslo"]) == ((),)


def test_a_long_passage_is_cut_and_further_ones_are_counted() -> None:
    copies = [Copy("t1", "word " * 100), Copy("t2", "x"), Copy("t3", "y")]
    assert len(said(copies)) < 300
    assert said(copies).endswith('..." from the training task t1, and 2 more passages')
    assert said(copies[:2]).endswith("and 1 more passage")


def test_the_optimizers_memory_does_not_get_into_the_skill_however_it_is_brought(open_bench: OpenBench) -> None:
    """What the optimizer notes for itself is not for the target, and an optimizer may copy what it reads."""
    memory = "Edits that state one rule for one kind of record helped; general advice did nothing.\nshort line"
    now = replace(state(text="# Skill\n"), memory=memory)
    copied = append("- EDITS that state one rule, for one kind of record helped general advice did nothing")
    before = Patch("", (copied, append("- short line"), append("- A rule.")), "failure")
    after = refuse_copies(open_bench(settings={"skill.memorising": "allow"}), now, before)
    assert [edit.content for edit in after.edits] == ["- short line", "- A rule."]
    (refused,) = after.discarded
    assert refused.state is EditState.MEMORISED
    assert "your own notes" in refused.detail
    assert memory_in(replace(now, current=measured([0], f"# Skill\n{memory}\n")), copied.content) == ""
