"""How text and tables are written."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from skillopt.cli.terminal import WIDTH_OF_A_LOG, console, from_here, new_table, say, say_unbroken, show_table

LONG = "word " * 40


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Put a terminal of 30 columns on standard output."""
    out = Terminal()
    monkeypatch.setattr(sys, "stdout", out)
    for name, value in {"TERM": "xterm", "COLUMNS": "30", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    return out


def log_file(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """Put a log on standard output."""
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.delenv("COLUMNS", raising=False)
    return out


def test_a_path_is_written_from_where_one_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    named = {"runs/first": "runs/first", ".": ".", "-x": "./-x", "runs": "runs"}
    assert {name: from_here(tmp_path / name) for name in named} == named
    assert from_here(tmp_path.parent) == str(tmp_path.parent)
    assert from_here(Path("runs")) == "runs"
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert from_here(tmp_path / "runs") == str(tmp_path / "runs")


def test_a_log_gets_each_line_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    log = log_file(monkeypatch)
    say(LONG)
    assert log.getvalue() == LONG + "\n"


def test_a_terminal_gets_its_words_wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    narrow = narrow_terminal(monkeypatch)
    say(LONG)
    assert max(len(line) for line in narrow.getvalue().splitlines()) <= 30


def test_a_line_that_is_copied_is_never_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    narrow = narrow_terminal(monkeypatch)
    path = "/some/where/" + "x" * 100
    say_unbroken(path)
    assert narrow.getvalue() == path + "\n"


def test_text_is_text_and_no_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    log = log_file(monkeypatch)
    say("[bold]:smile: [link=x]y[/link][/]")
    assert log.getvalue() == "[bold]:smile: [link=x]y[/link][/]\n"


def test_no_colour_where_none_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    narrow = narrow_terminal(monkeypatch)
    say("careful", style="yellow")
    assert "33m" not in narrow.getvalue()


def test_a_table_in_a_log_has_room(monkeypatch: pytest.MonkeyPatch) -> None:
    log = log_file(monkeypatch)
    table = new_table("name", "text", right=frozenset({"name"}))
    table.add_row("a", "b" * (WIDTH_OF_A_LOG + 20))
    show_table(table)
    lines = log.getvalue().splitlines()
    assert WIDTH_OF_A_LOG - 10 < max(map(len, lines)) <= WIDTH_OF_A_LOG
    assert log.getvalue().count("b") == WIDTH_OF_A_LOG + 20  # folded and not cut


def test_a_log_is_as_wide_as_its_reader_says(monkeypatch: pytest.MonkeyPatch) -> None:
    log_file(monkeypatch)
    monkeypatch.setenv("COLUMNS", "50")
    assert console().width == 50


@pytest.mark.parametrize("columns", ["", "0", "-5", "1", "7", "abc", "1e2", "100000", "\N{SUPERSCRIPT TWO}", "9" * 30])
def test_a_width_that_no_window_has_is_no_width(monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    log = log_file(monkeypatch)
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("LINES", columns)
    assert console().width == WIDTH_OF_A_LOG
    say(LONG)
    say_unbroken(LONG)
    assert log.getvalue() == f"{LONG}\n{LONG}\n"


def test_a_terminal_whose_width_is_told_wrongly_is_asked_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    narrow = narrow_terminal(monkeypatch)
    for name in ("COLUMNS", "LINES"):
        monkeypatch.setenv(name, "0")
    say(LONG)
    assert narrow.getvalue().split() == LONG.split()
    assert min(console().size) > 0


@pytest.mark.parametrize("columns", [8, 12, 20, 40, 110])
def test_no_cell_of_a_table_is_lost_in_a_narrow_window(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    log = log_file(monkeypatch)
    monkeypatch.setenv("COLUMNS", str(columns))
    table = new_table(*"ABCDEFG")
    table.add_row(*(letter * 9 for letter in "abcdefg"))
    show_table(table)
    assert {letter: log.getvalue().count(letter) for letter in "ABCDEFGabcdefg"} == {
        **dict.fromkeys("ABCDEFG", 1),
        **dict.fromkeys("abcdefg", 9),
    }
