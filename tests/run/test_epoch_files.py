"""The readable files of the stages between epochs; their contents in a run are shown in `tests/epoch`."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from tests.support.runs import read_json
from tests.support.values import rollout, unmeasured

from skillopt.config.evaluation_settings import EvaluationSettings
from skillopt.epoch.comparison import pair_up
from skillopt.results import LookBack, MetaSkill, SlowUpdate
from skillopt.run.epoch_files import write_meta_skill_files, write_slow_update_files
from skillopt.skill.document import Skill
from skillopt.types import Action, Comparison, Copy, Decision

PREVIOUS = (rollout(1, 1), rollout(2), unmeasured(3))
CURRENT = (rollout(1), rollout(2), rollout(3))
COMPARISON = Comparison("changed", PREVIOUS, CURRENT, pair_up(PREVIOUS, CURRENT, EvaluationSettings()))


def test_a_slow_update_can_be_read_whole(tmp_path: Path) -> None:
    decision = Decision(Action.REJECT, "lost", Fraction(0), rollouts=(rollout(4),), remeasured=(rollout(5),))
    result = SlowUpdate(
        2, COMPARISON, "why", "Be exact.", Skill.parse("# Candidate\n"), decision, (Copy("t1", "said"),)
    )
    write_slow_update_files(tmp_path, result, {"action": "reject"})
    assert read_json(tmp_path / "slow_result.json") == {
        "reasoning": "why",
        "slow_update_content": "Be exact.",
        "memorised": [{"task_id": "t1", "ngram": "said"}],
        "action": "reject",
    }
    assert (tmp_path / "candidate_skill.md").read_text("utf-8") == "# Candidate\n"
    for name, task in (("selection_eval", "t4"), ("selection_eval_again", "t5")):
        assert [row["id"] for row in read_json(tmp_path / name / "results.json")] == [task]
    pairs = read_json(tmp_path / "comparison_pairs.json")
    assert [(pair["id"], pair["category"], pair["shown"]) for pair in pairs] == [
        ("t1", "regressed", True),
        ("t2", "persistent_fail", False),
    ]
    assert (pairs[0]["prev"]["hard"], pairs[0]["curr"]["hard"]) == (1, 0)
    assert [row["status"] for row in read_json(tmp_path / "rollout_prev" / "results.json")] == ["ok", "ok", "error"]
    assert len(read_json(tmp_path / "rollout_curr" / "results.json")) == 3
    assert len(read_json(tmp_path / "selection_eval" / "results.json")) == 1


@pytest.mark.parametrize("own", [True, False])
def test_a_memory_can_be_read_whole_and_the_comparison_stands_in_one_place(tmp_path: Path, own: bool) -> None:
    result = MetaSkill(
        epoch=2,
        look_back=LookBack(Skill(), COMPARISON),
        own_rollouts=own,
        reasoning="why",
        content="too long",
        memory="too",
        action="updated",
        reason="",
    )
    write_meta_skill_files(tmp_path, result, {"action": "updated"})
    assert read_json(tmp_path / "meta_skill_result.json") == {
        "reasoning": "why",
        "meta_skill_content": "too long",
        "memory": "too",
        "action": "updated",
    }
    assert (tmp_path / "comparison_pairs.json").exists() is own


def test_what_was_not_gated_has_no_selection_files(tmp_path: Path) -> None:
    result = SlowUpdate(2, COMPARISON, "", "", Skill(), Decision(Action.NO_CONTENT, "nothing", Fraction(0)))
    write_slow_update_files(tmp_path, result, {})
    assert not (tmp_path / "selection_eval").exists()
