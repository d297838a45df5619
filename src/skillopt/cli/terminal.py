"""How the commands write to a terminal or a log: text, lines that are copied, and tables."""

from __future__ import annotations

import os
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from skillopt.cli.streams import is_live

WIDTH_OF_A_LOG = 110
"""Columns of a table where nobody said how wide the reader's window is: in a log, a file or a pipe."""

_WINDOW = {"COLUMNS": range(8, 10_000), "LINES": range(2, 10_000)}
"""Sizes that a window can have. What the environment says beyond them, such as 0 or a word, is not known."""

_LEAST_COLUMN = 6
"""Columns of a window that a column of a table takes at least, with the room beside it."""


def console(*, stderr: bool = False) -> Console:
    """Return a console that writes to standard output or standard error, without colour where there is none."""
    variables = {name: value for name, value in os.environ.items() if name not in _WINDOW or _is_size(name, value)}
    width = None if is_live(stderr=stderr) or "COLUMNS" in variables else WIDTH_OF_A_LOG
    return Console(stderr=stderr, width=width, markup=False, highlight=False, emoji=False, _environ=variables)


def _is_size(name: str, value: str) -> bool:
    return value.isdecimal() and len(value) < 10 and int(value) in _WINDOW[name]


def say(text: str, *, stderr: bool = False, style: str = "") -> None:
    """Print a text for a person. A terminal gets its words wrapped; a log gets each line as it is."""
    console(stderr=stderr).print(Text(text, style=style), soft_wrap=not is_live(stderr=stderr))


def say_unbroken(text: str, *, stderr: bool = False, style: str = "") -> None:
    """Print a line that is copied rather than read, such as a path: no line end is ever put into it."""
    console(stderr=stderr).print(Text(text, style=style), soft_wrap=True)


def from_here(path: Path) -> str:
    """Return a path as one would write it here: from the current directory, where it lies below that."""
    try:
        near = str(path.absolute().relative_to(Path.cwd()))
    except (ValueError, OSError):  # It lies elsewhere, or the current directory is no more.
        return str(path)
    return f"./{near}" if near.startswith("-") else near


def new_table(*columns: str, right: frozenset[str] = frozenset()) -> Table:
    """Return a table in the one form all commands use; cells that do not fit are folded, never cut.

    Args:
        columns: Their headings.
        right: Those whose cells are numbers, set to the right.
    """
    table = Table(box=box.SIMPLE, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold", justify="right" if column in right else "left")
    return table


def show_table(table: Table) -> None:
    """Print a table; wider than a window in which a column would have no room at all and be lost."""
    out = console()
    out.width = max(out.width, _LEAST_COLUMN * len(table.columns))
    out.print(table)
