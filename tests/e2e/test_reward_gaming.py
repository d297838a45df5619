"""Rules that please the score on the training tasks and do not do the tasks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.support.runs import SMALL, read_json, write_run

from skillopt.api import train
from skillopt.events import Event, Warned
from skillopt.models.base import ChatRequest
from skillopt.run.outcome import EndState, Outcome
from skillopt.simulation.scripted import ScriptedModel
from skillopt.simulation.server import SimulatedServer

SURFACE_RULE = "Answer with the title line."


def rows(split: str, numbers: Sequence[int], *, in_title: bool) -> str:
    """Documents whose answer stands in the body; in some of them the title happens to hold it."""
    lines: list[dict[str, Any]] = []
    for number in numbers:
        answer = f"order {number}"
        title, body = (answer, "no order") if in_title else (f"Weekly report {number}", answer)
        lines.append({"id": f"{split}{number}", "question": f"{title}\n{body}\nWhich order?", "answer": answer})
    return "".join(json.dumps(line) + "\n" for line in lines)


def reader(request: ChatRequest) -> str:
    """A target that reads the body, or the title where its skill says so."""
    title, body, _ = request.messages[-1].content.splitlines()
    return title if SURFACE_RULE in request.messages[0].content else body


def gamer(request: ChatRequest) -> dict[str, Any]:
    """An optimizer that has noticed what the training tasks have in common."""
    return {"reasoning": "The title always wins.", "edits": [{"op": "append", "content": f"- {SURFACE_RULE}"}]}


async def train_on_reports(directory: Path, *, told: list[Event]) -> Outcome:
    server = SimulatedServer(
        SMALL, target=ScriptedModel(reader, name="reader"), optimizer=ScriptedModel(gamer, name="gamer")
    )
    async with server:
        config = write_run(directory, server=server, settings={"train.num_epochs": 1, "env.split_mode": "split_dir",
                                                               "env.split_dir": "."})  # fmt: skip
        (directory / "tasks.jsonl").unlink()
        (directory / "train.jsonl").write_text(rows("train", range(8), in_title=True), "utf-8")
        (directory / "val.jsonl").write_text(rows("val", range(100, 108), in_title=False), "utf-8")
        (directory / "test.jsonl").write_text(rows("test", range(200, 208), in_title=False), "utf-8")
        return await train(config, subscribers=[told.append])


async def test_a_surface_rule_that_helps_on_training_tasks_loses_and_stays_visible(tmp_path: Path) -> None:
    """F28: a standing test that reward-gaming edits lose."""
    told: list[Event] = []
    outcome = await train_on_reports(tmp_path, told=told)
    assert outcome.state is EndState.ALL_REJECTED
    assert SURFACE_RULE not in outcome.best_skill.text
    assert SURFACE_RULE not in (tmp_path / "run" / "best_skill.md").read_text("utf-8")
    assert outcome.summary["selection"]["best"]["shown"] == outcome.summary["test"]["best"]["shown"] == "8/8 (100.0 %)"


async def test_it_is_tried_only_where_the_gate_can_say_no(tmp_path: Path) -> None:
    """A seed skill that solves the selection split is saturated: the surface rule is not even asked for."""
    told: list[Event] = []
    outcome = await train_on_reports(tmp_path, told=told)
    assert read_json(outcome.directory / "history.json")
