"""What a step's record and its file say of the reminders."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from tests.support.values import patch, state

from skillopt.results import Candidate, Selected, Step
from skillopt.run.appendix_records import appendix_notes_json, appendix_record
from skillopt.skill.document import Skill
from skillopt.types import Action, Consolidation, Decision, EditState, Note

NOTED = "# S\n\n<!-- APPENDIX_START -->\n## Execution Notes Appendix\n\n- a, b and c\n<!-- APPENDIX_END -->\n"
CANDIDATE = Candidate(
    Skill(NOTED),
    changed=True,
    notes=(
        Note("c", "failure", ("t0",), EditState.APPLIED),
        Note("C!", "success", ("t1",), EditState.DUPLICATE, "the appendix says it already"),
    ),
    reminders=(Note("a, b and c"),),
    consolidation=Consolidation(("a", "b", "c"), ("a, b and c",), "of 3 notes it made 1"),
)


def step(action: Action, candidate: Candidate = CANDIDATE) -> Step:
    return Step((), (), (), patch(), Selected(), candidate, Decision(action, "why", Fraction(0)))


@pytest.mark.parametrize("action", [Action.ACCEPT_NEW_BEST, Action.FORCE_ACCEPT])
def test_an_accepted_candidate_brings_its_notes(action: Action) -> None:
    assert appendix_record(state(text=NOTED), step(action)) == {
        "n_execution_lapse_notes": 2,
        "appendix_notes": {"applied": 1, "duplicate": 1},
        "n_appendix_notes_added": 1,
        "n_appendix_notes_consolidated": 2,
        "n_appendix_notes_total": 1,
    }


@pytest.mark.parametrize("action", [Action.REJECT, Action.SKIP_UNMEASURED, Action.SKIP_REPEATED])
def test_a_candidate_that_is_not_accepted_brings_none(action: Action) -> None:
    """Unlike the public tool, which adds them whatever the gate says."""
    record = appendix_record(state(text="# S\n"), step(action))
    assert record["n_execution_lapse_notes"] == 2
    assert [record[f"n_appendix_notes_{name}"] for name in ("added", "consolidated", "total")] == [0, 0, 0]


def test_the_file_shows_how_each_note_ended_and_what_was_made_of_them() -> None:
    assert appendix_notes_json(CANDIDATE) == {
        "notes": [
            {"status": "applied", "detail": "", "note": "c", "source_type": "failure", "task_ids": ["t0"]},
            {
                "status": "duplicate",
                "detail": "the appendix says it already",
                "note": "C!",
                "source_type": "success",
                "task_ids": ["t1"],
            },
        ],
        "reminders": ["a, b and c"],
        "consolidation": {
            "kept": True,
            "reason": "of 3 notes it made 1",
            "before": ["a", "b", "c"],
            "after": ["a, b and c"],
        },
    }
    assert appendix_notes_json(replace(CANDIDATE, consolidation=None))["consolidation"] is None
