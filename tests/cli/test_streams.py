"""Standard output and error as they are."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from skillopt.cli.streams import EnduringStream, apart, enduring_output, is_live, stay_open


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
    with enduring_output():
        sys.stdout.write("日本 ok\n")
    assert raw.getvalue() == b"?? ok\n"
    assert sys.stdout is text


def test_output_that_cannot_be_changed_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    with enduring_output() as output:
        sys.stdout.write("日本\n")
    assert (out.getvalue(), output.lost) == ("日本\n", None)


def test_a_stream_whose_reader_has_gone_goes_on_and_nothing_counts_as_lost() -> None:
    """Who stops reading, as `head` does, wants no more."""
    reader, writer = os.pipe()
    with os.fdopen(writer, "w") as out:
        os.close(reader)
        ours = EnduringStream(out)
        for _ in range(2):
            print("nobody reads", file=ours, flush=True)  # type: ignore[call-overload]
    assert ours.lost is None


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
@pytest.mark.parametrize("buffered", [True, False], ids=["on flush", "on write"])
def test_what_a_full_disk_takes_not_is_lost_and_the_stream_goes_on(buffered: bool) -> None:
    with Path("/dev/full").open("w") as out:
        out.reconfigure(write_through=not buffered)
        ours = EnduringStream(out)
        for _ in range(2):
            print("x" * 10, file=ours, flush=True)  # type: ignore[call-overload]
    assert ours.lost is not None and ours.lost.strerror == "No space left on device"


def test_streams_that_are_closed_lead_nowhere_and_no_file_takes_their_place(tmp_path: Path) -> None:
    """What C code prints to descriptor 1 must not end up in the database that was opened next."""
    program = (
        "import os, sys\n"
        "from skillopt.cli.streams import enduring_output\n"
        "with enduring_output():\n"
        "    print('out'); print('error', file=sys.stderr)\n"
        f"    file = open({str(tmp_path / 'file')!r}, 'w')\n"
        "    os.write(1, b'out'); os.write(2, b'error')\n"
        "    file.write(str(file.fileno()))\n"
    )

    def close() -> None:
        for descriptor in (0, 1, 2):
            os.close(descriptor)

    assert subprocess.run([sys.executable, "-c", program], preexec_fn=close).returncode == 0
    assert int((tmp_path / "file").read_text("utf-8")) > 2


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
