"""A training on a terminal: lines for each finished step and its edits, and below them the run as it stands.

What stands there is decided elsewhere: `report/live.py` makes it of the events, `cli/live_lines.py` lays it out.
"""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.text import Text

from skillopt.cli.edit_lines import show_edits
from skillopt.cli.live_lines import Window, live_lines
from skillopt.cli.live_region import LiveRegion
from skillopt.cli.progress import headline
from skillopt.cli.terminal import console
from skillopt.events import EpochStageCommitted, Event, RunStarted, StageStarted, StepCommitted, Warned
from skillopt.report.live import follow
from skillopt.report.live_state import NOTHING


class LiveView:
    """The live view, for the length of a block; called with every event.

    It asks for the window's size whenever it draws, so a window may be made narrow while a training runs.
    """

    def __init__(self) -> None:
        self._out = console()
        self._known = NOTHING
        self._live = LiveRegion(self._lines, self._out)

    def __enter__(self) -> Self:
        self._live.start(refresh=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def __call__(self, event: Event) -> None:
        """Show an event."""
        self._known = follow(self._known, event, at=time.time())
        if isinstance(event, RunStarted | StepCommitted | EpochStageCommitted | Warned):
            self._out.print(Text(headline(event)))
        if isinstance(event, StageStarted):
            # However short a stage is, it is seen.
            self._live.refresh()
        if isinstance(event, StepCommitted):
            show_edits(self._known, self._out)

    def _lines(self) -> list[Text]:
        window = Window(self._out.width, self._out.height, ascii_only=self._out.options.ascii_only)
        return live_lines(self._known, window, now=time.time())
