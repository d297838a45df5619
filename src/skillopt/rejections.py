"""Memory of the edits that were tried and lost, so that the optimizer does not walk into the same dead end again."""

from __future__ import annotations

import json
import unicodedata
from dataclasses import dataclass

from skillopt.types import Edit, EditOperation

_SHOWN_CHARACTERS = 600
"""Most characters of one target or content in the digest; bounded edits are shorter, so they are shown whole."""


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

    def digest_text(self, *, most: int) -> str:
        """Return what the optimizer reads: the edits that lost, newest first, each with the gate's reason.

        An edit that was tried again in other letter case or spacing is one line with a count; step and reason are those
        of its last trial.

        Args:
            most: Most lines of edits; older ones are counted in a closing line. 0 or more.

        Returns:
            One line an edit; "" where nothing was rejected or `most` is 0.
        """
        trials: dict[tuple[str, str, str], list[tuple[Edit, Rejection]]] = {}
        for rejection in reversed(self.entries):
            for edit in rejection.edits:
                trials.setdefault(_same(edit), []).append((edit, rejection))
        if not trials or most <= 0:
            return ""
        lines = [_line(tried) for tried in list(trials.values())[:most]]
        if len(trials) > most:
            lines.append(f"- and {len(trials) - most} older")
        return "\n".join(lines)


def _same(edit: Edit) -> tuple[str, str, str]:
    return (edit.operation.value, _normalised(edit.target), _normalised(edit.content))


def _normalised(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split()).casefold()


def _line(trials: list[tuple[Edit, Rejection]]) -> str:
    edit, rejection = trials[0]
    steps = len({rejection.step for _, rejection in trials})
    times = f"tried in {steps} steps, last in step {rejection.step}" if steps > 1 else f"tried in step {rejection.step}"
    others = len(rejection.edits) - 1
    company = f" together with {others} other edit{'s' if others > 1 else ''}" if others > 0 else ""
    return f"- {describe(edit)} ({times}{company}): {rejection.reason}"


def describe(edit: Edit) -> str:
    """Return an edit in one line, each of its texts exactly as far as it is shown."""
    match edit.operation:
        case EditOperation.APPEND:
            return f"append {_quoted(edit.content)}"
        case EditOperation.INSERT_AFTER | EditOperation.INSERT_BEFORE:
            return f"{edit.operation} {_quoted(edit.target)}: {_quoted(edit.content)}"
        case EditOperation.REPLACE:
            return f"replace {_quoted(edit.target)} with {_quoted(edit.content)}"
        case EditOperation.DELETE:
            return f"delete {_quoted(edit.target)}"


def _quoted(text: str) -> str:
    """Return a text on one line, exactly as far as it is shown."""
    left_out = len(text) - _SHOWN_CHARACTERS
    quoted = json.dumps(text[:_SHOWN_CHARACTERS], ensure_ascii=False)
    return f"{quoted} and {left_out} more characters" if left_out > 0 else quoted
