"""The forms of the optimizer's structured replies.

Field names are the public ones, so that tools made for them go on working. Reading is tolerant where the meaning is
clear: an entry that is no edit is kept as discarded and costs neither its neighbours nor the reply.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any, cast

from pydantic import BeforeValidator, Field, model_validator

from skillopt.models.base import ReplySchema
from skillopt.models.structured import Reply
from skillopt.types import Discarded, Edit, EditOperation, EditState, JsonValue, SourceType

_TARGETED = (EditOperation.INSERT_AFTER, EditOperation.INSERT_BEFORE, EditOperation.REPLACE, EditOperation.DELETE)


_MOST_TARGETS, _MOST_TARGET_CHARACTERS = 250, 12_000
"""Bounds of the schema: what hosted providers accept, and what a grammar can hold."""


def as_object(value: object) -> dict[str, Any] | None:
    """Return a JSON object as a dictionary, or None where the value is none."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _text(value: object) -> object:
    return "" if value is None else value


def _entries(value: object) -> object:
    """Null means none; one bare entry stands for a list of it."""
    if value is None:
        return []
    return [cast("object", value)] if isinstance(value, dict | str) else value


Text = Annotated[str, BeforeValidator(_text)]
Entries = Annotated[list[Any], BeforeValidator(_entries)]


class EditsReply(Reply):
    """Edits with the reasoning for them: the reply of reflect, aggregate and the repair request of update."""

    reasoning: Text = ""
    """Why these edits."""
    edits: Entries = Field(default_factory=list)
    """Entries with `op`, `target`, `content`; read one by one by `read_edits`."""
    drop_all_reason: Text = ""
    """For a merge that keeps nothing on purpose: why."""

    @model_validator(mode="before")
    @classmethod
    def _unwrap(cls, value: object) -> object:
        """Accept the public wrapper `{"patch": {...}}`, a bare list of edits, and one bare edit."""
        if isinstance(value, list):
            return {"edits": cast("list[object]", value)}
        fields = as_object(value)
        if fields is None:
            return value
        patch = as_object(fields.get("patch"))
        if patch is not None:
            return {**fields, **patch}
        if "op" in fields and "edits" not in fields:
            return {"edits": [fields]}
        if "edits" not in fields:
            raise ValueError('there is no "edits"; reply with {"reasoning": "...", "edits": [...]}')
        return fields

    @classmethod
    def reply_schema(cls) -> ReplySchema:
        """The schema where the skill's lines are not known; `edits_schema` takes them."""
        return edits_schema(None)


class MergeReply(EditsReply):
    """Merged edits; each names the edits it stands for in `sources`."""

    @classmethod
    def reply_schema(cls) -> ReplySchema:
        """As for edits, with `sources`."""
        return edits_schema(None, merge=True)


def edits_schema(
    targets: Sequence[str] | None, *, merge: bool = False, task_ids: Sequence[str] | None = None
) -> ReplySchema:
    """Return what a reply with edits is held to where the provider can: one schema for each kind of edit.

    An append has no target that could be invented, and every other edit takes its target from the skill's own lines. A
    skill without lines offers nothing but append. Lines that are too many or too long for a schema leave targets free.

    Args:
        targets: The lines that may be targets, from `skill.edits.target_lines`; None leaves targets free.
        merge: Whether each edit names the edits it stands for, and dropping all of them takes a reason.
        task_ids: The tasks that each edit may cite; None where it cites none.
    """
    extra: dict[str, JsonValue] = {}
    if merge:
        extra["sources"] = {"type": "array", "items": {"type": "integer"}}
    if task_ids is not None:
        extra["task_ids"] = {"type": "array", "items": _one_of(list(dict.fromkeys(task_ids)))}
    properties: dict[str, JsonValue] = {
        "reasoning": {"type": "string"},
        "edits": {"type": "array", "items": {"anyOf": _edit_schemas(targets, extra)}},
    }
    if merge:
        properties["drop_all_reason"] = {"type": "string"}
    return ReplySchema(
        "merge" if merge else "edits",
        {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        },
    )


def _edit_schemas(targets: Sequence[str] | None, extra: dict[str, JsonValue]) -> list[JsonValue]:
    target: JsonValue = {"type": "string"} if targets is None else _one_of(targets)
    schemas: list[JsonValue] = []
    for operation in EditOperation:
        if operation in _TARGETED and targets is not None and not targets:
            continue
        properties: dict[str, JsonValue] = {"op": {"type": "string", "enum": [operation.value]}, **extra}
        if operation in _TARGETED:
            properties["target"] = target
        if operation is not EditOperation.DELETE:
            properties["content"] = {"type": "string"}
        schemas.append(
            {
                "type": "object",
                "properties": properties,
                "required": list(properties),
                "additionalProperties": False,
            }
        )
    return schemas


def _one_of(texts: Sequence[str]) -> JsonValue:
    """One of these texts, or any where they are too many or too long for a schema."""
    if len(texts) > _MOST_TARGETS or sum(map(len, texts)) > _MOST_TARGET_CHARACTERS:
        return {"type": "string"}
    return {"type": "string", "enum": list(texts)}


class RankingReply(Reply):
    """Which edits survive."""

    reasoning: Text = ""
    """Why these."""
    selected_indices: list[Any]
    """Numbers of the edits as they were shown, most important first."""

    @classmethod
    def reply_schema(cls) -> ReplySchema:
        """Numbers only."""
        return ReplySchema.of_object(
            "ranking",
            {
                "reasoning": {"type": "string"},
                "selected_indices": {"type": "array", "items": {"type": "integer"}},
            },
        )


def read_edits(
    entries: Sequence[Any], *, source_type: SourceType, task_ids: tuple[str, ...]
) -> tuple[tuple[Edit, ...], tuple[Discarded, ...]]:
    """Read the entries of a reply one by one.

    Returns:
        The edits, and the entries that are no edits with what is wrong with them.
    """
    edits: list[Edit] = []
    discarded: list[Discarded] = []
    for entry in entries:
        edit = _read_edit(entry, source_type, task_ids)
        if isinstance(edit, Edit):
            edits.append(edit)
        else:
            discarded.append(Discarded(shown(entry), EditState.INVALID, edit))
    return tuple(edits), tuple(discarded)


def shown(entry: Any) -> str:
    """Return a reply's entry as JSON text, at most 2,000 characters."""
    return json.dumps(entry, ensure_ascii=False, default=str)[:2000]


def _read_edit(entry: Any, source_type: SourceType, task_ids: tuple[str, ...]) -> Edit | str:
    """Return the edit, or what is wrong with the entry."""
    fields = as_object(entry)
    if fields is None:
        return "not an object with op, target and content"
    operation, target, content = fields.get("op"), fields.get("target"), fields.get("content")
    if not isinstance(operation, str) or operation.strip().lower() not in set(EditOperation):
        return f"op is {operation!r}; it must be one of {', '.join(EditOperation)}"
    for name, value in (("target", target), ("content", content)):
        if value is not None and not isinstance(value, str):
            return f"{name} is no text"
    return Edit(
        EditOperation(operation.strip().lower()),
        target=target or "",
        content=content or "",
        source_type=source_type,
        task_ids=task_ids,
    )
