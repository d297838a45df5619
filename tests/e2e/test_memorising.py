"""A training whose optimizer copies tasks: allowed, shown or refused; and one whose skill grows towards its limit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.support.bench import Bench, OpenBench, appends, by_stage, text_of
from tests.support.runs import read_json

from skillopt.events import Warned
from skillopt.models.base import ChatRequest
from skillopt.run.plan import plan_warnings
from skillopt.skill.size import NEARLY_FULL, estimate_tokens
from skillopt.trainer import train

ONE_EPOCH = {"train.num_epochs": 1}
COPY = "word for word: please count the red boxes on shelf 2 of hall"


def row(_split: str, number: int) -> Mapping[str, Any]:
    hall = ("one", "two", "four", "six")[number % 4]
    question = f"Please count the red boxes on shelf {number} of hall {hall}."
    return {"id": f"t{number}", "question": question, "answer": f"there are {number} boxes"}


def lines(*contents: str) -> Any:
    """An optimizer that appends these in its first step, and after it notes that change nothing."""
    return by_stage(
        reflect=lambda request: appends(*contents) if request.place.step == 1 else appends(f"N {request.place.step}.")
    )


def helped(request: ChatRequest) -> str:
    """A target whom any line more helps, so that every candidate wins a task."""
    question, skill = request.messages[-1].content, text_of(replace(request, messages=request.messages[:-1]))
    number = int("".join(filter(str.isdigit, question)))
    solved = len([line for line in skill.splitlines() if line.strip()])
    return f"there are {number} boxes" if number - 4 < solved else "none"


async def with_copy(open_bench: OpenBench, **settings: Any) -> Bench:
    """A training of one step that proposes an edit which copies task t2, and one that copies nothing."""
    values = {**ONE_EPOCH, **{f"skill.{key}": value for key, value in settings.items()}}
    bench = open_bench(optimizer=lines(COPY, "Count."), target=helped, settings=values, row=row)
    await train(bench)
    return bench


@pytest.mark.parametrize("memorising", ["allow", "flag", "refuse"])
async def test_a_copied_task_is_let_in_shown_or_refused(open_bench: OpenBench, memorising: str) -> None:
    """skill.memorising."""
    bench = await with_copy(open_bench, memorising=memorising)
    (record,) = bench.history[1:]
    best = (bench.directory / "best_skill.md").read_text("utf-8")
    rows = read_json(bench.directory / "steps" / "step_0001" / "memorised.json")
    discarded = read_json(bench.directory / "steps" / "step_0001" / "merged_patch.json")["discarded"]
    passage = "please count the red boxes on shelf 2 of hall"
    assert record["action"] == "accept_new_best"
    assert (COPY in best) == (memorising != "refuse")
    if memorising == "allow":
        assert (rows, record["memorised_passages"], record["edits"]["memorised"]) == ([], 0, 0)
    elif memorising == "flag":
        assert rows == [{"edit": 0, "status": "applied", "task_id": "t2", "ngram": passage}]
        assert (record["memorised_passages"], record["edits"]["memorised"]) == (1, 0)
    else:
        assert rows == [{"edit": None, "status": "memorised", "task_id": "t2", "ngram": passage}]
        assert (record["memorised_passages"], record["edits"]["memorised"]) == (0, 1)
        assert [(one["status"], one["detail"]) for one in discarded] == [
            ("memorised", f'it copies "{passage}" from the training task t2')
        ]
    told = [text_of(request) for request in bench.optimizer.requests]
    assert any("Copy nothing from the tasks" in text for text in told) == (memorising == "refuse")


@pytest.mark.parametrize(("memorising_ngram", "refused"), [(10, 1), (11, 0)])
async def test_how_many_words_are_a_copy_is_a_setting(
    open_bench: OpenBench, memorising_ngram: int, refused: int
) -> None:
    bench = await with_copy(open_bench, memorising="refuse", memorising_ngram=memorising_ngram)
    assert bench.history[1]["edits"]["memorised"] == refused


async def test_every_edit_of_a_step_ends_in_exactly_one_state(open_bench: OpenBench) -> None:
    """F57: a refused one too."""
    bench = await with_copy(open_bench, memorising="refuse")
    (record,) = bench.history[1:]
    assert sum(record["edits"].values()) == record["n_edits_proposed"] == 2


@pytest.mark.parametrize("memorising", ["flag", "refuse"])
async def test_guidance_that_copies_a_task_is_shown_or_refused(open_bench: OpenBench, memorising: str) -> None:
    replies = by_stage(reflect={"edits": []}, slow_update={"slow_update_content": COPY})
    settings = {"train.num_epochs": 2, "skill.memorising": memorising}
    bench = open_bench(optimizer=replies, target=helped, settings=settings, row=row)
    await train(bench)
    record = bench.history[2]["slow_update"]
    told = read_json(bench.directory / "slow_update" / "epoch_02" / "slow_result.json")
    assert [one["task_id"] for one in told["memorised"]] == ["t2"]
    assert record["memorised_passages"] == 1
    if memorising == "refuse":
        assert (record["action"], record["counters"]["guidance_memorised"]) == ("no_content", 1)
        assert "from the training task t2, which skill.memorising refuses" in record["reason"]
    else:
        assert record["action"] == "accept_new_best"


async def test_a_repair_may_not_bring_in_what_is_refused(open_bench: OpenBench) -> None:
    lost = {"edits": [{"op": "replace", "target": "no such line", "content": "Count."}]}
    replies = by_stage(reflect=lost, update=appends(COPY))
    settings = {**ONE_EPOCH, "skill.memorising": "refuse"}
    bench = open_bench(optimizer=replies, target=helped, skill="# Skill\n", settings=settings, row=row)
    await train(bench)
    (record,) = bench.history[1:]
    assert (record["edits"]["unmatched"], record["counters"]["memorised_repairs"]) == (1, 1)
    assert record["action"] == "skip_no_change"


MOST = 25
GROWING = {"train.num_epochs": 4, "skill.max_tokens": MOST, "train.batch_size": 4}


def growing(request: ChatRequest) -> Any:
    """An optimizer that always appends."""
    return by_stage(reflect=appends(f"Rule {'abc'[request.place.step % 3]}{request.place.step} says so."))(request)


def warnings_of_size(bench: Bench) -> list[str]:
    return [one.message for one in bench.events if isinstance(one, Warned) and "skill.max_tokens" in one.message]


async def test_a_skill_that_grows_is_told_to_the_optimizer_and_warned_of_once(
    open_bench: OpenBench, tmp_path: Path
) -> None:
    """F66, F117, F118: the limit holds, and the record says for each epoch how the skill grew."""
    splits = {"train": range(4), "val": range(4, 12), "test": [13]}
    opened: dict[str, Any] = {"settings": GROWING, "row": row, "splits": splits, "evidence": tmp_path / "evidence"}
    bench = open_bench(optimizer=growing, target=helped, **opened)
    summary = (await train(bench)).summary
    sizes = [record["skill_tokens"] for record in bench.history]
    assert sizes == sorted(sizes) and sizes[0] == 0 and NEARLY_FULL * MOST < sizes[-1] <= MOST
    assert bench.history[-1]["edits"]["over_budget"] == 1
    ends = [(one["skill_tokens_at_epoch_end"], one["skill_tokens_growth"]) for one in summary["epoch_stats"]]
    assert ends == [(after, after - before) for before, after in pairwise(sizes)]
    (warning,) = warnings_of_size(bench)
    first = next(number for number, size in enumerate(sizes) if size > NEARLY_FULL * MOST)
    assert warning.startswith(f"after step {first}, the skill has about {sizes[first]} of at most {MOST} tokens")
    reflections = [text_of(one) for one in bench.optimizer.requests if one.place.stage == "reflect"]
    for before, text in zip(sizes, reflections, strict=False):
        assert f"The skill has about {before} tokens of at most {MOST}: {MOST - before} are left." in text
        assert ("That is little: shorten, replace or delete" in text) == (before > NEARLY_FULL * MOST)
    again = open_bench(optimizer=(), target=(), **opened)
    await train(again)
    assert warnings_of_size(again) == [warning]


@pytest.mark.parametrize(("most", "told"), [(40, "of at most 40 tokens"), (30, "above skill.max_tokens 30")])
async def test_a_seed_skill_that_is_large_already_may_still_be_made_smaller(
    open_bench: OpenBench, most: int, told: str
) -> None:
    """Warned of in the plan, which is shown by `check` and by the start of a run; not again while it trains."""
    seed = "\n\n".join(f"Rule {number} says a thing." for number in range(5)) + "\n"
    assert NEARLY_FULL * 40 < estimate_tokens(seed) <= 40
    shrink = {"edits": [{"op": "delete", "target": "Rule 3 says a thing."}, {"op": "append", "content": "More of it."}]}
    settings = {**ONE_EPOCH, "skill.max_tokens": most, "evaluation.use_gate": False}
    bench = open_bench(optimizer=by_stage(reflect=shrink), target=helped, skill=seed, settings=settings, row=row)
    await train(bench)
    assert warnings_of_size(bench) == []
    assert any(told in text for text in plan_warnings(bench.setup))
    assert bench.history[1]["edits"]["applied"] == (2 if most == 40 else 1)
    assert bench.history[1]["skill_tokens"] < estimate_tokens(seed)
