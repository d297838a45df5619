"""Standard output and error as they are."""

from __future__ import annotations

import io
import os
import sys

import pytest

from skillopt.cli.streams import discard, is_live, replace_what_cannot_be_shown


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("term", "live"), [("xterm-256color", True), ("", True), ("dumb", False), ("unknown", False)])
def test_a_terminal_that_can_be_written_over_is_live(monkeypatch: pytest.MonkeyPatch, term: str, live: bool) -> None:
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("TERM", term)
    assert is_live() == live


def test_colour_forced_into_a_log_makes_it_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    assert (is_live(), is_live(stderr=True)) == (False, True)


def stream(encoding: str) -> tuple[io.TextIOWrapper, io.BytesIO]:
    raw = io.BytesIO()
    return io.TextIOWrapper(raw, encoding=encoding, write_through=True), raw


def test_what_cannot_be_shown_becomes_a_question_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    text, raw = stream("ascii")
    monkeypatch.setattr(sys, "stdout", text)
    replace_what_cannot_be_shown()
    text.write("日本 ok\n")
    assert raw.getvalue() == b"?? ok\n"


def test_output_that_cannot_be_changed_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    replace_what_cannot_be_shown()


def test_a_stream_whose_reader_has_gone_can_still_be_written_to() -> None:
    reader, writer = os.pipe()
    with os.fdopen(writer, "w") as out:
        os.close(reader)
        with pytest.raises(BrokenPipeError):
            print("nobody reads", file=out, flush=True)
        discard(out)
        print("nobody minds", file=out, flush=True)
