"""What every layer says in the same words: a number with what it counts, and that simulated models prove nothing.

It imports nothing of the package, so that the lowest layer may use it and the pages' templates as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

SIMULATED: Final = "SIMULATED MODELS"
"""What every sentence begins with that speaks of simulated models, so that it is seen and can be searched for."""


def simulated_notice(names: Sequence[str] = ()) -> str:
    """Return the sentence that stands ahead of numbers that simulated models gave.

    Args:
        names: Whose numbers they are, where real ones stand beside them; none where all are simulated.
    """
    if not names:
        return f"{SIMULATED}: these numbers say nothing about real ones."
    whose = "its" if len(names) == 1 else "their"
    return f"{SIMULATED} in {', '.join(names)}: {whose} numbers say nothing about real ones."


def counted(number: int, noun: str, *, plural: str = "") -> str:
    """Return a number with what it counts: `1 task`, `2,000 tasks`.

    Args:
        number: How many there are.
        noun: What one of them is called.
        plural: What several are called, where it is not the noun with an s.
    """
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"
