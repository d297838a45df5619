"""Processes of this machine: whether one that was noted is still the same.

A number of a process comes again, at once where a container always gives the first one, so a process is told apart by
its beginning too, where the system says when that was. Linux does; elsewhere the number alone counts.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

_GREATEST: Final = 2**31 - 1
"""No system numbers its processes beyond it."""
_PROCESSES: Final = Path("/proc")
_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
_ENDED: Final = frozenset({"Z", "X"})
"""States of a process that has ended and whose parent has not asked how: it holds no lock any more."""
_STATE, _BEGAN = 0, 19
"""Where they stand in what Linux says of a process, behind its name."""


def beginning(process: int) -> str:
    """Return what tells a process from others of its number, before it and after it; "" where the system has nothing.

    It is when the process began, counted from the start of the machine, and which start that was.
    """
    told = _told(process)
    try:
        return f"{_BOOT.read_text('utf-8').strip()} {told[_BEGAN]}" if told else ""
    except (OSError, ValueError):
        return ""


def is_running(process: object, *, began: str) -> bool:
    """Whether a process is at work, as far as the system says.

    Args:
        process: Its number, as it was noted: anything may stand there.
        began: What `beginning` said of it; "" where nobody knows.
    """
    if not isinstance(process, int) or not 0 < process <= _GREATEST:
        return False
    if told := _told(process):
        return told[_STATE] not in _ENDED and began in ("", beginning(process))
    if os.name != "posix":
        return True  # There, asking would end it.
    try:
        os.kill(process, 0)
    except PermissionError:
        return True  # It is somebody else's.
    except OSError:
        return False
    return True


def _told(process: int) -> list[str]:
    """Return what Linux says of a process, behind its name, which may hold anything; nothing elsewhere."""
    try:
        words = (_PROCESSES / str(process) / "stat").read_bytes().rpartition(b")")[2].decode("utf-8").split()
    except (OSError, ValueError):
        return []
    return words if len(words) > _BEGAN else []
