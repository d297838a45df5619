"""The live page in a process of its own, as a person starts it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Serving:
    """A live page that is there.

    Attributes:
        address: Where, without a slash at its end.
        process: Its process.
    """

    address: str
    process: subprocess.Popen[str]

    def most_memory(self) -> int:
        """Return the most memory that the process ever held, in bytes; Linux only."""
        status = Path(f"/proc/{self.process.pid}/status").read_text("utf-8")
        return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) * 1024


@contextmanager
def serving(directory: Path, *options: str, log: Path | None = None) -> Generator[Serving]:
    """Serve the runs of a directory on a free port for the length of the block.

    Args:
        directory: Where the runs are.
        options: Further words of the command.
        log: Where what it says on standard error goes; nowhere without one.
    """
    words = [sys.executable, "-m", "skillopt", "dashboard", str(directory), "--port", "0", *options]
    with (log or Path(os.devnull)).open("w", encoding="utf-8") as errors:
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors, text=True, bufsize=1)
        with process:
            try:
                yield Serving(_address(process), process)
            finally:
                process.terminate()


def _address(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if found := re.search(r"https?://[\w.]+:\d+", line):
            return found[0]
    raise RuntimeError(f"the dashboard ended ({process.wait()}) before it said where it is")
