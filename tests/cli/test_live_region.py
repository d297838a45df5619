"""Lines that are drawn anew again and again, and a window that is made narrower meanwhile."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.text import Text
from tests.cli.screen import Screen

from skillopt.cli.live_region import LiveRegion


class Terminal:
    """A region on a screen whose width can change.

    Args:
        columns: Of the window.
    """

    def __init__(self, columns: int) -> None:
        self.out, self.screen = io.StringIO(), Screen(columns)
        self.console = Console(file=self.out, force_terminal=True, width=columns, height=40, color_system=None)
        self.lines = ["one", "a line of some thirty characters", "three"]
        self.region = LiveRegion(self._cut, self.console)

    def _cut(self) -> list[Text]:
        return [Text(line[: self.console.width]) for line in self.lines]

    def take(self) -> list[str]:
        """What stands on the screen now."""
        self.screen.write(self.out.getvalue())
        self.out.seek(0)
        self.out.truncate()
        return self.screen.lines

    def resize(self, columns: int) -> None:
        self.take()
        self.screen.resize(columns)
        self.console.size = self.console.size._replace(width=columns)


def test_the_lines_stand_below_what_is_printed_and_are_gone_at_the_end() -> None:
    terminal = Terminal(60)
    with terminal.region as region:
        region.refresh()
        assert terminal.take() == terminal.lines
        terminal.console.print("printed")
        assert terminal.take() == ["printed", *terminal.lines]
        terminal.lines = ["fewer"]
        region.refresh()
        assert [line for line in terminal.take() if line] == ["printed", "fewer"]
    assert [line for line in terminal.take() if line] == ["printed"]


@pytest.mark.parametrize("columns", [50, 20, 10, 3])
@pytest.mark.parametrize("printing", ["printing", "refreshing"])
def test_a_window_that_was_made_narrower_shows_each_line_once(columns: int, printing: str) -> None:
    terminal = Terminal(60)
    with terminal.region as region:
        terminal.console.print("up")
        region.refresh()
        terminal.resize(columns)
        if printing == "printing":
            terminal.console.print("new")
        region.refresh()
        shown = [line for line in terminal.take() if line]
        above = ["up", "new"] if printing == "printing" else ["up"]
        assert shown == [*above, *(line[:columns].rstrip() for line in terminal.lines)]
        region.refresh()
        assert [line for line in terminal.take() if line] == shown


def test_a_window_that_was_made_wider_shows_each_line_once() -> None:
    terminal = Terminal(10)
    with terminal.region as region:
        terminal.console.print("up")
        region.refresh()
        terminal.take()
        terminal.screen.resize(60)
        terminal.console.size = terminal.console.size._replace(width=60)
        region.refresh()
        assert [line for line in terminal.take() if line] == ["up", *terminal.lines]
