"""Memory of the edits that were tried and lost, so that the optimizer does not walk into the same dead end again."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, TypeAlias

from skillopt.types import Change, Edit, EditOperation, Note, Rewrite
from skillopt.wording import counted

Reach: TypeAlias = Literal["run", "epoch", "off"]
"""How long rejections are remembered: for the whole run, until the epoch ends, or not at all."""


_SHOWN_CHARACTERS = 600
"""Most characters of one target or content in the digest; bounded edits are shorter, so they are shown whole."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """Changes that were gated together and lost: the whole bundle, since nobody knows which of them was to blame.

    An edit that was tried alone ahead of the gate and did no better is a bundle of its own.

    Attributes:
        step: The step that tried them.
        changes: The edits that were applied with the notes that came into the appendix, or the rewrite.
        reason: The gate's reason, or vetting's, as the optimizer reads it, in words without task ids.
        skill: Digest of the skill that they were tried on; "" once they may be tried on it again.
        lost_by: By how much the gate score fell short of the bar, 0 for a tie; where the gate stopped early, at least.
        broken: Ids of the selection tasks on which the candidate scored lower. For the record: the optimizer is told
            their number and nothing else of them.
    """

    step: int
    changes: tuple[Change, ...]
    reason: str
    skill: str = ""
    lost_by: Fraction = Fraction(0)
    broken: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Trial:
    """One edit, reminder or rewrite in one rejected bundle."""

    change: Change
    rejection: Rejection


@dataclass(frozen=True, slots=True)
class Rejections:
    """The rejections that are remembered, oldest first."""

    entries: tuple[Rejection, ...] = ()
    reach: Reach = "run"

    def add(self, rejection: Rejection) -> Rejections:
        """Return the memory with one more rejection."""
        return self if self.reach == "off" else replace(self, entries=(*self.entries, rejection))

    def next_epoch(self) -> Rejections:
        """Return what is still remembered once an epoch is over."""
        return self if self.reach == "run" else Rejections(reach=self.reach)

    def reopen(self, skill: str) -> Rejections:
        """Return the memory in which what lost on a skill may be tried on it again, since its score is another one."""
        entries = (replace(entry, skill="") if entry.skill == skill else entry for entry in self.entries)
        return replace(self, entries=tuple(entries))

    def repeated(self, changes: Sequence[Change], *, skill: str) -> Rejection | None:
        """Return the rejection that says of these changes, on this skill, that they lose; None where there is none.

        The bundle must be the same, whatever its order, letter case and spacing. A part of it, or more than it, is
        another bundle: a right edit that was lost in a bad bundle may come back. A rewrite is the text it made.

        Args:
            changes: The edits that were applied with the notes that came into the appendix, or the rewrite.
            skill: Digest of the skill that they were applied to.
        """
        bundle = frozenset(map(_same, changes))
        for rejection in reversed(self.entries):
            if bundle and rejection.skill == skill and bundle == frozenset(map(_same, rejection.changes)):
                return rejection
        return None

    @property
    def last_bundle(self) -> int:
        """How many changes were lost together the last time."""
        return len(self.entries[-1].changes) if self.entries else 0

    def digest_text(self, *, most: int) -> str:
        """Return what the optimizer reads: the edits that lost, each with the gate's reason.

        An edit that was tried again in other letter case or spacing is one line with a count; step and reason are those
        of its last trial. Where not all of them fit, the bundle that was lost last comes first, and then the newest,
        most frequent and most harmful ones take turns.

        Args:
            most: Most lines of edits; the others are counted in a closing line. 0 or more.

        Returns:
            One line an edit; "" where nothing was rejected or `most` is 0.
        """
        trials: dict[tuple[str, str, str], list[_Trial]] = {}
        for rejection in reversed(self.entries):
            for change in rejection.changes:
                trials.setdefault(_same(change), []).append(_Trial(change, rejection))
        if not trials or most <= 0:
            return ""
        shown = _in_turns(list(trials.values()))[:most]
        lines = [_line(tried) for tried in shown]
        if len(trials) > most:
            lines.append(f"- and {len(trials) - most} more")
        return "\n".join(lines)


def _in_turns(newest_first: list[list[_Trial]]) -> list[list[_Trial]]:
    """Return the changes' trials in the order in which they deserve a line; equals keep the newest ahead.

    The bundle that was lost last stays together, ahead of all others.
    """
    last = newest_first[0][0].rejection
    frequent = sorted(newest_first, key=len, reverse=True)
    harmful = sorted(newest_first, key=_harm, reverse=True)
    ordered = [trials for trials in newest_first if trials[0].rejection is last]
    for turn in zip(newest_first, frequent, harmful, strict=True):
        for trials in turn:
            if not any(trials is one for one in ordered):
                ordered.append(trials)
    return ordered


def _harm(trials: list[_Trial]) -> tuple[int, Fraction]:
    """Tasks that got worse over all trials, then the widest margin."""
    broken = sum(len(trial.rejection.broken) for trial in trials)
    return broken, max(trial.rejection.lost_by for trial in trials)


def _same(change: Change) -> tuple[str, str, str]:
    if isinstance(change, Note):
        return ("remind", "", _normalised(change.text))
    if isinstance(change, Rewrite):
        return ("rewrite", "", _normalised(change.text))
    return (change.operation.value, _normalised(change.target), _normalised(change.content))


def _normalised(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split()).casefold()


def _line(trials: list[_Trial]) -> str:
    change, rejection = trials[0].change, trials[0].rejection
    count, last = len(trials), f"in step {rejection.step}"
    times = f"tried {count} times, last {last}" if count > 1 else f"tried {last}"
    others = len(rejection.changes) - 1
    noun = "edit" if all(isinstance(change, Edit) for change in rejection.changes) else "change"
    company = f" together with {counted(others, f'other {noun}')}" if others > 0 else ""
    worse = f"; {counted(len(rejection.broken), 'task')} got worse" if rejection.broken else ""
    return f"- {describe(change)} ({times}{company}): {rejection.reason}{worse}"


def describe(change: Change) -> str:
    """Return a change in one line, its texts exactly as far as they are shown; of a rewrite, what it says it did."""
    if isinstance(change, Note):
        return f"remind {_quoted(change.text)}"
    if isinstance(change, Rewrite):
        return f"rewrite of the whole skill: {_quoted('; '.join(change.change_summary))}"
    return _describe_edit(change)


def _describe_edit(edit: Edit) -> str:
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
