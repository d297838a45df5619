"""What skill-aware reflection did in a step, as history.json and the step's files show it."""

from __future__ import annotations

from collections import Counter
from typing import Any

from skillopt.results import Candidate, Step
from skillopt.skill.appendix import notes_of
from skillopt.state import State
from skillopt.types import EditState


def appendix_record(after: State, step: Step) -> dict[str, Any]:
    """Return the fields of a step's record, under the public names.

    What was added and taken away counts for the skill that training goes on with: where the gate did not accept the
    candidate, its appendix is not there.
    """
    candidate, accepted = step.candidate, step.decision.accepted
    states = Counter(note.state for note in candidate.notes)
    shrunk = candidate.consolidation
    return {
        "n_execution_lapse_notes": len(candidate.notes),
        "appendix_notes": {state.value: states[state] for state in EditState if states[state]},
        "n_appendix_notes_added": states[EditState.APPLIED] if accepted else 0,
        "n_appendix_notes_consolidated": len(shrunk.before) - len(shrunk.after) if shrunk and accepted else 0,
        "n_appendix_notes_total": len(notes_of(after.current.skill)),
    }


def appendix_notes_json(candidate: Candidate) -> dict[str, Any]:
    """Return what appendix_notes.json holds: how each note ended, and what the candidate's appendix came to."""
    shrunk = candidate.consolidation
    return {
        "notes": [
            {
                "status": None if note.state is None else note.state.value,
                "detail": note.detail,
                "note": note.text,
                "source_type": note.source_type,
                "task_ids": list(note.task_ids),
            }
            for note in candidate.notes
        ],
        "reminders": [note.text for note in candidate.reminders],
        "consolidation": None
        if shrunk is None
        else {
            "kept": shrunk.kept,
            "reason": shrunk.reason,
            "before": list(shrunk.before),
            "after": list(shrunk.after),
        },
    }
