"""What is known of a run while it goes, in a few words."""

from __future__ import annotations

import pytest
from tests.support.records import committed, spent, started

from skillopt.events import StageStarted
from skillopt.report.live import follow, follow_all
from skillopt.report.live_state import NOTHING, LimitUse, Stage
from skillopt.report.live_words import (
    count_words,
    in_words,
    limit_words,
    outcome_words,
    pace_words,
    percent,
    place_words,
    said,
    score_words,
    spent_words,
)
from skillopt.types import Action


@pytest.mark.parametrize(("value", "shown"), [(0.5, "50.0 %"), (1, "100.0 %"), (0, "0.0 %"), (None, "-")])
def test_a_missing_score_is_no_zero(value: float | None, shown: str) -> None:
    assert percent(value) == shown


def test_calls_that_were_paid_are_no_part_of_those_whose_replies_the_run_has_used() -> None:
    """A reply that is of no use is paid, and one that came just now is used a moment later."""
    assert spent_words(spent(1, 4)) == "2 calls used, 4 paid now, 1,234 tokens, $0.75"


def test_an_unknown_price_stays_unknown() -> None:
    """F11"""
    assert spent_words(spent(7, 2)) == "8 calls used, 2 paid now, 1,234 tokens, $0.75"
    assert spent_words(spent(7, 2, dollars=None)).endswith("price unknown")


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.2, "0 s"), (89, "89 s"), (90, "2 min"), (5399, "90 min"), (7200, "2.0 h")]
)
def test_a_time_is_told_in_the_unit_that_suits_it(seconds: float, words: str) -> None:
    assert in_words(seconds) == words


def test_a_limit_is_told_with_its_unit_and_its_share() -> None:
    assert limit_words(LimitUse("limits.dollars", 1.5, 6)) == "limits.dollars $1.50 of $6.00 (25 %)"
    assert limit_words(LimitUse("limits.calls", 1200, 2400)) == "limits.calls 1,200 of 2,400 (50 %)"
    assert limit_words(LimitUse("limits.minutes", 0.5, 2)) == "limits.minutes 0.5 of 2.0 (25 %)"


def test_counts_stand_beside_a_score() -> None:
    """F93"""
    assert score_words("hard", 0.5, 4, 8) == "4/8 (50.0 %)"
    assert score_words("soft", 0.25, 1, 8) == "25.0 % (1/8)"
    assert [score_words(metric, 0.5, 4, 8, roomy=False) for metric in ("hard", "soft")] == ["4/8", "50.0 %"]


def test_a_stage_says_how_far_how_fast_and_with_what_outcome() -> None:
    stage = Stage("rollout", began=10.0, done=4, total=8, outcomes={"solved": 3, "failed": 1, "dropped": 0})
    assert (count_words(stage), pace_words(stage, 12.0), outcome_words(stage)) == (
        "4/8",
        "2.0/s, 2 s left",
        ("3 solved",),
    )
    assert (count_words(Stage("select", 0.0)), pace_words(Stage("select", 0.0), 1.0)) == ("", "")


def test_a_place_is_told_as_a_step_of_all_steps() -> None:
    known = follow_all(NOTHING, [(started(), 0.0)])
    assert place_words(known) == "starting"
    known = follow(known, StageStarted("baseline", 0, 0, 4), at=1.0)
    assert place_words(known) == "baseline"
    known = follow(known, StageStarted("rollout", 1, 3, 4), at=2.0)
    assert place_words(known) == "step 3/10 (epoch 1)"
    known = follow_all(known, [(committed(3), 3.0), (StageStarted("slow_update", 1, 3, 4), 4.0)])
    assert place_words(known) == "after step 3/10 (epoch 1)"


def test_every_action_of_the_gate_is_said_in_words_of_its_own() -> None:
    words = [said(action) for action in Action]
    assert len(set(words)) == len(words)
    assert not any("_" in word or word == action.value for word, action in zip(words, Action, strict=True))
    assert said("slow_update") == "slow update"
