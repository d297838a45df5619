"""What is shown of a running training, line by line."""

from __future__ import annotations

import json
import os

import pytest
from tests.support.records import committed, edit, spent, started

from skillopt.cli.progress import JsonLines, Lines, headline, open_progress
from skillopt.cli.streams import EnduringStream
from skillopt.events import (
    EpochStageCommitted,
    RunEnded,
    StageProgress,
    StageStarted,
    Warned,
)
from skillopt.wording import simulated_notice


def test_the_start_says_what_is_trained_on_what() -> None:
    assert headline(started()) == (
        "Training in 'run': 10 steps; tasks: train 5, val 3\n  target     a:b\n  optimizer  c:d"
    )
    assert headline(started(total_steps=1, simulated=True)).startswith(simulated_notice())
    assert "Training in 'run': 1 step;" in headline(started(total_steps=1))
    shared = {"replies": 3, "trajectories": 9, "rollouts": 7}
    matching = {"replies": 0, "rollouts": 5}
    assert headline(started(forked_from="first", shared=shared, matching=matching)).endswith(
        "\n  A fork: it shares 3 replies and 7 rollouts of first; 0 and 5 match its set-up."
    )


def test_a_step_says_its_scores_as_counts_and_the_decision() -> None:
    assert headline(committed(0)) == "baseline: selection 3/8 (37.5 %)"
    assert headline(committed(7)) == (
        "step 7 (epoch 2): train 4/12, selection 3/8 (37.5 %), skill 120 tokens: reject, not strictly higher"
    )


def test_a_batch_of_known_failures_stands_beside_how_all_seen_tasks_stood() -> None:
    known = {"train_known_solved": 30, "train_known_n": 40, "train_known_acc": 0.75}
    assert "train 4/12, selection" in headline(committed(7, sampling="all", **known))
    assert "train 4/12 (all seen: 30/40, 75.0 %), selection" in headline(committed(7, sampling="unsolved", **known))
    nothing = {"train_known_solved": 0, "train_known_n": 0, "train_known_acc": None}
    assert "(all seen: 0/0, -)" in headline(committed(7, sampling="unsolved", **nothing))


def test_a_stage_between_epochs_says_what_came_of_it() -> None:
    record = {**committed(4).record, "slow_update": {"action": "accept", "reason": "strictly higher\x1b[2J"}}
    line = headline(EpochStageCommitted("slow_update", 2, record))
    assert line.startswith("slow update (epoch 2): selection 3/8 (37.5 %), skill 120 tokens: accept, strictly higher")
    assert "\x1b" not in line


def test_foreign_text_moves_no_cursor() -> None:
    for event in (Warned("a\x1b[2J"), started(run_directory="a\x1b[2J"), committed(1, reason="a\x1b[2J")):
        assert "\x1b" not in headline(event)


def test_lines_tell_each_stage_that_counted_to_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    show = Lines()
    for event in (
        started(),
        StageStarted("rollout", 1, 1, 2),
        StageProgress("rollout", 1, 1, 1, 2),
        spent(1, 1),
        StageProgress("rollout", 1, 1, 2, 2),
        spent(2, 2),
        StageStarted("select", 1, 1),
        StageProgress("aggregate", 1, 1, 1, 0),
        spent(3, 3),
        Warned("careful"),
        committed(1, edit("Write dates\x1b[2J as ISO."), edit("b", "unmatched", "delete")),
        spent(3, 3),
        RunEnded("improved", "", {}),
    ):
        show(event)
    lines = capsys.readouterr().out.splitlines()[3:]
    assert lines == [
        "  rollout 2/2  3 calls used, 2 paid now, 1,234 tokens, $0.75",
        "warning: careful",
        headline(committed(1)),
        "  - rejected: append: Write dates\ufffd[2J as ISO.",
        "  x unmatched: delete: b",
    ]


def test_json_lines_count_from_zero(capsys: pytest.CaptureFixture[str]) -> None:
    with open_progress(json_events=True) as show:
        show(Warned("日本"))
        show(Warned("b"))
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["sequence"], row["event"], row["message"]) for row in rows] == [
        (0, "Warned", "日本"),
        (1, "Warned", "b"),
    ]


def test_json_lines_go_on_when_their_reader_has_gone() -> None:
    reader, writer = os.pipe()
    with os.fdopen(writer, "w") as out:
        os.close(reader)
        show = JsonLines(EnduringStream(out))  # type: ignore[arg-type]
        show(Warned("nobody reads"))
        show(Warned("nobody minds"))


def test_a_score_over_several_passes_says_how_far_they_lie_apart() -> None:
    """F18: the baseline says whether it is one pass or many."""
    several = {"n": 3, "mean": 0.375, "spread": 0.125, "scores": [0.25, 0.375, 0.5]}
    line = headline(committed(0, val_passes=several))
    assert line == ("baseline: selection 3/8 (37.5 %) in 3 passes, which differ by 12.5 points (standard deviation)")
    one = {**several, "n": 1, "spread": None}
    assert headline(committed(0, val_passes=one)) == "baseline: selection 3/8 (37.5 %)"
