"""What the simulated optimizer makes of a prompt: which stage asks, which edits it shows, what its trajectories lack.

It reads the prompt as a model would, by its words, and tolerates any layout around them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, cast, get_args

from skillopt.digests import canonical_json, digest
from skillopt.models.base import ChatRequest
from skillopt.simulation.records import Rule, occurrences, plain
from skillopt.simulation.target import complaints
from skillopt.simulation.world import World

Stage: TypeAlias = Literal[
    "reflect",
    "aggregate",
    "budget",
    "select",
    "update",
    "rewrite",
    "appendix_consolidate",
    "slow_update",
    "meta_skill",
]

_STAGES: Final[tuple[Stage, ...]] = get_args(Stage)
_FIELDS: Final[tuple[tuple[str, Stage], ...]] = (
    ("selected_indices", "select"),
    ("consolidated_notes", "appendix_consolidate"),
    ("slow_update_content", "slow_update"),
    ("meta_skill_content", "meta_skill"),
    ("drop_all_reason", "aggregate"),
    ("learning_rate", "budget"),
)
"""Reply fields that only one stage asks for."""
_REWRITE_FIELD: Final = '"new_skill"'
"""What reflect and update ask for where they want a whole skill and no edits."""

_OPENING = re.compile(r"[{\[]")


@dataclass(frozen=True, slots=True)
class ShownEdit:
    """An edit that a prompt shows as JSON.

    Attributes:
        number: The number it is shown with, else its position from 0.
        operation: Its `op`.
        target: Its `target`.
        content: Its `content`.
    """

    number: int
    operation: str
    target: str
    content: str


def prompt_text(request: ChatRequest) -> str:
    """Return all that a request says."""
    return "\n\n".join(message.content for message in request.messages)


def stage_of(request: ChatRequest) -> Stage | None:
    """Return which stage asks, or None for a question that belongs to none.

    In process the request says so, but for a rewrite, which the form of the reply tells. Over the wire its place is
    lost: then the fields that the reply must have tell the stages apart, by the schema or else by the prompt, and
    trajectories tell a reflection from a repair.
    """
    text = prompt_text(request)
    form = text if request.schema is None else canonical_json(dict(request.schema.schema))
    if _REWRITE_FIELD in form:
        return "rewrite"
    for stage in _STAGES:
        if request.place.stage == stage:
            return stage
    for field, stage in _FIELDS:
        if field in form:
            return stage
    if "edits" not in form:
        return None
    return "reflect" if occurrences(text) else "update"


def shown_edits(text: str) -> tuple[ShownEdit, ...]:
    """Return the edits that a prompt shows; where some carry a `number`, the others are examples and do not count."""
    entries = [entry for value in _json_values(text) for entry in _edit_entries(value)]
    numbered = [entry for entry in entries if type(entry.get("number")) is int]
    return tuple(
        ShownEdit(entry.get("number", position), entry["op"], entry.get("target") or "", entry.get("content") or "")
        for position, entry in enumerate(numbered or entries)
    )


def lacking(world: World, text: str) -> tuple[tuple[Rule, ...], tuple[str, ...]]:
    """Return what a prompt's trajectories lack.

    Returns:
        The rules of subjects that are asked about and not written down, or that a target complains of, in the order of
        their appearance; and the harmful sentences that a target obeyed.
    """
    codes, obeyed = complaints(text)
    words = plain(text)
    seen = dict.fromkeys(each.code for each in occurrences(text))
    rules = [world.rule_by_code[code] for code in seen if code in world.rule_by_code]
    missing = tuple(rule for rule in rules if rule.code in codes or rule.sentence not in words)
    return missing, tuple(sorted(obeyed))


def meaning(world: World, stage: Stage, request: ChatRequest) -> str:
    """Return a digest of what the simulated optimizer can tell from a request: its choices are drawn from this.

    Subjects in their order, the world's sentences that stand in the prompt, edits that are shown, and whether it is
    asked again. Not the prompt's own words: another wording of the instructions changes no simulated reply.
    """
    text = prompt_text(request)
    words = plain(text)
    sentences = (*(rule.sentence for rule in world.rules), *world.useless, *world.harmful)
    return digest(
        {
            "stage": stage,
            "messages": len(request.messages),
            "subjects": [[each.code, each.number] for each in occurrences(text)],
            "lacking": [rule.code for rule in lacking(world, text)[0]],
            "sentences": [sentence for sentence in sentences if sentence in words],
            # A reflection shows none but those of its instructions.
            "edits": []
            if stage == "reflect"
            else [[edit.operation, edit.target, edit.content] for edit in shown_edits(text)],
        }
    )


def list_item(text: str, sentence: str) -> str:
    """Return a sentence as it stands in a text: as an item of a list where it is one, else bare."""
    return f"- {sentence}" if f"- {sentence}" in text.splitlines() else sentence


def _json_values(text: str) -> Iterator[Any]:
    """Yield every JSON object or list that stands in a text, outermost ones only."""
    decoder = json.JSONDecoder()
    found = _OPENING.search(text)
    while found:
        position = found.start()
        try:
            value, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            position += 1
        else:
            yield value
        found = _OPENING.search(text, position)


def _edit_entries(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        entry = cast("dict[str, Any]", value)
        if isinstance(entry.get("op"), str):
            yield entry
        else:
            for inner in entry.values():
                yield from _edit_entries(inner)
    elif isinstance(value, list):
        for inner in cast("list[Any]", value):
            yield from _edit_entries(inner)
