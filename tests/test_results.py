"""What the stages made."""

from __future__ import annotations

from fractions import Fraction

from tests.support.values import append, patch

from skillopt.results import Candidate, Selected, Step
from skillopt.skill.document import Skill
from skillopt.types import Action, Decision, Discarded, Edit, EditOutcome, EditState, Patch, Rewrite, RewriteOutcome

CANDIDATE = Candidate(
    Skill.parse("# Candidate\n"),
    (EditOutcome(append("kept"), EditState.APPLIED), EditOutcome(append("lost"), EditState.UNMATCHED)),
    changed=True,
)


def test_what_ended_before_selection_is_kept_of_every_patch() -> None:
    """F57: nothing vanishes."""
    lost = Discarded("{}", EditState.INVALID, "no edit")
    empty = Patch("", (), "failure", discarded=(lost,))
    decision = Decision(Action.REJECT, "the reason", Fraction(1, 3))
    assert Step((), (), (empty,), empty, Selected(), CANDIDATE, decision).discarded == (lost, lost)


def test_a_candidate_holds_what_was_applied() -> None:
    assert CANDIDATE.applied == (append("kept"),)
    assert all(isinstance(edit, Edit) for edit in CANDIDATE.applied)
    assert patch().edits == ()


def test_a_rewritten_candidate_is_its_rewrite_with_the_text_that_came_of_it() -> None:
    """What the reply said is kept apart from what was made of it."""
    unused = RewriteOutcome(Rewrite("other"), EditState.INVALID, "why")
    taken = RewriteOutcome(Rewrite("---\nx\n---\n# Candidate", ("said",)), EditState.APPLIED)
    candidate = Candidate(Skill.parse("# Candidate\n"), (), changed=True, rewrites=(unused, taken))
    assert candidate.rewrite == Rewrite("# Candidate\n", ("said",))
    assert (candidate.applied, candidate.changes) == ((), (candidate.rewrite,))
    assert (CANDIDATE.rewrite, CANDIDATE.changes) == (None, CANDIDATE.applied)
