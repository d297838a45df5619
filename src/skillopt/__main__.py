"""Where the console scripts and `python -m skillopt` begin: ahead of `cli/main.py`, whose import takes a moment.

Ctrl-C in that moment ends the process at once, without a traceback: nothing has begun yet. It does nothing else.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from types import FrameType
from typing import NoReturn

_INTERRUPTED = 128 + signal.SIGINT


def main() -> None:
    """Run `skillopt`."""
    _run("main")


def main_train() -> None:
    """Run `skillopt-train` or `scripts/train.py`: the same as `skillopt train`."""
    _run("main_train")


def main_eval() -> None:
    """Run `skillopt-eval`: the same as `skillopt eval`."""
    _run("main_eval")


def _run(name: str) -> None:
    try:
        minded = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # In the background it may be ignored.
        if minded:
            # No exception: within an import, some would be swallowed and some become another error.
            signal.signal(signal.SIGINT, _end)
        from skillopt.cli import main as commands

        if minded:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        getattr(commands, name)()
    except KeyboardInterrupt:  # As the command began or ended; in between it says more.
        print("interrupted", file=sys.stderr)  # noqa: T201
        sys.exit(_INTERRUPTED)


def _end(_: int, __: FrameType | None) -> NoReturn:
    with contextlib.suppress(OSError):  # Nobody can be told.
        os.write(2, b"interrupted\n")
    os._exit(_INTERRUPTED)


if __name__ == "__main__":
    main()
