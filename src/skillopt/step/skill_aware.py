"""Skill-aware reflection: its reply says of each failure whether the skill or the target is to blame.

A SKILL_DEFECT (the skill is wrong or silent) takes an edit. An EXECUTION_LAPSE (the skill says it, the target did not
do it) takes a short note for the skill's appendix, which `appendix.py` writes. Only this form of the reply stands
here; without `optimizer.use_skill_aware_reflection` nobody asks for it.
"""

from __future__ import annotations

from pydantic import Field, model_validator

from skillopt.config.training_settings import OptimizerSettings
from skillopt.models.base import ReplySchema
from skillopt.step.replies import EditsReply, Entries, as_object, edits_schema, shown
from skillopt.types import EditState, JsonValue, Note, SourceType


class SkillAwareReply(EditsReply):
    """Edits for what the skill lacks, and notes for what the target did not do though the skill says it."""

    appendix_notes: Entries = Field(default_factory=list)
    """Texts, one reminder each; read one by one by `read_notes`."""

    @model_validator(mode="before")
    @classmethod
    def _notes_alone(cls, value: object) -> object:
        """Accept notes without edits: every failure may be a lapse."""
        fields = as_object(value)
        if fields is None or "appendix_notes" not in fields or {"edits", "patch", "op"} & fields.keys():
            return value
        return {**fields, "edits": []}

    @classmethod
    def reply_schema(cls) -> ReplySchema:
        """The schema where the skill's lines are not known."""
        return with_notes(edits_schema(None))


def with_notes(edits: ReplySchema) -> ReplySchema:
    """Return what a reply with edits and notes is held to: the schema of edits, with a list of texts besides."""
    schema = edits.schema
    properties: dict[str, JsonValue] = {
        **(as_object(schema["properties"]) or {}),
        "appendix_notes": {"type": "array", "items": {"type": "string"}},
    }
    return ReplySchema("edits_and_notes", {**schema, "properties": properties, "required": list(properties)})


def asks_for_notes(optimizer: OptimizerSettings, source_type: SourceType) -> bool:
    """Return whether a reflection on this kind of trajectories may write notes."""
    if not optimizer.use_skill_aware_reflection:
        return False
    return source_type == "failure" or optimizer.skill_aware_appendix_source == "both"


def read_notes(reply: EditsReply, *, source_type: SourceType, task_ids: tuple[str, ...]) -> tuple[Note, ...]:
    """Read the notes of a reply one by one; one that cannot go on ends here, with the reason.

    A reply of another form has none. Each trajectory can lack one reminder at most, so more notes than there were
    trajectories are over the budget.
    """
    notes: list[Note] = []
    for number, entry in enumerate(reply.appendix_notes if isinstance(reply, SkillAwareReply) else ()):
        text, state, detail = (entry if isinstance(entry, str) else shown(entry)), None, ""
        if not isinstance(entry, str):
            state, detail = EditState.INVALID, "a note is a text"
        elif number >= len(task_ids):
            state, detail = EditState.OVER_BUDGET, f"{len(task_ids)} trajectories were shown, so at most as many notes"
        notes.append(Note(text, source_type, task_ids, state, detail))
    return tuple(notes)
