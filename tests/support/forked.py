"""`skillopt` in processes forked from one that has everything imported: a start takes a moment and not a second.

Such a process has its streams, directory, environment, signals and end as one that was started: `main()` runs at the
top of the interpreter, which then ends by itself. Only its imports it did not do. Where the start itself is what a test
is about, or what the environment tells Python, it starts `commands.SKILLOPT` anew.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

POSSIBLE = sys.platform == "linux" and hasattr(os, "pidfd_open")
"""Elsewhere processes are started."""

_SERVER = r"""
import os, select, signal, socket, sys, time
import json
import skillopt.api, skillopt.models.client, skillopt.simulation.opening
from skillopt.cli.main import main

def told(to, what):
    try:
        os.write(to, b"%d\n" % what)
    except OSError:
        pass  # nobody asks any more

def request(requests):
    '''Fork at every request and tell what becomes of it; return in each child, with what was asked.'''
    children, ready = {}, select.poll()
    ready.register(requests, select.POLLIN)
    while True:
        for number, _ in ready.poll():
            if number != requests.fileno():
                pid, status = children.pop(number)
                told(status, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
                ready.unregister(number)
                os.close(number)
                os.close(status)
                continue
            asked, descriptors, _, _ = socket.recv_fds(requests, 1 << 20, 4)
            if not asked:
                for pid, _ in children.values():
                    os.kill(pid, signal.SIGKILL)
                os._exit(0)
            *streams, status = descriptors
            pid = os.fork()
            if pid == 0:
                requests.detach()
                for place, stream in enumerate(streams):
                    os.dup2(stream, place)
                os.closerange(3, 4096)
                return json.loads(asked)
            for stream in streams:
                os.close(stream)
            told(status, pid)
            watch = os.pidfd_open(pid)
            children[watch] = pid, status
            ready.register(watch, select.POLLIN)

signal.signal(signal.SIGINT, signal.SIG_IGN)
asked = request(socket.socket(fileno=int(sys.argv[1])))
signal.signal(signal.SIGINT, signal.default_int_handler)
os.chdir(asked["cwd"])
os.environ.clear()
os.environ.update(asked["environment"])
time.tzset()
sys.argv[1:] = asked["words"]
sys.stdout.reconfigure(line_buffering=sys.stdout.isatty())
del asked
main()
"""


class Process:
    """One such process, from its start on.

    Args:
        words: What stands behind `skillopt`.
        cwd: Where it works.
        environment: All of its environment.
        streams: Descriptors of its standard input, output and error.
    """

    def __init__(
        self, words: Sequence[str], *, cwd: Path, environment: Mapping[str, str], streams: tuple[int, int, int]
    ) -> None:
        self.returncode: int | None = None
        asked = json.dumps({"words": words, "cwd": str(cwd), "environment": dict(environment)})
        self._status, status = os.pipe()
        socket.send_fds(_server(), [asked.encode()], [*streams, status])
        os.close(status)
        self.pid = self._told()

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def wait(self) -> int:
        """Wait until it has ended; return its exit code, negative where a signal ended it."""
        if self.returncode is None:
            self.returncode = self._told()
            os.close(self._status)
        return self.returncode

    def _told(self) -> int:
        line = b""
        while not line.endswith(b"\n"):
            more = os.read(self._status, 1)
            if not more:
                raise RuntimeError("the process that forks others has ended")
            line += more
        return int(line)


class Heard(Process):
    """One whose outputs are kept; its input is empty."""

    def __init__(self, words: Sequence[str], *, cwd: Path, environment: Mapping[str, str]) -> None:
        nothing = os.open(os.devnull, os.O_RDONLY)
        (self._out, out), (self._err, err) = os.pipe(), os.pipe()
        super().__init__(words, cwd=cwd, environment=environment, streams=(nothing, out, err))
        for descriptor in (nothing, out, err):
            os.close(descriptor)

    def communicate(self) -> tuple[bytes, bytes]:
        """Return all it wrote, once it has ended."""
        with os.fdopen(self._out, "rb") as out, os.fdopen(self._err, "rb") as err, ThreadPoolExecutor(1) as beside:
            errors = beside.submit(err.read)
            said = out.read(), errors.result()
        self.wait()
        return said


@functools.cache
def _server() -> socket.socket:
    """Start the process that forks, once; it ends with this one."""
    from tests.support.commands import clean_environment

    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVER, str(its.fileno())],
        stdin=subprocess.PIPE,  # Pipes, since what Python learns of its streams at the start holds for a child's too.
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=clean_environment(),
        pass_fds=[its.fileno()],
    )
    its.close()

    def end() -> None:
        ours.close()
        process.communicate()

    atexit.register(end)
    return ours
