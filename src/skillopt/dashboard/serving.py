"""Serving the live page: an address of its own, answers until somebody ends it, and an end at once.

The web server writes no log of requests, so that no token of an address is written anywhere.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
from pathlib import Path
from threading import Event
from types import FrameType
from typing import Final

import uvicorn

from skillopt.dashboard.app import application
from skillopt.dashboard.security import SHORTEST_TOKEN
from skillopt.dashboard.site import Site
from skillopt.errors import UsageError

LOCAL_HOSTS: Final = frozenset({"127.0.0.1", "localhost", "::1"})
"""Addresses that this machine alone reaches, and that need no token."""

NEW_TOKEN: Final = 'python -c "import secrets; print(secrets.token_urlsafe())"'
"""A command that makes a token."""


_MOST_SECONDS_OF_AN_END: Final = 3

_OUT_OF_FILES: Final = frozenset({errno.EMFILE, errno.ENFILE})
_FILES_OF_ITS_OWN: Final = 32
"""Files that it opens at once besides connections: the event loop's, and those that pages are made of."""
_LEAST_CONNECTIONS: Final = 16
"""A browser holds six open, and each of its pages one more that listens."""
_MOST_CONNECTIONS: Final = 1_000
"""At once; more of them are refused."""


class Dashboard:
    """The live page at its address: bound when it is made, so that who made it can tell the address.

    Args:
        directory: Where the runs are.
        host: Address of this machine to answer at.
        port: Port; 0 for any that is free.
        token: What a browser has to show once; None where only this machine can ask.

    Attributes:
        url: Its address, without the token.

    Raises:
        RunDirectoryError: If there is no such directory.
        UsageError: If other machines could ask without a token, the token is short, nothing can answer there, or the
            system lets this process open too few files.
    """

    def __init__(self, directory: Path, *, host: str, port: int, token: str | None) -> None:
        if token is None and host not in LOCAL_HOSTS:
            raise UsageError(
                f"--host is {host}, where other machines can ask, and there is no token",
                hint=f"Give one with --token or SKILLOPT_DASHBOARD_TOKEN. To make one: {NEW_TOKEN}",
            )
        if token is not None and not _is_text(token):
            raise UsageError(
                "--token has bytes that are no UTF-8 text, which no address can hold",
                hint=f"To make one: {NEW_TOKEN}",
            )
        if token is not None and len(token) < SHORTEST_TOKEN:
            raise UsageError(
                f"--token has {len(token)} characters; at least {SHORTEST_TOKEN} cannot be guessed",
                hint=f"To make one: {NEW_TOKEN}",
            )
        app = application(directory, token=token)
        site: Site = app.state.site
        self._socket = _bound(host, port)
        connections = _room_for_connections(self._socket)
        name = f"[{host}]" if ":" in host else host
        self.url = f"http://{name}:{self._socket.getsockname()[1]}/"
        self._server = _Server(
            uvicorn.Config(
                app,
                access_log=False,
                log_level="error",
                lifespan="off",
                ws="none",
                limit_concurrency=connections,
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=_MOST_SECONDS_OF_AN_END,
            ),
            site.closing,
        )

    def serve(self) -> None:
        """Answer until Ctrl-C, SIGTERM or `stop`."""
        with self._socket:
            self._server.run([self._socket])

    def stop(self) -> None:
        """End it, from another thread too; open streams are not waited for."""
        self._server.end()


class _Server(uvicorn.Server):
    """Ends its streams first, which would never end by themselves."""

    def __init__(self, config: uvicorn.Config, closing: Event) -> None:
        super().__init__(config)
        self._closing = closing

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End, and let the signal do nothing else: the ordinary end of a server is no interruption."""
        self.end()

    def end(self) -> None:
        """Ask the server to end, in order; asked once more, it waits for nothing."""
        self.force_exit = self.should_exit
        self._closing.set()
        self.should_exit = True


def _is_text(token: str) -> bool:
    try:
        token.encode()
    except UnicodeEncodeError:  # The system hands on bytes of a command line, whatever they are.
        return False
    return True


def _bound(host: str, port: int) -> socket.socket:
    """Return a socket that nothing else has; said ahead of all else, since a port in use is the usual trouble."""
    if not host:  # The system takes it for all its addresses.
        raise UsageError("--host is empty", hint="Give an address of this machine; 0.0.0.0 stands for all of them.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    hint = "Name another port with --port, or 0 for any that is free; --host is an address of this machine."
    bound = None
    try:
        bound = socket.socket(family)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
        bound.listen(128)
    except (OSError, TypeError, ValueError, OverflowError) as error:  # The others: such as no address can be.
        if bound is not None:
            bound.close()
        if isinstance(error, OSError) and error.errno in _OUT_OF_FILES:
            raise _too_few_files() from error
        reason = error.strerror if isinstance(error, OSError) else None
        raise UsageError(f"nothing can answer at {host}, port {port}: {reason or error}", hint=hint) from error
    return bound


def _room_for_connections(bound: socket.socket) -> int:
    """Return how many connections may be open at once, so that the files are left that pages are made of.

    A connection that there is no file for would be tried again and again, and a page that wants one be a fault.
    """
    room = 0
    with contextlib.ExitStack() as opened, contextlib.suppress(OSError):
        while room < _FILES_OF_ITS_OWN + _MOST_CONNECTIONS:
            opened.callback(os.close, os.dup(bound.fileno()))
            room += 1
    if room < _FILES_OF_ITS_OWN + _LEAST_CONNECTIONS:
        bound.close()
        raise _too_few_files()
    return room - _FILES_OF_ITS_OWN


def _too_few_files() -> UsageError:
    least = _FILES_OF_ITS_OWN + _LEAST_CONNECTIONS
    return UsageError(
        f"the system lets this process open too few files: the live page needs {least} besides those that are open",
        hint="Raise the limit of open files (`ulimit -n`), then start it again.",
    )
