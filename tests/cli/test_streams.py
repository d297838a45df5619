"""Standard output and error as they are."""

from __future__ import annotations

import io
import os
import sys

import pytest

from skillopt.cli.streams import apart, discard, is_live, replace_what_cannot_be_shown, stay_open


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


def say(text: str) -> None:
    """Print, as code of a user's does."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def test_what_is_printed_apart_is_alone_on_standard_output(capfd: pytest.CaptureFixture[str]) -> None:
    say("before")
    with apart() as own:
        own.write("ours\n")
        say("theirs")
    say("after")
    said = capfd.readouterr()
    assert said.out.split("\n") == ["before", "ours", "after", ""]
    assert sorted(said.err.split("\n")) == ["", "theirs"]


def test_streams_that_are_no_files_are_told_apart_as_far_as_python_prints(capsys: pytest.CaptureFixture[str]) -> None:
    with apart() as own:
        own.write("ours\n")
        say("theirs")
    say("after")
    assert capsys.readouterr() == ("ours\nafter\n", "theirs\n")


def test_what_is_printed_apart_is_whole_also_when_the_block_fails(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ZeroDivisionError), apart() as own:
        own.write("ours")
        raise ZeroDivisionError
    say("after")
    assert capfd.readouterr().out == "oursafter\n"


def test_the_standard_streams_stay_open_whoever_closes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    text, raw = stream("utf-8")
    monkeypatch.setattr(sys, "__stdout__", text)
    stay_open()
    text.close()
    with text:
        text.write("still here")
    text.write(", and here")
    assert raw.getvalue() == b"still here, and here"
