"""What a terminal shows of what is written to it: lines, a cursor, and folding when the window is made narrower."""

from __future__ import annotations

import re

_PARTS = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|(\r)|(\n)|([^\x1b\r\n]+)")


class Screen:
    """A screen as long as it needs to be, as most terminals draw it.

    Args:
        columns: Of the window.
    """

    def __init__(self, columns: int) -> None:
        self._columns = columns
        self._rows = [""]
        self._row = self._column = 0

    @property
    def lines(self) -> list[str]:
        """The rows, without blanks at their ends."""
        return [row.rstrip() for row in self._rows]

    def resize(self, columns: int) -> None:
        """Make the window narrower; what stands there is folded. The cursor stands at the end of the last row."""
        rows = [row.rstrip() or " " for row in self._rows]
        self._rows = [row[start : start + columns] for row in rows for start in range(0, len(row), columns)]
        self._columns = columns
        self._row, self._column = len(self._rows) - 1, len(self._rows[-1].rstrip())

    def write(self, text: str) -> None:
        """Take what a program writes."""
        for code, name, back, down, shown in _PARTS.findall(text):
            if name == "A":
                self._row = max(0, self._row - int(code or 1))
            elif name == "K":
                self._rows[self._row] = ""
            elif back:
                self._column = 0
            elif down:
                self._down()
            for char in shown:
                if self._column == self._columns:
                    self._down()
                row = self._rows[self._row].ljust(self._column)
                self._rows[self._row] = row[: self._column] + char + row[self._column + 1 :]
                self._column += 1

    def _down(self) -> None:
        self._row, self._column = self._row + 1, 0
        if self._row == len(self._rows):
            self._rows.append("")
