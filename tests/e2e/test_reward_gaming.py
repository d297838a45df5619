"""Rules that please the score on the training tasks and do not do the tasks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.bench import text_of
from tests.support.runs import SMALL, read_json, write_run

from skillopt.api import train
from skillopt.events import Event, StageStarted, Warned
from skillopt.models.base import ChatRequest
from skillopt.run.outcome import EndState
from skillopt.simulation.scripted import ScriptedModel
from skillopt.simulation.server import SimulatedServer

SURFACE_RULE = "Answer with the title line."


def rows(split: str, *, in_title: int = 0, in_body: int = 0, nowhere: int = 0) -> str:
    """Documents of which some hold the answer in their title, some in their body and some nowhere."""
    lines: list[dict[str, Any]] = []
    for number, place in enumerate(["title"] * in_title + ["body"] * in_body + ["nowhere"] * nowhere):
        answer = f"order {number}"
        title = answer if place == "title" else "Weekly report"
        body = answer if place == "body" else "nothing new"
        question = f"{title}\n{body}\nWhich order does {split} {number} speak of?"
        lines.append({"id": f"{split}{number}", "question": question, "answer": answer})
    return "".join(json.dumps(line) + "\n" for line in lines)


def reader(request: ChatRequest) -> str:
    """A target that reads the body, or the title where its skill says so."""
    title, body, _ = request.messages[-1].content.splitlines()
    return title if SURFACE_RULE in request.messages[0].content else body


def gamer(request: ChatRequest) -> dict[str, Any]:
    """An optimizer that has noticed what the training tasks have in common."""
    return {"reasoning": "The title always wins.", "edits": [{"op": "append", "content": f"- {SURFACE_RULE}"}]}


async def test_a_surface_rule_that_helps_on_training_tasks_loses_and_stays_visible(tmp_path: Path) -> None:
    """F28: a standing test that reward-gaming edits lose."""
    models = {"target": ScriptedModel(reader, name="reader"), "optimizer": ScriptedModel(gamer, name="gamer")}
    async with SimulatedServer(SMALL, **models) as server:
        config = write_run(tmp_path, server=server, settings={"train.num_epochs": 1, "env.split_mode": "split_dir",
                                                              "env.split_dir": ".", "env.data_path": None})  # fmt: skip
        (tmp_path / "tasks.jsonl").unlink()
        (tmp_path / "train.jsonl").write_text(rows("train", in_title=8), "utf-8")
        (tmp_path / "val.jsonl").write_text(rows("val", in_body=6, nowhere=2), "utf-8")
        (tmp_path / "test.jsonl").write_text(rows("test", in_body=8), "utf-8")
        outcome = await train(config)

    assert outcome.state is EndState.ALL_REJECTED
    assert outcome.best_skill.text == SMALL.seed_skill()
    assert outcome.summary["test"]["best"]["shown"] == "8/8 (100.0 %)"
    first, *later = read_json(outcome.directory / "history.json")[1:]
    assert (first["action"], first["edits"]["applied"]) == ("reject", 1)
    assert first["train_acc"] == 0
    assert first["candidate_val_acc_upper_bound"] <= first["val_acc"] == 0.75
    assert {record["action"] for record in later} == {"skip_repeated"}
    tried = outcome.directory / "steps" / "step_0001"
    assert SURFACE_RULE in (tried / "candidate_skill.md").read_text("utf-8")
    (edit,) = read_json(tried / "edit_apply_report.json")
    assert (edit["status"], edit["content"]) == ("applied", f"- {SURFACE_RULE}")
    # The optimizer is told that it lost, and why.
    asked = [text_of(request) for request in models["optimizer"].requests]
    assert SURFACE_RULE not in asked[0]
    assert SURFACE_RULE in asked[-1]


async def test_a_score_of_the_shape_alone_is_warned_of_before_anything_is_trained_on_it(tmp_path: Path) -> None:
    """F27: whoever scores by a heading gets a skill that asks for the heading."""
    told: list[Event] = []
    shape = {"env.scorer": "pattern", "env.pattern": "## Results", "env.pattern_match": "search",
             "env.extraction": "whole", "train.num_epochs": 1}  # fmt: skip
    await train(write_run(tmp_path, settings=shape), subscribers=[told.append])
    kinds = [type(event) for event in told]
    (number,) = (
        number
        for number, event in enumerate(told)
        if isinstance(event, Warned) and "shape of an answer" in event.message
    )
    assert number < kinds.index(StageStarted)
