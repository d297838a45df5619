"""Which tasks the simulated optimizer cites for an edit: those of the prompt whose records lacked what it brings."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from skillopt.models.base import ChatRequest
from skillopt.simulation.reading import prompt_text
from skillopt.simulation.records import occurrences, plain
from skillopt.simulation.target import complaints
from skillopt.simulation.world import World
from skillopt.types import JsonValue

_SECTION = re.compile(r"^### [0-9]+\. (.+)$", re.MULTILINE)


def asks_for_citations(request: ChatRequest) -> bool:
    """Return whether a reply shall name the tasks of each edit: the schema says so, or else the prompt."""
    form = prompt_text(request) if request.schema is None else json.dumps(dict(request.schema.schema))
    return '"task_ids"' in form


def cited(world: World, text: str, edits: Sequence[Mapping[str, JsonValue]]) -> list[dict[str, JsonValue]]:
    """Return edits with the ids of the prompt's tasks that they are made for.

    A rule is for the tasks that ask about its subject, the deletion of a harmful sentence for those whose target obeyed
    it. Whatever else an optimizer believes in, it believes to be good for all of them.
    """
    sections = _sections(text)
    return [{**edit, "task_ids": [*_made_for(world, sections, edit)]} for edit in edits]


def _made_for(world: World, sections: Mapping[str, str], edit: Mapping[str, JsonValue]) -> list[str]:
    content, target = plain(str(edit.get("content", ""))), plain(str(edit.get("target", "")))
    codes = {rule.code for rule in world.rules if rule.sentence in content}
    if codes:
        return [task for task, said in sections.items() if codes & {each.code for each in occurrences(said)}]
    if edit.get("op") == "delete":
        return [task for task, said in sections.items() if any(bad in target for bad in complaints(said)[1])]
    return list(sections)


def _sections(text: str) -> dict[str, str]:
    """Return the prompt's tasks by their ids; examples of the instructions ask for no record and do not count."""
    heads = [*_SECTION.finditer(text)]
    ends = [*(head.start() for head in heads[1:]), len(text)]
    sections = {head[1].strip(): text[head.end() : end] for head, end in zip(heads, ends, strict=True)}
    return {task: said for task, said in sections.items() if occurrences(said)}
