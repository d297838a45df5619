"""Nothing of a selection or test task ever reaches the optimizer, and nothing of its memory ever reaches a skill.

Every question, answer, category, id and word of feedback of such a task holds a mark, and so do the words of an
acceptance rule that speaks of them. Whatever the optimizer is asked, over all stages and settings, is searched for it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.support.bench import Bench, OpenBench, by_stage, text_of

from skillopt.models.base import ChatRequest
from skillopt.simulation.optimizer import merged
from skillopt.simulation.reading import shown_edits
from skillopt.trainer import train

MARK = "held-out"
MEMORY = "Short edits helped, remembers the memory"

ENVIRONMENT = """
from skillopt.environments.base import Environment, Presentation
from skillopt.types import Message, Score


class Marked(Environment):
    name = "marked"

    def present(self, task):
        return Presentation((Message("user", task.fields["question"]),))

    def score(self, task, trajectory):
        said, answer = trajectory.output, task.fields["answer"]
        solved = int(said == answer)
        feedback = f"{task.id} ({task.category}) expects {answer} and got {said}"
        return Score(solved, float(solved), feedback, predicted=said, expected=answer, note=f"note on {answer}")
"""
RULE = """
def telling(comparison):
    words = " ".join(f"{pair.task_id} {pair.category}" for pair in comparison.pairs)
    return comparison.after > comparison.before, f"{words}; broken: {comparison.broken}"
"""


def marked_row(split: str, number: int) -> Mapping[str, Any]:
    """A task whose every text says which split it is of."""
    word = "shown" if split == "train" else f"{MARK}-{split}"
    texts = {name: f"{word} {name} <{number}>" for name in ("question", "answer", "category")}
    return {"id": f"{word}-{number}", **texts}


def solve(request: ChatRequest) -> str:
    """Answer what the skill has a line for, `solve <N>`; each answer holds its task's mark."""
    question = request.messages[-1].content
    (line,) = re.findall(r"<\d+>", question)
    known = f"solve {line}" in request.messages[0].content
    return question.replace("question", "answer") if known else f"I do not know: {question}"


def propose(request: ChatRequest) -> dict[str, Any]:
    """Edits that win two tasks and break one, that win one, that miss their target, and that do nothing."""
    step, index = request.place.step, request.place.index % 100
    trade = [
        {"op": "delete", "target": "solve <8>"},
        {"op": "append", "content": f"solve <{6 + index % 2}>\nsolve <10>\nsolve <11>"},
    ]
    gain = [{"op": "append", "content": "solve <9>"}, {"op": "append", "content": f"Note {step} {index}."}]
    lost = [{"op": "replace", "target": "no such line", "content": f"Try {step} {index}."}]
    cited = {"task_ids": [f"shown-{number}" for number in range(6)]}
    return {"reasoning": "scripted", "edits": [{**edit, **cited} for edit in (trade, lost, gain, trade)[step % 4]]}


def optimizer(request: ChatRequest) -> Any:
    """Say something at every stage."""
    step = request.place.step
    return by_stage(
        reflect=propose,
        aggregate=lambda one: merged(shown_edits(text_of(one))),
        select={"selected_indices": [0, 1]},
        update={"edits": [{"op": "append", "content": f"Mended {step}."}]},
        slow_update={"slow_update_content": f"Take care, {step}."},
        meta_skill={"meta_skill_content": f"{MEMORY} of step {step}."},
    )(request)


ALL = {
    "train.num_epochs": 4,
    "train.batch_size": 3,
    "gradient.minibatch_size": 1,
    "optimizer.learning_rate": 2,
    "optimizer.lr_scheduler": "constant",
    "optimizer.redraw": 2,
    "evaluation.eval_test": True,
}
KINDS: dict[str, dict[str, Any]] = {
    "strict": {},
    "regressions": {"evaluation.max_regressions": 0},
    "confidence": {"evaluation.confidence": 0.6},
    "noise": {
        "evaluation.repeats": 2,
        "evaluation.remeasure": True,
        "evaluation.final_repeats": 2,
        "evaluation.reselect": 3,
    },
    "no gate": {
        "evaluation.use_gate": False,
        "optimizer.redraw": 0,
        "optimizer.slow_update_gate_with_selection": False,
    },
    "rule": {"evaluation.acceptance": "telling.py:telling"},
    "vetting": {"evaluation.vet": 2},
    "refused copies": {"skill.memorising": "refuse", "skill.max_tokens": 90},
    "changed": {"optimizer.longitudinal_pair_policy": "changed", "optimizer.slow_update_samples": 2},
}


