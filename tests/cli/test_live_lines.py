"""What the live view shows at a moment, in any window."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some
from rich.text import Text
from tests.support.records import committed, edit, spent, started

from skillopt.cli.live_lines import Window, live_lines, sparkline
from skillopt.events import Event, StageProgress, StageStarted
from skillopt.report.live import follow_all
from skillopt.report.live_state import NOTHING, LiveRun

WIDE = Window(100, 40)
ASCII = Window(100, 40, ascii_only=True)


def known(*events: Event) -> LiveRun:
    return follow_all(NOTHING, [(event, 100.0 + second) for second, event in enumerate(events)])


def plain_lines(run: LiveRun, window: Window = WIDE, *, now: float = 110.0) -> list[str]:
    return [line.plain.rstrip() for line in live_lines(run, window, now=now)]


STEP = (
    started(limits={"limits.dollars": 2.0, "limits.target.calls": 40, "limits.minutes": 10}),
    committed(0, current_score=0.375, best_score=0.375, best_step=0),
    spent(20, 20),
    committed(1, current_score=0.5, val_solved=4, train_acc=0.25),
    StageStarted("rollout", 1, 2, 4),
    *[StageProgress("rollout", 1, 2, number, 4, outcome="solved") for number in (1, 2, 3)],
    StageProgress("rollout", 1, 2, 4, 4, outcome="unmeasured"),
    StageStarted("reflect", 1, 2, 4),
    StageProgress("reflect", 1, 2, 1, 4, outcome="dropped"),
)
"""The second step of a run, while its reflection is at work: it began at 109, and one of four came to nothing."""


def test_the_best_skill_is_counted_from_the_passes_it_was_measured_in() -> None:
    """F93: 82 of 90, and never 82 of the 30 that the current skill has."""
    best = {"best_solved": 82, "best_n": 90, "best_score": 82 / 90}
    lines = plain_lines(known(committed(1, val_solved=27, val_n=30, current_score=0.9, **best)))
    found = [line.split("%")[0] for line in lines if "current" in line or "best" in line]
    assert found == ["  current  27/30 (90.0 ", "  best     82/90 (91.1 "]


def test_the_best_skill_is_named_by_what_made_it_where_there_is_room() -> None:
    run = known(committed(1, best_step=5, best_origin="slow_update_epoch_01"))
    for width in range(30, 80):
        lines = plain_lines(run, Window(width, 40))
        assert max(map(len, lines)) <= width
        assert any("slow update after epoch 1" in line for line in lines) == (width >= 55)


def test_the_six_stages_stand_in_their_order_each_as_far_as_it_is() -> None:
    """Below them the scores and how they came there, the spending, what is left of each limit, and the time."""
    assert plain_lines(known(*STEP), now=113.0) == [
        "step 2/10 (epoch 1)",
        "  rollout   4/4, 3 solved, 1 unmeasured",
        "> reflect   █████░░░░░░░░░░░░░░░ 1/4, 15.0/min, 12 s left, 1 dropped",
        "  aggregate",
        "  select",
        "  update",
        "  gate",
        "selection (hard)",
        "  current  4/8 (50.0 %)             ▂▄",
        "  best     7/8 (87.5 %), step 3     ▂█",
        "  train    4/12 (25.0 %)            ▁",
        "21 calls used, 20 paid now, 1,234 tokens, $0.75",
        "limits.dollars $0.75 of $2.00 (38 %)",
        "limits.target.calls 20 of 40 (50 %)",
        "limits.minutes 0.2 of 10.0 (2 %)",
        "about 16 s left",
    ]


def test_a_share_of_all_training_tasks_seen_is_not_called_that_of_the_batch() -> None:
    drawn = committed(1, train_acc=0.0, sampling="unsolved", train_known_acc=0.75, train_known_solved=9)
    lines = plain_lines(known(STEP[0], STEP[1], drawn))
    assert any(line.startswith("  all seen 9/12 (75.0 %)") for line in lines)
    assert not any(line.startswith("  train") for line in lines)


def test_a_terminal_without_unicode_gets_bars_and_sparklines_in_ascii() -> None:
    lines = plain_lines(known(*STEP), ASCII)
    assert all(line.isascii() for line in lines)
    assert any("#####..............." in line for line in lines)


def test_a_window_of_twenty_columns_shows_each_thing_whole() -> None:
    lines = plain_lines(known(*STEP), Window(20, 40), now=113.0)
    assert lines == [
        "step 2/10 (epoch 1)",
        "  rollout 4/4, 3 ...",
        "> reflect 1/4, 15...",
        "  aggregate",
        "  select",
        "  update",
        "  gate",
        "selection (hard)",
        "current 4/8 ▂▄",
        "best 7/8 ▂█",
        "train 25.0 % ▁",
        "21 calls used, 20",
        "paid now, 1,234",
        "tokens, $0.75",
        "limits.dollars $0.75",
        "of $2.00 (38 %)",
        "limits.target.calls",
        "20 of 40 (50 %)",
        "limits.minutes 0.2",
        "of 10.0 (2 %)",
        "about 16 s left",
    ]


def test_a_low_window_shows_the_stage_at_work_alone() -> None:
    lines = plain_lines(known(*STEP), Window(80, 8))
    assert [line for line in lines if line.startswith(("  r", ">"))] == [lines[1]]
    assert lines[1].startswith("> reflect") and len(lines) <= 7


def test_before_the_first_step_there_is_the_baseline_and_between_steps_what_follows_them() -> None:
    assert plain_lines(NOTHING) == ["starting"]
    begun = (started(), StageStarted("baseline", 0, 0, 8), StageProgress("baseline", 0, 0, 2, 8))
    assert plain_lines(known(*begun), now=109.0)[1] == "> baseline  █████░░░░░░░░░░░░░░░ 2/8, 15.0/min, 24 s left"
    slow = known(started(), committed(0), committed(4), StageStarted("slow_update", 2, 4, 20))
    assert plain_lines(slow)[:2] == ["after step 4/10 (epoch 2)", "> slow update ░░░░░░░░░░░░░░░░░░░░ 0/20"]


def test_a_stage_beside_the_six_is_shown_while_it_works() -> None:
    vet = (StageStarted("rollout", 1, 1, 4), StageStarted("vet", 1, 1, 6))
    assert "> vet       ░░░░░░░░░░░░░░░░░░░░ 0/6" in plain_lines(known(started(), *vet))
    gate = plain_lines(known(started(), *vet, StageStarted("gate", 1, 1, 8)))
    assert not any("vet" in line for line in gate) and gate[-1].startswith("> gate")
    fresh = plain_lines(known(started(), StageStarted("refresh", 1, 1, 4)))
    assert fresh[0] == "step 1/10 (epoch 1)"


def test_another_metric_has_its_share_first_and_the_counts_beside_it() -> None:
    """F93"""
    lines = plain_lines(known(started(), committed(1, gate_metric="soft", current_score=0.5)))
    assert any(line.startswith("  current  50.0 % (3/8)") for line in lines)
    narrow = plain_lines(known(started(), committed(1, gate_metric="soft", current_score=0.5)), Window(30, 40))
    assert any(line.startswith("current 50.0 % ") for line in narrow)


def test_equal_values_are_a_level_line_and_the_ends_are_the_ends() -> None:
    assert sparkline([0.5, 0.5], low=0.5, high=0.5, ascii_only=False) == "▅▅"
    assert sparkline([0.0, 1.0], low=0.0, high=1.0, ascii_only=True) == "_#"
    assert sparkline([0.0, 1.0], low=0.0, high=1.0, ascii_only=False) == "▁█"


@given(width=some.integers(1, 200), height=some.integers(1, 60), ascii_only=some.booleans(), upto=some.integers(0, 12))
def test_no_window_is_too_small_and_no_line_too_wide(width: int, height: int, ascii_only: bool, upto: int) -> None:
    hostile = (
        *STEP[:upto],
        StageStarted("日本\x1b[2J", 1, 2, 4),
        committed(2, edit("a"), gate_metric="日本\x1b語" * 9),
    )
    lines = live_lines(known(*hostile), Window(width, height, ascii_only), now=1e9)
    assert 1 <= len(lines) <= max(1, height - 1)
    assert all(Text(line.plain).cell_len <= width and "\x1b" not in line.plain for line in lines)
