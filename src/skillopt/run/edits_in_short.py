"""The edits of a step in a few words each, for those who watch a run; their whole texts stand in the step's files."""

from __future__ import annotations

from collections.abc import Sequence

from skillopt.types import EditOutcome

MOST_CHARACTERS = 160
"""Of an edit's text."""


def edits_in_short(outcomes: Sequence[EditOutcome]) -> list[dict[str, str]]:
    """Return operation, status and the beginning of the text of each edit, in order; white space is one blank."""
    return [
        {
            "operation": outcome.edit.operation.value,
            "status": outcome.state.value,
            "text": _beginning(outcome.edit.content or outcome.edit.target),
        }
        for outcome in outcomes
    ]


def _beginning(text: str) -> str:
    # No more is looked at than can be shown, however long the text is.
    line = " ".join(text[: 4 * MOST_CHARACTERS].split())
    return line if len(line) <= MOST_CHARACTERS else f"{line[: MOST_CHARACTERS - 3]}..."
