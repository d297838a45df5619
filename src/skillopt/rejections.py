"""Memory of the edits that were tried and lost, so that the optimizer does not walk into the same dead end again."""

from __future__ import annotations

from dataclasses import dataclass

from skillopt.types import Edit


@dataclass(frozen=True, slots=True)
class Rejection:
    """Edits that were gated together and lost.

    Attributes:
        step: The step that tried them.
        edits: The edits that were applied.
        reason: The gate's reason, in words.
    """

    step: int
    edits: tuple[Edit, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Rejections:
    """All rejections so far, oldest first."""

    entries: tuple[Rejection, ...] = ()

    def add(self, rejection: Rejection) -> Rejections:
        """Return the memory with one more rejection."""
        return Rejections((*self.entries, rejection))
