"""The seam to code that is not ours: an environment, a scorer, an acceptance rule.

Whatever such code raises becomes one of our errors, with its file and line; an exception that cannot even say what it
is, an exit and a `KeyboardInterrupt` that nobody pressed included. What it changes for the whole process, the working
directory and the standard streams, is put back after each block. Whoever calls it on a thread puts the block around the
waiting, since a call that was given up on must change nothing any more. A call that takes too long is the caller's part
(`concurrency.call_in_thread`).
"""

from __future__ import annotations

import os
import signal
import sys
import sysconfig
import threading
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from skillopt.config.secrets import masked
from skillopt.errors import EnvironmentLoadError, SkillOptError

_MOST_WORDS = 2000
"""Characters of a foreign exception's message that are kept."""

_OWN = str(Path(__file__).parents[1]) + os.sep


@contextmanager
def foreign_code(doing: str = "", *, hint: str = "", import_hint: str = "") -> Generator[None]:
    """Run code that is not ours in the block.

    Args:
        doing: What it was asked for, as the message says it ahead of the exception, such as "its identity raised ".
        hint: What to do about an exception.
        import_hint: The same for one that is an ImportError.

    Raises:
        EnvironmentLoadError: If the block raises anything but one of our own errors, or an interruption by the user.
    """
    with _interruptions() as interrupted, undisturbed():
        try:
            yield
        except SkillOptError:
            raise
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and interrupted():
                raise
            place = place_of(error)
            message = f"{place}: {doing}{_told(error)}" if place else f"{doing}{_told(error)}"
            raise EnvironmentLoadError(
                message, hint=import_hint if import_hint and isinstance(error, ImportError) else hint
            ) from error


@contextmanager
def undisturbed() -> Generator[None]:
    """Put the working directory and the standard streams back after the block."""
    streams = sys.stdin, sys.stdout, sys.stderr
    try:
        directory = str(Path.cwd())
    except OSError:
        directory = ""  # It was removed; there is nothing to go back to.
    try:
        yield
    finally:
        sys.stdin, sys.stdout, sys.stderr = streams
        if directory:
            with suppress(OSError):
                os.chdir(directory)


def words_of(error: BaseException) -> str:
    """Return what an exception says, bounded and without keys; foreign ones may say nothing, or raise when asked."""
    try:
        said = str(error)
    except BaseException:  # noqa: BLE001 - the type is told, and there are no words
        said = ""
    return masked(said[:_MOST_WORDS], os.environ) or f"a {type(error).__name__} without a message"


def shape_of(value: object) -> str:
    """Return a value that foreign code gave as a message may show it: the beginning of its form, else its type."""
    try:
        return f"{value!r:.100}"
    except BaseException:  # noqa: BLE001 - a `__repr__` of theirs
        return f"a {type(value).__name__}"


def place_of(error: BaseException, *, short: bool = False) -> str:
    """Return the file and line at which foreign code raised; "" where it has none.

    The innermost line that is a user's own counts, ahead of those in the libraries that it calls.

    Args:
        error: What was raised.
        short: Give the file's name alone, for what must not depend on where files lie.
    """
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).is_absolute() and not frame.filename.startswith(_OWN)
    ]
    libraries = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "purelib", "platlib"))
    own = [frame for frame in frames if not frame.filename.startswith(libraries)]
    if not (own or frames):
        return ""
    frame = (own or frames)[-1]
    return f"{Path(frame.filename).name if short else frame.filename}, line {frame.lineno}"


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {words_of(error)}"


@contextmanager
def _interruptions() -> Generator[Callable[[], bool]]:
    """Return what tells whether the user has pressed Ctrl-C in the block, rather than code raised as if."""
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False  # Only the main thread is ever interrupted.
        return
    pressed = False
    before = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        pressed = True
        if callable(before):
            before(number, frame)

    if callable(before):
        signal.signal(signal.SIGINT, note)
    try:
        yield lambda: pressed
    finally:
        # Whoever set a handler of their own in the block keeps it.
        if signal.getsignal(signal.SIGINT) is note:
            signal.signal(signal.SIGINT, before)
