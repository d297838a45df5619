"""Lines at the bottom of a terminal that are drawn anew again and again, above which other lines can be printed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderResult
from rich.control import Control
from rich.live import Live
from rich.segment import ControlType
from rich.text import Text


class LiveRegion(Live):
    """A live display that is taken off the screen whole also where its window was made narrower meanwhile.

    Most terminals then fold the lines that stand there, so that they take more rows than were drawn. The rows that came
    of it are taken off too. A terminal that cuts lines where others fold them loses as many rows of what stands above.

    Args:
        lines: What to show now; none of them wider than the window.
        out: Where.
    """

    def __init__(self, lines: Callable[[], Sequence[Text]], out: Console) -> None:
        self._drawn = _Drawn(lines)
        super().__init__(self._drawn, console=out, refresh_per_second=8, transient=True)

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        """Take off what is shown, print what is new, and show the lines below it."""
        width = max(1, self.console.width)
        folded = sum(max(0, -(-cells // width) - 1) for cells in self._drawn.widths)
        below = super().process_renderables(renderables)
        if not folded:
            return below
        up = ((ControlType.CURSOR_UP, 1), (ControlType.ERASE_IN_LINE, 2)) * folded
        return [Control(ControlType.CARRIAGE_RETURN, (ControlType.ERASE_IN_LINE, 2), *up), *below]


class _Drawn:
    """The lines as they are at the moment they are drawn, and how wide each of them was the last time."""

    def __init__(self, lines: Callable[[], Sequence[Text]]) -> None:
        self._lines = lines
        self.widths: tuple[int, ...] = ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = self._lines()
        self.widths = tuple(line.cell_len for line in lines)
        yield from lines
