"""Every update mode, budget and accumulation in whole trainings over the simulated models."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.support.bench import OpenBench, appends, by_stage, rule, text_of
from tests.support.runs import read_json, views, write_run

from skillopt.api import train as train_from
from skillopt.models.base import ChatRequest
from skillopt.run.outcome import EndState
from skillopt.simulation.world import World
from skillopt.skill.document import Skill
from skillopt.trainer import train

EXAMPLE = Path(__file__).parents[2] / "examples" / "simulated" / "config.yaml"
SHORT = ("train.num_epochs=1", "evaluation.eval_test=false")
WORLD = World(7, rules=6, tasks=48)
APPENDIX = "<!-- APPENDIX_START -->\nNever  touch this. \n<!-- APPENDIX_END -->"
SUGGESTIONS = {"optimizer.skill_update_mode": "rewrite_from_suggestions"}
WHOLE = {"optimizer.skill_update_mode": "full_rewrite_minibatch"}
MODES: Mapping[str, dict[str, Any]] = {
    "patch": {"optimizer.skill_update_mode": "patch"},
    "suggestions": SUGGESTIONS,
    "whole": WHOLE,
    "autonomous": {"optimizer.lr_control_mode": "autonomous"},
    "autonomous schedule": {"optimizer.lr_scheduler": "autonomous"},
    "none": {"optimizer.lr_control_mode": "none"},
    "accumulation": {"train.accumulation": 2},
    "suggestions, autonomous, accumulation": {
        **SUGGESTIONS,
        "optimizer.lr_control_mode": "autonomous",
        "train.accumulation": 2,
    },
    "suggestions, none": {**SUGGESTIONS, "optimizer.lr_control_mode": "none"},
    "whole, accumulation, redraw": {**WHOLE, "train.accumulation": 2, "optimizer.redraw": 1},
}


def write(directory: Path, settings: Mapping[str, Any]) -> Path:
    """A run whose seed has front matter, an appendix in the middle and a slow update's section to come."""
    config = write_run(directory, WORLD, settings={"train.num_epochs": 3, "train.batch_size": 6, **settings})
    seed = WORLD.seed_skill()
    (directory / "seed_skill.md").write_text(seed.replace("# House records\n", f"# House records\n\n{APPENDIX}\n"))
    return config


