"""A command on a terminal of a given width, as far as a test can have one."""

from __future__ import annotations

import os
import struct
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.support import forked
from tests.support.commands import SKILLOPT, clean_environment


def on_a_terminal(
    *words: str | Path,
    columns: int,
    cwd: Path,
    environment: Mapping[str, str] | None = None,
    typed: str | None = None,
) -> tuple[int, str]:
    """Run `skillopt` with a pseudo-terminal as its output and return its exit code and all that it wrote.

    Where something is typed, the terminal is its input as well.
    """
    pty, fcntl, termios = (pytest.importorskip(name) for name in ("pty", "fcntl", "termios"))
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    nothing = os.open(os.devnull, os.O_RDONLY)
    streams = (nothing if typed is None else its, its, its)
    everything = {**clean_environment(), "TERM": "xterm-256color", **(environment or {})}
    told = [str(word) for word in words]
    process = (
        forked.Process(told, cwd=cwd, environment=everything, streams=streams)
        if environment is None and forked.POSSIBLE
        else subprocess.Popen([*SKILLOPT, *told], stdin=streams[0], stdout=its, stderr=its, cwd=cwd, env=everything)
    )
    os.close(nothing)
    os.close(its)
    if typed is not None:
        os.write(ours, typed.encode())
    written = b""
    while True:
        try:
            read = os.read(ours, 65536)
        except OSError:
            break  # what Linux says of a terminal that nobody holds any more
        if not read:
            break
        written += read
    os.close(ours)
    return process.wait(), written.decode("utf-8", "replace")
