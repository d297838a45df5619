"""Vetting: edits that do not help even the tasks they were made for never reach the gate."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.support.bench import OpenBench, by_stage, rule, text_of
from tests.support.runs import read_json, views, write_run

from skillopt.api import train as train_from
from skillopt.simulation.records import plain
from skillopt.simulation.world import World
from skillopt.skill.edits import target_lines
from skillopt.step.citing import citation_request
from skillopt.step.replies import edits_schema
from skillopt.trainer import train

VET = {"evaluation.vet": 2}
ONE_STEP = {"train.num_epochs": 1}
SEED = f"{rule(4)}\n"
RIGHT = {"op": "append", "content": f"{rule(0)}\n{rule(5)}", "task_ids": ["t0"]}
HARMFUL = {"op": "replace", "target": rule(4), "content": rule(4, "wrong"), "task_ids": ["t1", "nonsense"]}
USELESS = {"edits": [{"op": "append", "content": "Be kind.", "task_ids": ["t0", "t1"]}]}
WORLD = World(3, rules=8, tasks=64)
WEAK = "&useful=0.4&useless=0.4&harmful=0.4&malformed=0.1"


async def test_a_harmful_edit_is_left_out_of_the_bundle_that_holds_the_right_one(open_bench: OpenBench) -> None:
    """Together they tie and are rejected; evaluation.vet takes the harmful one out and the right one wins."""
    actions: list[str] = []
    for settings in (ONE_STEP, ONE_STEP | VET):
        bench = open_bench(optimizer=by_stage(reflect={"edits": [RIGHT, HARMFUL]}), skill=SEED, settings={**settings})
        outcome = await train(bench)
        actions.append(bench.history[1]["action"])
    assert actions == ["reject", "accept_new_best"]
    assert outcome.best_skill.text == f"{rule(4)}\n\n{rule(0)}\n{rule(5)}\n"

    record = bench.history[1]
    assert (record["edits"]["vetted_out"], record["edits"]["applied"], record["edits_vetted"]) == (1, 1, 2)
    assert record["edit_apply_summary"] == {"total": 2, "applied": 1, "skipped": 1, "errors": 0}
    assert record["counters"] == {"unknown_task_ids": 1}
    assert (record["usage"]["target.vet"]["calls"], record["timing"].keys() & {"vet_s"}) == (2, {"vet_s"})
    kept, left_out = read_json(bench.directory / "steps" / "step_0001" / "edit_apply_report.json")
    assert (kept["status"], kept["vetting"]) == ("applied", {"task_ids": ["t0"], "before": 0.0, "after": 1.0})
    assert (left_out["status"], left_out["vetting"]) == (
        "vetted_out",
        {"task_ids": ["t1"], "before": 0.0, "after": 0.0},
    )


async def test_where_no_edit_is_left_there_is_nothing_to_gate(open_bench: OpenBench) -> None:
    bench = open_bench(optimizer=by_stage(reflect=USELESS), settings=ONE_STEP | VET)
    await train(bench)
    record = bench.history[1]
    assert record["action"] == "skip_no_change"
    assert record["reason"].startswith("no edit is left: alone on the tasks they came from, 1 did no better")
    assert (record["edits"]["vetted_out"], "target.gate" in record["usage"]) == (1, False)


async def test_what_was_vetted_out_is_drawn_again_and_shown_to_every_later_reflection(open_bench: OpenBench) -> None:
    bench = open_bench(
        optimizer=by_stage(reflect=USELESS), settings=VET | {"train.num_epochs": 2, "optimizer.redraw": 1}
    )
    await train(bench)
    prompts = [text_of(one) for one in bench.optimizer.requests if one.place.stage == "reflect"]
    told = 'append "Be kind." (tried in step 1): alone no better on 2 of its tasks: hard 0 against 0 without it'
    again = 'append "Be kind." (tried 2 times, last in step 1): alone no better on 2 of its tasks'
    assert [told in text for text in prompts] == [False, True, False, False]
    assert again in prompts[2]
    assert [[lost["action"] for lost in one["redraws"]] for one in bench.history[1:]] == [["skip_no_change"]] * 2


async def test_an_edit_that_a_merge_gave_no_sources_joins_unjudged(open_bench: OpenBench) -> None:
    def reflect(request: Any) -> dict[str, Any]:
        shown = [number for number in range(4) if f". t{number}\n" in text_of(request)]
        return {"edits": [{"op": "append", "content": rule(shown[0]), "task_ids": [f"t{shown[0]}"]}]}

    merge = {"edits": [{"op": "append", "content": f"Mind this: {rule(5)}"}]}
    bench = open_bench(
        optimizer=by_stage(reflect=reflect, aggregate=merge), settings={**ONE_STEP, **VET, "gradient.minibatch_size": 2}
    )
    await train(bench)
    assert (bench.history[1]["edits"]["vetted_out"], bench.history[1]["edits_vetted"]) == (0, 0)
    (edit,) = read_json(bench.directory / "steps" / "step_0001" / "edit_apply_report.json")
    assert sorted(edit["task_ids"]) == ["t0", "t1", "t2", "t3"]


async def test_only_then_are_analysts_asked_to_cite_and_nothing_else_changes(open_bench: OpenBench) -> None:
    asked = []
    for settings in (ONE_STEP, ONE_STEP | VET):
        bench = open_bench(optimizer=by_stage(reflect={"edits": []}), skill=SEED, settings={**settings})
        await train(bench)
        asked.append(bench.optimizer.requests[0])
    off, on = asked
    ids = [line.split(". ")[1] for line in text_of(off).splitlines() if line.startswith("### ") and ". t" in line]
    assert sorted(ids) == ["t0", "t1", "t2", "t3"]
    assert text_of(on) == text_of(off) + citation_request(ids)
    lines = target_lines(bench.seed_skill)
    assert off.schema == edits_schema(lines)
    assert on.schema == edits_schema(lines, task_ids=ids)


async def test_a_merged_edit_is_tried_on_the_tasks_of_all_that_it_stands_for(open_bench: OpenBench) -> None:
    def reflect(request: Any) -> dict[str, Any]:
        shown = [number for number in range(4) if f". t{number}\n" in text_of(request)]
        return {"edits": [{"op": "append", "content": rule(shown[0]), "task_ids": [f"t{shown[0]}"]}]}

    whole = "\n".join(rule(number) for number in range(4))
    merge = {"edits": [{"op": "append", "content": whole, "sources": [0, 1]}]}
    bench = open_bench(
        optimizer=by_stage(reflect=reflect, aggregate=merge),
        settings={**ONE_STEP, "evaluation.vet": 4, "gradient.minibatch_size": 2},
    )
    await train(bench)
    cited = {
        task
        for path in (bench.directory / "steps" / "step_0001" / "patches").iterdir()
        for edit in read_json(path)["edits"]
        for task in edit["task_ids"]
    }
    (edit,) = read_json(bench.directory / "steps" / "step_0001" / "edit_apply_report.json")
    assert len(cited) == 2
    assert (set(edit["vetting"]["task_ids"]), edit["vetting"]["after"]) == (cited, 2.0)


def replies(run: Path) -> int:
    with closing(sqlite3.connect(run / "evidence.sqlite")) as evidence:
        return evidence.execute("SELECT count(*) FROM replies").fetchone()[0]


async def test_with_a_weak_optimizer_no_useful_edit_is_vetted_out_and_a_second_start_pays_nothing(
    tmp_path: Path,
) -> None:
    """Of the edits from failures, all that state a rule stay, and advice and harm go."""
    identity = "&".join(f"{name}={value}" for name, value in WORLD.identity.items())
    settings = {
        **VET,
        "model.optimizer.name": f"simulated:optimizer?{identity}{WEAK}",
        "train.batch_size": 8,
        "optimizer.learning_rate": 4,
    }
    config = write_run(tmp_path, WORLD, settings=settings)
    outcome = await train_from(config)
    history = read_json(outcome.directory / "history.json")[1:]
    reports = [path for path in sorted(outcome.directory.rglob("edit_apply_report.json")) if "draw_" not in str(path)]
    rows = [row for path in reports for row in read_json(path)]
    assert sum(record["edits"]["vetted_out"] for record in history) == sum(
        row["status"] == "vetted_out" for row in rows
    )
    from_failures = [row for row in rows if row.get("vetting") and row["source_type"] == "failure"]
    states_a_rule = [any(each.sentence in plain(row["content"]) for each in WORLD.rules) for row in from_failures]
    kept = [row["status"] != "vetted_out" for row in from_failures]
    assert kept == states_a_rule
    assert {True, False} == set(kept)
    assert all(len(row["vetting"]["task_ids"]) <= 2 for row in from_failures)

    before, paid = views(outcome.directory), replies(outcome.directory)
    assert await train_from(config) == outcome
    assert (views(outcome.directory), replies(outcome.directory)) == (before, paid)
