"""Tasks with several criteria: the gate decides on one of them and guards the others, from the scorer to the files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.bench import OpenBench, appends, by_stage, look_up, rule, text_of
from tests.support.runs import read_json, views

from skillopt.config.load import load_config
from skillopt.errors import ConfigError, EnvironmentLoadError
from skillopt.models.base import ChatRequest
from skillopt.run.setup import prepare
from skillopt.trainer import train
from skillopt.types import Score, Task, Trajectory

EXAMPLE = Path(__file__).parents[2] / "examples" / "two_criteria"
ENVIRONMENT = {"env.name": str(EXAMPLE / "right_and_short.py"), "env.most_words": 2, "train.num_epochs": 1}
"""The example: a reply is `right` where it holds the answer, and `short` up to two words."""
RAMBLE = "Ramble."


def talk(request: ChatRequest) -> str:
    """Look up the skill, and say three words too many wherever the skill asks for it."""
    return look_up(request) + (" so to say" if RAMBLE in text_of(request) else "")


@pytest.mark.parametrize(("criterion", "action"), [(None, "reject"), ("right", "accept_new_best")])
async def test_a_criterion_that_gets_better_is_no_tie_where_another_one_stays_bad(
    open_bench: OpenBench, criterion: str | None, action: str
) -> None:
    """F24, evaluation.criterion: the candidate is right twice more; each reply stays too long, so none is solved."""
    bench = open_bench(
        optimizer=by_stage(reflect=appends(rule(4), rule(5))),
        target=talk,
        skill=f"{RAMBLE}\n",
        settings={**ENVIRONMENT, "evaluation.criterion": criterion},
    )
    outcome = await train(bench)
    baseline, step = bench.history
    assert step["action"] == action
    assert baseline["criteria"] == {"right": 0.0, "short": 0.5}
    assert step["candidate_val_acc"] in (0.0, None)
    if criterion is not None:
        assert (step["gate_metric"], step["candidate_gate_score"]) == ("criterion right", 0.5)
        assert step["candidate_criteria"] == step["criteria"] == {"right": 0.5, "short": 0.5}
        assert step["reason"].startswith("strictly higher: criterion right 2/4 (50.0 %) against 0/4 (0.0 %)")
        assert outcome.summary["best_gate_score"] == 0.5


@pytest.mark.parametrize(("guards", "action"), [({}, "accept_new_best"), ({"short": 0.6}, "accept_new_best"),
                                                ({"short": 0.59}, "reject")])  # fmt: skip
async def test_a_guarded_criterion_may_fall_by_so_much_and_no_more(
    open_bench: OpenBench, guards: dict[str, float], action: str
) -> None:
    """F24, evaluation.guards: right goes up by a half, and the replies get too long: two words of five are 0.4."""
    settings = {**ENVIRONMENT, "evaluation.criterion": "right", "evaluation.guards": guards}

    def talk_more(request: ChatRequest) -> str:
        return look_up(request) + (" you may well say" if RAMBLE in text_of(request) else "")

    edits = by_stage(reflect=appends(rule(4), rule(5), RAMBLE))
    bench = open_bench(optimizer=edits, target=talk_more, settings=settings)
    await train(bench)
    (step,) = bench.history[1:]
    assert (step["action"], step["candidate_criteria"]) == (action, {"right": 0.5, "short": 0.4})
    if action == "reject":
        assert step["reason"].startswith(
            "strictly higher, but criterion short fell by 60.0 points, from 100.0 % to 40.0 %, "
            "and at most 59 points are allowed: criterion right 2/4"
        )
        assert step["criteria"] == {"right": 0.0, "short": 1.0}


async def test_guidance_is_guarded_like_edits_and_not_where_it_is_applied_unconditionally(
    open_bench: OpenBench,
) -> None:
    for gated, action in ((True, "reject"), (False, "force_accept")):
        settings = {
            **ENVIRONMENT,
            "train.num_epochs": 2,
            "evaluation.criterion": "right",
            "evaluation.guards": {"short": 0.0},
            "optimizer.slow_update_gate_with_selection": gated,
        }
        guidance = {"slow_update_content": f"{rule(4)}\n{RAMBLE}"}
        bench = open_bench(
            optimizer=by_stage(reflect={"edits": []}, slow_update=guidance), target=talk, settings=settings
        )
        await train(bench)
        assert bench.history[-1]["slow_update"]["action"] == action


@pytest.mark.parametrize(
    "settings", [{"evaluation.criterion": "rigth"}, {"evaluation.guards": {"rigth": 0.1}}], ids=["criterion", "guards"]
)
async def test_a_name_that_no_score_has_is_told_at_the_baseline_with_the_names_there_are(
    open_bench: OpenBench, settings: dict[str, Any]
) -> None:
    bench = open_bench(settings={**ENVIRONMENT, **settings})
    with pytest.raises(EnvironmentLoadError, match="baseline: task t4: the score has no criterion 'rigth'") as told:
        await train(bench)
    assert "the criteria there are: 'right', 'short'" in told.value.message
    assert "evaluation.criterion or evaluation.guards" in told.value.hint
    assert bench.optimizer.requests == []


async def test_an_environment_without_criteria_says_so(open_bench: OpenBench) -> None:
    bench = open_bench(settings={"evaluation.criterion": "right"})
    with pytest.raises(EnvironmentLoadError, match="the criteria there are: none"):
        await train(bench)


async def test_the_gate_stops_early_by_the_deciding_criterion_alone(open_bench: OpenBench) -> None:
    """Of four tasks three are right and must stay so; the replies of the candidate are as short as can be."""
    lost = {"edits": [{"op": "replace", "target": "\n".join(map(rule, (4, 5, 6))), "content": "Be brief."}]}
    settings = {
        **ENVIRONMENT,
        "evaluation.criterion": "right",
        "evaluation.gate_block": 1,
        "evaluation.guards": {"short": 0.0},
    }
    skill = "\n".join([*map(rule, (4, 5, 6)), ""])
    bench = open_bench(optimizer=by_stage(reflect=lost), target=talk, skill=skill, settings=settings)
    await train(bench)
    (step,) = bench.history[1:]
    assert (step["action"], step["selection_n"], step["candidate_criteria"]) == ("reject", 1, None)
    assert step["reason"].startswith("at most 3/4 (75.0 %) was still possible, not above 3/4")


async def test_criteria_are_evidence_and_a_second_start_asks_nobody(open_bench: OpenBench, tmp_path: Path) -> None:
    settings = {**ENVIRONMENT, "evaluation.criterion": "right", "evaluation.guards": {"short": 0.9}}
    edits, evidence = by_stage(reflect=appends(rule(4), RAMBLE)), tmp_path / "evidence.sqlite"
    bench = open_bench(optimizer=edits, target=talk, settings=settings, evidence=evidence)
    await train(bench)
    first = views(bench.directory)
    rows = read_json(bench.directory / "steps" / "step_0001" / "selection_eval" / "results.json")
    assert {row["id"]: row["criteria"] for row in rows}["t4"] == {"right": 1.0, "short": 0.5}
    pages = "".join(path.read_text("utf-8") for path in bench.directory.glob("steps/*/selection_eval/trajectories/*"))
    assert "right 1.000, short 0.500" in pages
    again = open_bench(optimizer=(), target=(), settings=settings, evidence=evidence)
    await train(again)
    assert views(again.directory) == first
    asked = "".join(text_of(request) for request in bench.optimizer.requests)
    assert "Criteria: right 0.00, short 1.00." in asked


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"criterion": "right", "gate_metric": "soft"}, "compared in place of the score"),
        ({"criterion": "right", "guards": {"right": 0.1}}, "right is the criterion that must get higher"),
        ({"guards": {"short": 0.1}, "acceptance": "rule.py:rule"}, "acceptance decides alone; leave out guards"),
        ({"guards": {"short": 0.1}, "use_gate": False}, "leave out guards"),
        ({"guards": {"short": 1.5}}, "at most 1"),
    ],
)
def test_what_cannot_go_together_is_one_clear_error(open_bench: OpenBench, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        open_bench(settings={f"evaluation.{key}": value for key, value in settings.items()})


def test_the_example_loads_and_scores_both_criteria(tmp_path: Path) -> None:
    setup = prepare(load_config(EXAMPLE / "config.yaml", [f"env.out_root={tmp_path}"]))
    counts = tuple(len(split) for split in (setup.splits.train, setup.splits.val, setup.splits.test))
    assert counts == (10, 5, 5)
    assert setup.config.evaluation.criteria == ("right", "short")

    def score(reply: str) -> Score:
        return setup.environment.score(Task("1", {"question": "?", "answer": "Oslo"}), Trajectory((), reply))

    assert dict(score("Oslo.").criteria) == {"right": 1.0, "short": 1.0}
    assert dict(score("Osloer").criteria) == {"right": 0.0, "short": 1.0}
    assert dict(score("The capital city of Norway has for a long time been called Oslo or Kristiania").criteria) == {
        "right": 1.0,
        "short": 8 / 15,
    }
    assert dict(score("").criteria) == {"right": 0.0, "short": 0.0}
