"""The live view, over the events of a training; `test_train.py` has it on a pseudo-terminal."""

from __future__ import annotations

import io
import sys
from typing import Any

import pytest
from tests.cli.test_progress import committed, spent, started

from skillopt.cli import live_view
from skillopt.cli.live_view import LiveView
from skillopt.events import RunEnded, StageProgress, StageStarted, StepCommitted, Warned


class Clock:
    """A clock that a test moves."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(live_view, "time", clock)
    return clock


def step(number: int, metric: str = "soft") -> StepCommitted:
    return committed(number, current_score=0.5, best_score=0.75, best_solved=7, best_step=3, gate_metric=metric)


def status(view: LiveView) -> str:
    shown: Any = view
    return shown._status.plain


def test_the_time_left_comes_from_the_steps_that_were_paid(clock: Clock) -> None:
    """Steps that the evidence answers at once say nothing of those that are still to be paid."""
    view = LiveView()
    view(started(total_steps=6))
    view(spent(9, 0))
    view(step(0))
    for replayed in (1, 2):
        clock.now += 0.01
        view(step(replayed))
    assert status(view) == "10 calls (0 paid now), 1,234 tokens, $0.75"
    clock.now += 30
    view(spent(20, 11))
    view(step(3))
    assert status(view).endswith(", about 90 s left") or status(view).endswith(", about 2 min left")
    clock.now += 20
    view(spent(30, 21))
    view(step(4))
    assert status(view).endswith(", about 50 s left")
    view(step(6))
    assert "left" not in status(view)


def test_solved_tasks_are_counts_and_no_bare_percentage() -> None:
    """F93"""
    view = LiveView()
    view(step(3, "hard"))
    shown: Any = view
    assert shown._scores.plain == "selection (hard): current 3/8 (50.0 %), best 7/8 (75.0 %) (step 3)"


@pytest.mark.parametrize("columns", ["10", "40", "200"])
def test_every_event_is_drawn_in_any_window(monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    out = Terminal()
    monkeypatch.setattr(sys, "stdout", out)
    for name, value in {"COLUMNS": columns, "LINES": "20", "TERM": "xterm"}.items():
        monkeypatch.setenv(name, value)
    with LiveView() as view:
        for event in (
            started(),
            StageStarted("rollout", 1, 1, 2),
            StageProgress("rollout", 1, 1, 1, 2, detail="[red]t1"),
            spent(1, 1),
            StageStarted("aggregate", 1, 1),
            StageProgress("aggregate", 1, 1, 1, 0),
            Warned("[bold]careful[/bold]"),
            step(1),
            RunEnded("improved", "", {}),
        ):
            view(event)
    text = out.getvalue()
    if columns == "200":
        assert "[bold]careful[/bold]" in text
        assert "step 1/10 (epoch 1)  aggregate" in text
        assert "selection (soft): current 50.0 % (3/8 solved), best 75.0 % (7/8 solved) (step 3)" in text
