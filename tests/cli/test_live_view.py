"""The live view, over the events of a training; `test_train.py` has it on a pseudo-terminal."""

from __future__ import annotations

import io
import sys

import pytest
from tests.support.records import committed, edit, record, spent, started

from skillopt.cli.live_view import LiveView
from skillopt.events import EpochStageCommitted, Event, RunEnded, StageProgress, StageStarted, Warned

EVENTS: tuple[Event, ...] = (
    started(),
    StageStarted("rollout", 1, 1, 2),
    StageProgress("rollout", 1, 1, 1, 2, detail="[red]t1"),
    spent(1, 1),
    Warned("[bold]careful[/bold]"),
    StageStarted("aggregate", 1, 1),
    StageProgress("aggregate", 1, 1, 1, 0),
    committed(1, edit("Write [b]dates[/b] as ISO."), edit("old", "unmatched", "delete")),
    EpochStageCommitted("slow_update", 1, record(1, slow_update={"action": "reject", "reason": "no"})),
    RunEnded("improved", "", {}),
)


class Terminal(io.TextIOWrapper):
    """A terminal in memory, of any encoding."""

    def __init__(self, encoding: str) -> None:
        self._bytes = io.BytesIO()
        super().__init__(self._bytes, encoding=encoding, errors="replace")

    def isatty(self) -> bool:
        return True

    def text(self) -> str:
        self.flush()
        return self._bytes.getvalue().decode(self.encoding)


def on(monkeypatch: pytest.MonkeyPatch, columns: int, *, encoding: str = "utf-8", **variables: str) -> str:
    """What a terminal gets while all events pass."""
    out = Terminal(encoding)
    monkeypatch.setattr(sys, "stdout", out)
    for name, value in {"COLUMNS": str(columns), "LINES": "30", "TERM": "xterm", **variables}.items():
        monkeypatch.setenv(name, value)
    with LiveView() as view:
        for event in EVENTS:
            view(event)
    return out.text()


def test_a_finished_step_and_each_of_its_edits_stay_on_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    text = on(monkeypatch, 200)
    assert "[bold]careful[/bold]" in text
    assert "step 1 (epoch 2): train 4/12, selection 3/8 (37.5 %)" in text
    assert "  - rejected: append: Write [b]dates[/b] as ISO." in text
    assert "  x unmatched: delete: old" in text
    assert "slow update (epoch 1)" in text


def test_below_them_stands_the_run_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    text = on(monkeypatch, 200)
    assert "step 1/10 (epoch 1)" in text and "aggregate 1" in text
    assert "current  3/8 (37.5 %)" in text and "best     7/8 (87.5 %), step 3" in text
    assert "2 calls used, 1 paid now, 1,234 tokens, $0.75" in text


@pytest.mark.parametrize("columns", [1, 10, 20, 40, 200])
def test_every_event_is_drawn_in_any_window(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    assert on(monkeypatch, columns)


def test_a_terminal_of_another_encoding_gets_what_it_can_show(monkeypatch: pytest.MonkeyPatch) -> None:
    text = on(monkeypatch, 100, encoding="ascii")
    assert "?" not in text.replace("\x1b[?25", "")
    assert "...................." in text


def test_without_colour_nothing_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    coloured, bare = on(monkeypatch, 100), on(monkeypatch, 100, NO_COLOR="1")
    assert "\x1b[31m" in coloured and "\x1b[31m" not in bare
    assert "  - rejected: append:" in bare
