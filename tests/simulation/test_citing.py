"""Which tasks the simulated optimizer cites for an edit."""

from __future__ import annotations

import json
from typing import Any

import pytest

from skillopt.models.base import ChatRequest
from skillopt.prompts import render, slots
from skillopt.simulation.citing import asks_for_citations, cited
from skillopt.simulation.optimizer import SimulatedOptimizer
from skillopt.simulation.records import KINDS
from skillopt.simulation.world import World
from skillopt.step.citing import citation_request
from skillopt.step.replies import edits_schema
from skillopt.types import JsonValue, Message, Place

WORLD = World(7, rules=6, tasks=12)
FIRST, SECOND = WORLD.rules[:2]


def section(number: int) -> str:
    """A task of the world, as a reflection shows it, on which the target knew no rule."""
    task = WORLD.tasks[number]
    complaint = f"I know no house rule for {task.rules[0].code}."
    return f"### {number + 1}. {task.id}\nTask: {task.question}\nWrong answer: {complaint}"


TEXT = "### 1. example-1\nTask: Amount: five euros\n\n" + "\n\n".join(map(section, (0, 1, 6)))
ALL = [WORLD.tasks[number].id for number in (0, 1, 6)]


def made_for(edit: dict[str, JsonValue], text: str = TEXT) -> Any:
    (one,) = cited(WORLD, text, [edit])
    assert {**one, "task_ids": None} == {**edit, "task_ids": None}
    return one["task_ids"]


def test_a_rule_is_for_the_tasks_that_ask_about_its_subject() -> None:
    assert made_for({"op": "append", "content": f"- {FIRST.sentence}"}) == [ALL[0], ALL[2]]
    assert made_for({"op": "replace", "target": "x", "content": f"- {SECOND.sentence}"}) == [ALL[1]]


def test_advice_is_for_all_tasks_and_for_no_example() -> None:
    assert made_for({"op": "append", "content": "- Be kind."}) == ALL


def test_taking_harm_away_is_for_those_that_obeyed_it() -> None:
    harmful = KINDS[0].harmful
    text = f'{TEXT}\n\n### 9. obeying\nTask: {WORLD.tasks[2].question}\nWrong answer: I obeyed this line: "{harmful}"'
    assert made_for({"op": "delete", "target": f"- {harmful}"}, text) == ["obeying"]


@pytest.mark.parametrize("over_the_wire", [True, False])
async def test_it_cites_where_it_is_asked_to_and_proposes_the_same_edits(over_the_wire: bool) -> None:
    """Of the whole reply nothing but the citations depends on whether they are asked for."""
    optimizer = SimulatedOptimizer(WORLD, malformed=0.0)
    found: list[list[dict[str, Any]]] = []
    for citing in (False, True):
        ids = tuple(ALL)
        values = dict.fromkeys(slots("reflect_failure"), "") | {"trajectories": TEXT}
        values["citing"] = citation_request(ids) if citing else ""
        schema = edits_schema(None, task_ids=ids if citing else None) if over_the_wire else None
        request = ChatRequest(render("reflect_failure", **values), Place("reflect"), schema)
        assert asks_for_citations(request) is citing
        text = (await optimizer.reply(request)).text
        found.append(json.loads(text[text.index("{") : text.rindex("}") + 1])["edits"])
    without, with_citations = found
    assert without
    assert all(edit["task_ids"] for edit in with_citations)
    assert [{name: value for name, value in edit.items() if name != "task_ids"} for edit in with_citations] == without


def test_another_question_asks_for_none() -> None:
    assert not asks_for_citations(ChatRequest((Message("user", "Hello"),), Place("check")))
