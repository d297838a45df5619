"""Reminders in the candidate: beside its edits, without duplicates, in fewer words above a threshold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from tests.support.bench import OpenBench, by_stage, text_of
from tests.support.values import append, patch, state

from skillopt.errors import FatalModelError, TransientModelError
from skillopt.results import Candidate, Selected
from skillopt.skill.appendix import add_note, notes_of
from skillopt.skill.document import Skill
from skillopt.skill.size import estimate_tokens
from skillopt.step.appendix import remind
from skillopt.step.gate import gate
from skillopt.step.update import update
from skillopt.types import Action, Consolidation, EditState, Note, Patch

ON = {"optimizer.use_skill_aware_reflection": True}
AT_TWO = {**ON, "optimizer.skill_aware_consolidate_threshold": 2}


def texts_of(candidate: Candidate) -> tuple[str, ...]:
    """The notes that are new in a candidate."""
    return tuple(note.text for note in candidate.reminders)


def with_notes(*texts: str) -> Patch:
    return Patch("why", (), "failure", ("t0",), notes=tuple(Note(text, "failure", ("t0",)) for text in texts))


def text_with(*notes: str) -> str:
    skill = Skill("# Skill\n")
    for note in notes:
        more = add_note(skill, note, max_tokens=10_000)
        assert isinstance(more, Skill)
        skill = more
    return skill.text


def unchanged(text: str = "# Skill\n") -> Candidate:
    return Candidate(Skill(text))


def says(*notes: Any) -> dict[str, Any]:
    return by_stage(appendix_consolidate={"reasoning": "fewer", "consolidated_notes": list(notes)})  # type: ignore[return-value]


async def test_reminders_alone_make_a_candidate(open_bench: OpenBench) -> None:
    candidate = await remind(
        open_bench(settings=ON), state(), [with_notes("Mind it."), with_notes("Mind that.")], unchanged()
    )
    assert candidate.changed
    assert notes_of(candidate.skill) == texts_of(candidate) == ("Mind it.", "Mind that.")
    assert [note.state for note in candidate.notes] == [EditState.APPLIED] * 2
    assert candidate.consolidation is None


async def test_edits_and_reminders_are_one_candidate(open_bench: OpenBench) -> None:
    bench = open_bench(settings=ON)
    edited = await update(bench, state(), Selected((append("- A rule."),)))
    candidate = await remind(bench, state(), [patch(append("- A rule.")), with_notes("Mind it.")], edited)
    assert candidate.skill.text == text_with("Mind it.").replace("# Skill\n", "# Skill\n\n- A rule.\n")
    assert (candidate.applied, texts_of(candidate)) == ((append("- A rule."),), ("Mind it.",))


async def test_each_note_ends_in_one_state(open_bench: OpenBench) -> None:
    settled = Note("7", "failure", ("t0",), EditState.INVALID, "a note is a text")
    proposed = ["Mind it!", "New.", "new", "a\nb", "<!-- APPENDIX_END -->"]
    patches = [with_notes(*proposed), Patch("", (), "failure", notes=(settled,))]
    current = text_with("mind it")
    candidate = await remind(open_bench(settings=ON), state(text=current), patches, unchanged(current))
    assert [note.state for note in candidate.notes] == [
        *(EditState.DUPLICATE, EditState.APPLIED, EditState.DUPLICATE),
        *(EditState.INVALID, EditState.PROTECTED, EditState.INVALID),
    ]
    assert [note.text for note in candidate.notes] == [*proposed, "7"]
    assert candidate.notes[-1] == settled
    assert texts_of(candidate) == ("New.",)


async def test_the_size_limit_holds_for_edits_and_reminders_together(open_bench: OpenBench) -> None:
    most = estimate_tokens(text_with("Mind it."))
    bench = open_bench(settings={**ON, "skill.max_tokens": most})
    candidate = await remind(bench, state(), [with_notes("Mind it.", "Mind that.")], unchanged())
    assert [note.state for note in candidate.notes] == [EditState.APPLIED, EditState.OVER_BUDGET]


@pytest.mark.parametrize("patches", [[], [patch(append("x"))]])
async def test_without_a_note_the_candidate_stays_what_it_was_and_no_marker_is_added(
    open_bench: OpenBench, patches: Sequence[Patch]
) -> None:
    candidate = unchanged()
    assert await remind(open_bench(settings=AT_TWO), state(), patches, candidate) is candidate


async def test_notes_that_are_all_known_are_no_candidate_and_cost_nothing(open_bench: OpenBench) -> None:
    """F20: nothing is measured and nothing is asked, though the appendix is above its threshold."""
    current = text_with("one", "two", "three")
    bench = open_bench(settings=AT_TWO)
    candidate = await remind(bench, state(text=current), [with_notes("ONE!")], unchanged(current))
    assert (candidate.changed, candidate.consolidation) == (False, None)
    decision = await gate(bench, state(text=current), candidate)
    assert (decision.action, decision.reason) == (
        Action.SKIP_NO_CHANGE,
        "no edit or reminder could be applied: the candidate is the current skill",
    )
    assert bench.optimizer.requests == bench.target.requests == []


async def test_above_the_threshold_one_call_writes_the_notes_in_fewer(open_bench: OpenBench) -> None:
    bench = open_bench(optimizer=says("one, two and three"), settings=AT_TWO)
    current = text_with("one", "two")
    candidate = await remind(bench, state(text=current), [with_notes("three")], unchanged(current))
    assert candidate.skill.text == text_with("one, two and three")
    assert candidate.consolidation == Consolidation(
        ("one", "two", "three"), ("one, two and three",), "of 3 notes it made 1"
    )
    assert candidate.consolidation.kept
    assert texts_of(candidate) == ("one, two and three",)
    (request,) = bench.optimizer.requests
    assert request.place == state().place("appendix_consolidate")
    assert "- one\n- two\n- three" in text_of(request).rpartition("The reminders")[2]
    assert bench.counted == {}


async def test_at_the_threshold_nobody_is_asked(open_bench: OpenBench) -> None:
    bench = open_bench(settings=AT_TWO)
    candidate = await remind(bench, state(), [with_notes("one", "two")], unchanged())
    assert (texts_of(candidate), bench.optimizer.requests) == (("one", "two"), [])


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (says("one", "two", "three"), "3 notes in place of 3"),
        (says(), "holds no note"),
        (says("one\ntwo"), "more than one line"),
        (says("one", 2), "a note is a text"),
        (by_stage(appendix_consolidate="no idea"), "gave no reply"),
        (by_stage(appendix_consolidate=TransientModelError("no capacity")), "gave no reply"),
    ],
)
async def test_notes_that_cannot_be_shortened_stay_and_the_fall_back_is_counted(
    open_bench: OpenBench, said: Any, why: str
) -> None:
    """F6."""
    bench = open_bench(optimizer=said, settings=AT_TWO)
    candidate = await remind(bench, state(), [with_notes("one", "two", "three")], unchanged())
    assert candidate.skill.text == text_with("one", "two", "three")
    assert candidate.consolidation is not None
    assert not candidate.consolidation.kept
    assert why in candidate.consolidation.reason
    assert bench.counted["appendix_consolidate_fallbacks"] == 1


async def test_a_provider_that_can_never_answer_ends_the_run(open_bench: OpenBench) -> None:
    bench = open_bench(optimizer=by_stage(appendix_consolidate=FatalModelError("bad key")), settings=AT_TWO)
    with pytest.raises(FatalModelError, match="bad key"):
        await remind(bench, state(), [with_notes("one", "two", "three")], unchanged())


async def test_an_appendix_that_was_written_anew_is_a_bundle_of_its_own(open_bench: OpenBench) -> None:
    """What is tried is all of its notes: the same edits without them are something else, and may be measured."""
    current = text_with("one", "two", "three")
    bench = open_bench(optimizer=says("one", "two and three"), settings=AT_TWO)
    candidate = await remind(bench, state(text=current), [with_notes("four")], unchanged(current))
    assert texts_of(candidate) == ("one", "two and three")


@pytest.mark.parametrize(
    ("memorising", "state_of_it", "copied"),
    [("allow", EditState.APPLIED, 0), ("flag", EditState.APPLIED, 1), ("refuse", EditState.MEMORISED, 1)],
)
async def test_a_note_that_copies_a_task_is_flagged_or_refused_like_an_edit(
    open_bench: OpenBench, memorising: str, state_of_it: EditState, copied: int
) -> None:
    question = "which of the seven grey ducks swam across the old river"

    def row(split: str, number: int) -> dict[str, str]:
        return {
            "id": f"t{number}",
            "question": f"{question} {number}" if number == 1 else f"q{number}",
            "answer": f"a{number}",
        }

    bench = open_bench(settings={**ON, "skill.memorising": memorising}, row=row)
    candidate = await remind(bench, state(), [with_notes(f"Mind {question}")], unchanged())
    (note,) = candidate.notes
    assert (note.state, len(note.copies)) == (state_of_it, copied)
    assert candidate.changed == (state_of_it is EditState.APPLIED)