@pytest.mark.parametrize("settings", MODES.values(), ids=MODES)
async def test_each_mode_trains_a_better_skill_keeps_what_is_protected_and_is_replayed_for_nothing(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    """F55, F61, F63: every mode in a real training; a second start pays nothing and writes the same bytes."""
    config = write(tmp_path, settings)
    outcome = await train_from(config)
    assert outcome.state is EndState.IMPROVED
    seed = Skill.load(tmp_path / "seed_skill.md")
    assert WORLD.true_score(outcome.best_skill.text) > WORLD.true_score(seed.text)
    for path in (*outcome.directory.glob("skills/*.md"), *outcome.directory.glob("steps/*/candidate_skill.md")):
        skill = Skill.load(path)
        assert skill.front_matter == seed.front_matter
        assert skill.text.count(APPENDIX) == 1
        assert {section.name for section in skill.sections} <= {"APPENDIX", "SLOW_UPDATE"}
    first = views(outcome.directory)
    assert views((await train_from(config)).directory) == first
    events = [json.loads(line) for line in (outcome.directory / "events.jsonl").read_text("utf-8").splitlines()]
    spent = [event for event in events if event["event"] == "Spent"]
    assert set(spent[-1]["paid_calls"].values()) == {0}


@pytest.mark.parametrize("name", ["suggestions", "whole", "autonomous", "none", "accumulation"])
async def test_the_example_trains_in_every_mode(tmp_path: Path, name: str) -> None:
    """The command of the quick start with one setting more."""
    settings = [f"{key}={value}" for key, value in MODES[name].items()]
    outcome = await train_from(EXAMPLE, [*settings, *SHORT, f"env.out_root={tmp_path / 'run'}"])
    assert outcome.state is EndState.IMPROVED


# Whole rewrites


def rewrite(text: str, *changes: str) -> dict[str, Any]:
    return {"reasoning": "why", "change_summary": list(changes), "new_skill": text}


SEED = f"---\nname: s\n---\n\n# Skill\n\n{APPENDIX}\n"
GOOD = f"# Skill\n\n{rule(4)}\n"
HOSTILE: Mapping[str, tuple[str, str]] = {
    "drops front matter": (GOOD, "accept_new_best"),
    "alters front matter": (f"---\nname: other\n---\n{GOOD}", "accept_new_best"),
    "alters the section": (f"{SEED.replace('Never', 'Always')}\n{rule(4)}\n", "accept_new_best"),
    "adds a section": (f"{GOOD}\n<!-- SLOW_UPDATE_START -->\nObey.\n<!-- SLOW_UPDATE_END -->\n", "accept_new_best"),
    "adds half a section": (f"{GOOD}\n<!-- SLOW_UPDATE_START -->\nObey.\n", "skip_no_rewrite"),
    "exceeds the limit": (f"{GOOD}\n{'word ' * 500}", "skip_no_rewrite"),
    "holds NUL": (f"{GOOD}\0", "skip_no_rewrite"),
    "copies the skill": (SEED, "skip_no_change"),
    "is not better": ("# Skill\n\nBe brief.\n", "reject"),
}


@pytest.mark.parametrize("mode", [SUGGESTIONS, WHOLE], ids=["suggestions", "whole"])
@pytest.mark.parametrize(("text", "action"), HOSTILE.values(), ids=HOSTILE)
async def test_whatever_a_rewrite_does_front_matter_and_sections_stay(
    open_bench: OpenBench, mode: dict[str, Any], text: str, action: str
) -> None:
    """F51, F61, F63, F64, F117: in code, whatever the reply did with them."""
    reply = json.dumps(rewrite(text, "said"))  # with its escapes, as a model would write them
    replies = by_stage(reflect=reply, update=reply) if mode is WHOLE else by_stage(reflect=appends("x"), update=reply)
    settings = {"train.num_epochs": 1, "skill.max_tokens": 200, **mode}
    bench = open_bench(optimizer=replies, skill=SEED, settings=settings)
    outcome = await train(bench)
    (record,) = bench.history[1:]
    assert record["action"] == action
    candidate = Skill.load(bench.directory / "steps" / "step_0001" / "candidate_skill.md")
    assert candidate.front_matter == "---\nname: s\n---\n"
    assert [candidate.text[one.span.start : one.span.end] for one in candidate.sections] == [APPENDIX]
    assert (rule(4) in outcome.best_skill.text) == (action == "accept_new_best")
    (result,) = read_json(bench.directory / "steps" / "step_0001" / "rewrite_result.json")
    assert (result["new_skill"], result["status"]) == (text, record["rewrites"][0]["status"])
    taken = action in ("accept_new_best", "reject")
    assert record["rewrite_change_summary"] == (["said"] if taken else None)
    assert record["reason"].startswith("there is no rewrite that can be used") == (action == "skip_no_rewrite")


@pytest.mark.parametrize(("new_skill", "mode", "action"), [
    ("", SUGGESTIONS, "skip_no_rewrite"),
    (" \n", SUGGESTIONS, "skip_no_rewrite"),
    ("", WHOLE, "skip_no_patches"),
])  # fmt: skip
async def test_an_emptied_skill_is_no_candidate(
    open_bench: OpenBench, new_skill: str, mode: dict[str, Any], action: str
) -> None:
    """F51, F53: for a reflection it means that there is nothing to change."""
    reply = rewrite(new_skill)
    replies = by_stage(reflect=reply if mode is WHOLE else appends("x"), update=reply)
    bench = open_bench(optimizer=replies, skill=SEED, settings={"train.num_epochs": 1, **mode})
    outcome = await train(bench)
    assert ([one["action"] for one in bench.history[1:]], outcome.state) == ([action], EndState.NO_CANDIDATES)
    assert outcome.best_skill.text == SEED


async def test_a_rejected_rewrite_is_remembered_by_its_summary_and_not_tried_again(open_bench: OpenBench) -> None:
    """F89, F90: the same text, in other spacing, is known to lose on the same skill."""
    spacings = iter(("# S\n\nBe brief.\n", "# S\n\n\nBe  brief.\n", "# S\nbe other\n"))
    replies = by_stage(reflect=lambda _: rewrite(next(spacings), "made it brief"))
    bench = open_bench(optimizer=replies, settings={"train.num_epochs": 3, "gradient.failure_only": True, **WHOLE})
    await train(bench)
    assert [one["action"] for one in bench.history[1:]] == ["reject", "skip_repeated", "reject"]
    assert "the same rewrite lost on the same skill in step 1" in bench.history[2]["reason"]
    second = [one for one in bench.optimizer.requests if one.place.step == 2 and one.place.stage == "reflect"]
    digest = '- rewrite of the whole skill: "made it brief" (tried in step 1): '
    assert all(digest in text_of(one) for one in second)


async def test_a_draw_that_lost_keeps_its_rewrite_beside_it(open_bench: OpenBench) -> None:
    texts = iter(("# Worse", f"# Better\n\n{rule(4)}"))
    settings = {"train.num_epochs": 1, "optimizer.redraw": 1, **WHOLE}
    bench = open_bench(optimizer=by_stage(reflect=lambda _: rewrite(next(texts), "said")), settings=settings)
    await train(bench)
    assert [one["action"] for one in bench.history[1:]] == ["accept_new_best"]
    step = bench.directory / "steps" / "step_0001"
    found = [read_json(place / "rewrite_result.json")[0]["new_skill"] for place in (step / "draw_01", step)]
    assert found == ["# Worse", f"# Better\n\n{rule(4)}"]


async def test_skill_update_mode_decides_what_makes_the_candidate(open_bench: OpenBench) -> None:
    """The same edits applied, suggested, or never asked for."""
    replies = by_stage(
        reflect=lambda request: rewrite("# Whole") if "new_skill" in str(request.schema) else appends("An edit."),
        update=rewrite("# Rewritten"),
    )
    made: dict[str, Any] = {}
    for mode in ("patch", "rewrite_from_suggestions", "full_rewrite_minibatch"):
        settings = {"train.num_epochs": 1, "evaluation.use_gate": False, "optimizer.skill_update_mode": mode}
        bench = open_bench(optimizer=replies, settings=settings)
        await train(bench)
        (record,) = bench.history[1:]
        candidate = (bench.directory / "steps" / "step_0001" / "candidate_skill.md").read_text("utf-8")
        ends = {state for state, count in record["edits"].items() if count}
        made[record["skill_update_mode"]] = (candidate, ends, record["edit_budget"])
    assert made == {
        "patch": ("An edit.\n", {"applied"}, 4),
        "rewrite_from_suggestions": ("# Rewritten\n", {"suggested"}, 4),
        "full_rewrite_minibatch": ("# Whole\n", set(), None),
    }


# Budgets


UNION: dict[str, Any] = {"edits": [{"op": "append", "content": f"Merged {n}.", "sources": [n]} for n in range(6)]}


@pytest.mark.parametrize(
    ("settings", "applied", "budget"),
    [
        ({"optimizer.lr_control_mode": "fixed"}, 3, 3),
        ({"optimizer.lr_control_mode": "autonomous"}, 5, 5),
        ({"optimizer.lr_scheduler": "autonomous"}, 5, 5),
        ({"optimizer.lr_control_mode": "none"}, 6, None),
    ],
)
async def test_lr_control_mode_decides_who_clips_the_step(
    open_bench: OpenBench, settings: dict[str, Any], applied: int, budget: int | None
) -> None:
    replies = by_stage(
        reflect=lambda request: appends(*(f"Rule {n} of {request.place.index}." for n in ("one", "two", "three"))),
        aggregate=UNION,
        budget={"reasoning": "all but one", "learning_rate": 5},
        select={"selected_indices": [5, 4, 3, 2, 1, 0]},
    )
    fixed = {"train.num_epochs": 1, "optimizer.learning_rate": 3, "optimizer.min_learning_rate": 3}
    bench = open_bench(optimizer=replies, settings={**fixed, "gradient.minibatch_size": 2, **settings})
    await train(bench)
    (record,) = bench.history[1:]
    assert (record["edits"]["applied"], record["edit_budget"]) == (applied, budget)
    asked = [one.place.stage for one in bench.optimizer.requests if one.place.step]
    named = budget == 5
    assert (asked.count("budget"), asked.count("select")) == (named, budget is not None)
    numbers = {"budget": 5, "proposed": 5, "scheduled": 3, "available": 6}
    decision = {**numbers, "fallback": False, "reasoning": "all but one"}
    assert record["lr_decision"] == (decision if named else None)
    assert record["lr_control_mode"] == ("autonomous" if named else settings["optimizer.lr_control_mode"])
    file = bench.directory / "steps" / "step_0001" / "lr_decision.json"
    assert (read_json(file) if file.exists() else None) == record["lr_decision"]


async def test_without_clipping_no_schedule_decays(open_bench: OpenBench) -> None:
    settings = {"train.batch_size": 2, "optimizer.learning_rate": 8, "optimizer.lr_control_mode": "none"}
    bench = open_bench(optimizer=by_stage(reflect={"edits": []}), settings={"train.num_epochs": 2, **settings})
    await train(bench)
    assert len(bench.optimizer.requests) >= 4
    assert all("at most 8 edits" in text_of(one) for one in bench.optimizer.requests if one.place.stage == "reflect")


async def test_a_named_budget_of_zero_makes_no_candidate(open_bench: OpenBench) -> None:
    """More 9: an explicit zero is obeyed."""
    replies = by_stage(reflect=appends("x"), budget={"learning_rate": 0})
    settings = {"train.num_epochs": 1, "optimizer.lr_control_mode": "autonomous"}
    bench = open_bench(optimizer=replies, settings=settings)
    assert (await train(bench)).state is EndState.NO_CANDIDATES
    (record,) = bench.history[1:]
    assert (record["action"], record["edits"]["over_budget"]) == ("skip_no_patches", 1)


# Accumulation


async def test_accumulation_reads_several_batches_a_step(open_bench: OpenBench) -> None:
    """Batches of two, three to a step: seven tasks make four batches and two steps; no minibatch mixes batches."""
    settings = {"train.num_epochs": 2, "train.batch_size": 2, "train.accumulation": 3}
    splits = {"train": range(7), "val": [7, 8], "test": [9]}
    bench = open_bench(optimizer=by_stage(reflect={"edits": []}), settings=settings, splits=splits, skill=rule(0))
    await train(bench)
    steps = bench.history[1:]
    places = [(one["epoch"], one["step_in_epoch"], one["rollout_n"]) for one in steps]
    assert places == [(1, 0, 6), (1, 1, 1), (2, 0, 6), (2, 1, 1)]
    settings["train.accumulation"] = 1
    alone = open_bench(optimizer=by_stage(reflect={"edits": []}), settings=settings, splits=splits, skill=rule(0))
    await train(alone)
    batches = [batch for one in steps for batch in one["accumulation_batches"]]
    assert [batch["batch_idx"] for batch in batches] == [0, 1, 2, 3] * 2
    assert batches == [batch for one in alone.history[1:] for batch in one["accumulation_batches"]]
    assert sum(batch["hard"] * batch["n_envs"] for batch in batches) == 2
    together, apart = ([tasks_shown(request) for request in one.optimizer.requests] for one in (bench, alone))
    assert sorted(together) == sorted(apart)


def tasks_shown(request: ChatRequest) -> list[str]:
    return sorted(f"t{number}" for number in range(7) if f". t{number}\n" in text_of(request))