async def trained(open_bench: OpenBench, directory: Path, kind: str) -> Bench:
    """A whole training of a kind over the marked tasks."""
    (directory / "marked.py").write_text(ENVIRONMENT, "utf-8")
    (directory / "telling.py").write_text(RULE, "utf-8")
    settings = {**ALL, **KINDS[kind], "env.name": str(directory / "marked.py")}
    if "evaluation.acceptance" in settings:
        settings["evaluation.acceptance"] = f"{directory / 'telling.py'}:telling"
    bench = open_bench(
        optimizer=optimizer,
        target=solve,
        skill="# Skill\n\nsolve <0>\n\nsolve <8>\n",
        splits={"train": range(6), "val": range(6, 12), "test": range(12, 14)},
        settings=settings,
        row=marked_row,
    )
    await train(bench)
    return bench


def asked(request: ChatRequest) -> str:
    """All that a request holds, the form of its reply too."""
    form = "" if request.schema is None else json.dumps(request.schema.schema, ensure_ascii=False)
    return f"{text_of(request)}\n{form}"


@pytest.mark.parametrize("kind", KINDS)
async def test_the_optimizer_gets_nothing_of_held_out_tasks_and_the_skill_nothing_of_its_memory(
    open_bench: OpenBench, tmp_path: Path, kind: str
) -> None:
    bench = await trained(open_bench, tmp_path, kind)
    stages = {request.place.stage for request in bench.optimizer.requests}
    assert {"reflect", "aggregate", "slow_update", "meta_skill"} <= stages
    leaks = [(request.place, asked(request)) for request in bench.optimizer.requests if MARK in asked(request)]
    assert leaks == []
    # The marks were there to be found: the target was asked them, and a training task's own words do arrive.
    assert any(f"{MARK}-test" in text_of(request) for request in bench.target.requests)
    assert any("shown answer <1>" in asked(request) for request in bench.optimizer.requests)

    assert any(MEMORY in text_of(request) for request in bench.optimizer.requests)
    skills = [path for path in bench.directory.rglob("*.md") if "skill" in path.name]
    assert {"best_skill.md", "candidate_skill.md", "skill_v0001.md"} <= {path.name for path in skills}
    assert [path for path in skills if MEMORY in path.read_text("utf-8") or MARK in path.read_text("utf-8")] == []
    assert [request.place for request in bench.target.requests if MEMORY in text_of(request)] == []
    memories = [path.read_text("utf-8") for path in bench.directory.rglob("meta_skill_result.json")]
    assert memories and not any(MARK in json.loads(text)["memory"] for text in memories)


async def test_the_search_covers_every_stage_rejections_with_broken_tasks_and_repairs(
    open_bench: OpenBench, tmp_path: Path
) -> None:
    bench = await trained(open_bench, tmp_path, "regressions")
    stages = {request.place.stage for request in bench.optimizer.requests}
    assert stages == {"reflect", "aggregate", "select", "update", "slow_update", "meta_skill"}
    records = [one for record in bench.history[1:] for one in (record, *record["redraws"])]
    told = [record["reason"] for record in records if f"{MARK}-val-8" in record.get("broken", ())]
    assert any(f"1 solved task broke ({MARK}-val-8)" in reason for reason in told), "people are told which"
    prompts = [text_of(request) for request in bench.optimizer.requests]
    assert any("1 solved task broke, and at most 0 may" in text for text in prompts), "the optimizer, how many"
    assert any("1 task got worse" in text for text in prompts)


async def test_what_a_rule_of_ones_own_says_of_tasks_is_told_to_people_alone(
    open_bench: OpenBench, tmp_path: Path
) -> None:
    bench = await trained(open_bench, tmp_path, "rule")
    assert any(f"{MARK}-val category" in record["reason"] for record in bench.history[1:])
    prompts = [text_of(request) for request in bench.optimizer.requests]
    assert any("telling: not accepted: hard" in text for text in prompts)
    assert any("telling: accepted: hard" in text for text in prompts)
