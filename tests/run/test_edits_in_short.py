"""The edits of a step in a few words each."""

from __future__ import annotations

from tests.support.values import append

from skillopt.run.edits_in_short import MOST_CHARACTERS, edits_in_short
from skillopt.types import Edit, EditOperation, EditOutcome, EditState


def test_an_edit_is_its_operation_its_end_and_the_beginning_of_its_text() -> None:
    outcomes = [
        EditOutcome(append("## Dates\n\n- write   them as\tISO"), EditState.APPLIED),
        EditOutcome(Edit(EditOperation.DELETE, "an old line"), EditState.UNMATCHED, "found nowhere"),
    ]
    assert edits_in_short(outcomes) == [
        {"operation": "append", "status": "applied", "text": "## Dates - write them as ISO"},
        {"operation": "delete", "status": "unmatched", "text": "an old line"},
    ]


def test_a_long_text_is_cut() -> None:
    ((short),) = edits_in_short([EditOutcome(append("word " * 1_000_000), EditState.APPLIED)])
    assert len(short["text"]) == MOST_CHARACTERS and short["text"].endswith("...")
    ((whole),) = edits_in_short([EditOutcome(append("x" * MOST_CHARACTERS), EditState.APPLIED)])
    assert whole["text"] == "x" * MOST_CHARACTERS
