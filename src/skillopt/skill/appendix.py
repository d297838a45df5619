r"""The appendix of execution notes: a protected section of short reminders, one list item each.

A reminder is of a rule that the skill states and the target did not follow. Which failures call for one is the
optimizer's to judge, and whether a skill is better with it the gate's; here stands what may be written down and how.
What stands ahead of the heading, or in a section without it, is a person's own text: it stays as it is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Final, NamedTuple

from skillopt.skill.document import Skill, holds_marker, unwritable
from skillopt.skill.lines import trim_blank_lines, with_line_ends
from skillopt.skill.size import estimate_tokens
from skillopt.types import EditState

HEADING: Final = "## Execution Notes Appendix"
"""The line ahead of the notes, as users of the public SkillOpt know it."""

MOST_NOTE_TOKENS: Final = 100
"""Most tokens of one note (estimated): a reminder, not a rule."""

_ITEM = re.compile(r"[-*+\u2022][ \t]+")
_APOSTROPHES = "'\u2019\u02bc"
_OPERATORS = "%&#@*/\\"
"""Punctuation by Unicode, and yet part of what a number or a name says."""
_OF_NUMBERS = "-.,:"
"""Ahead of a digit these are part of a number: "1.5" is not "15", and "-5" is not "5"."""


class Refusal(NamedTuple):
    """Why a note is not written down: its end, and the reason in words."""

    state: EditState
    detail: str


def notes_of(skill: Skill) -> tuple[str, ...]:
    """Return the notes of a skill's appendix, without the marks of the list, in its order."""
    _, notes = _split(_content(skill))
    return notes


def add_note(skill: Skill, text: str, *, max_tokens: int) -> Skill | Refusal:
    """Return the skill with one more note at the end of its appendix, or why it is refused.

    Nothing but the appendix changes. A note that the appendix holds already, whatever its letter case, spacing and
    punctuation, is a duplicate; one that would make the skill larger than its limit is over the budget.

    Args:
        skill: The document; one without an appendix gets it at its tail.
        text: The note; a list mark ahead of it does not matter.
        max_tokens: Most tokens of the skill (estimated).
    """
    note = _plain_item(text)
    refusal = _unusable(note)
    if refusal:
        return refusal
    content = _content(skill)
    if normal_form(note) in {normal_form(_plain_item(line)) for line in (*content.split("\n"), *notes_of(skill))}:
        return Refusal(EditState.DUPLICATE, "the appendix says it already")
    own_text, notes = _split(content)
    body = f"{content}\n- {note}" if notes else _rendered(own_text, [note])
    noted = skill.with_section("APPENDIX", body)
    tokens = estimate_tokens(noted.text)
    if tokens > max_tokens:
        return Refusal(EditState.OVER_BUDGET, f"the skill would have about {tokens} tokens; the limit is {max_tokens}")
    return noted


def replace_notes(skill: Skill, texts: Sequence[str]) -> Skill | str:
    """Return the skill with all its notes replaced by fewer ones, or why they do not take their place.

    They do only if every one of them can be written down, no two are the same, there are fewer than before and the
    skill is no larger.
    """
    notes = [_plain_item(text) for text in texts]
    before = notes_of(skill)
    refused = next((refusal for refusal in map(_unusable, notes) if refusal), None)
    if refused:
        return f"one of the notes cannot be written down: {refused.detail}"
    if not notes:
        return "it holds no note"
    if len({normal_form(note) for note in notes}) < len(notes):
        return "it says the same twice"
    if len(notes) >= len(before):
        return f"{len(notes)} notes in place of {len(before)} are no fewer"
    own_text, _ = _split(_content(skill))
    shorter = skill.with_section("APPENDIX", _rendered(own_text, notes))
    if estimate_tokens(shorter.text) > estimate_tokens(skill.text):
        return "its notes are fewer but longer"
    return shorter


def normal_form(text: str) -> str:
    """Return a note's words in lower case with single spaces: two notes with the same words are one.

    Punctuation goes, but for what belongs to a number.
    """
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
    return " ".join("".join(_as_compared(folded, place) for place in range(len(folded))).split())


def _as_compared(text: str, place: int) -> str:
    character, behind = text[place], text[place + 1 : place + 2]
    if character in _APOSTROPHES:
        return ""
    if not unicodedata.category(character).startswith("P") or character in _OPERATORS:
        return character
    return character if character in _OF_NUMBERS and behind.isdigit() else " "


def _unusable(note: str) -> Refusal | None:
    """Return why a note could stand in no appendix."""
    problem = unwritable(note)
    if problem:
        return Refusal(EditState.INVALID, f"it cannot be written, {problem}")
    if any(unicodedata.category(one) in ("Cc", "Zl", "Zp") for one in note if one != "\t"):
        return Refusal(EditState.INVALID, "it is more than one line, or holds a control character")
    if not any(one.isalnum() for one in note):
        return Refusal(EditState.INVALID, "it holds no word")
    if holds_marker(note):
        return Refusal(EditState.PROTECTED, "it holds a marker of a protected section")
    tokens = estimate_tokens(note)
    if tokens > MOST_NOTE_TOKENS:
        return Refusal(EditState.OVER_BUDGET, f"it has about {tokens} tokens; a note has at most {MOST_NOTE_TOKENS}")
    return None


def _plain_item(text: str) -> str:
    """Return a note without white space around it and without the mark of a list item ahead of it."""
    return _ITEM.sub("", text.strip(), count=1) if _ITEM.match(text.strip()) else text.strip()


def _content(skill: Skill) -> str:
    r"""Return what stands between the markers with its indentation, and with `\n` line ends; "" without a section."""
    section = skill.section("APPENDIX")
    if section is None:
        return ""
    marked = skill.text[section.span.start : section.span.end]
    inner = marked[marked.index("-->") + len("-->") : marked.rindex("<!--")]
    return with_line_ends(trim_blank_lines(inner), "\n").rstrip()


def _split(content: str) -> tuple[str, tuple[str, ...]]:
    """Return the person's own text and the notes; a line that begins no item goes on with the one above it."""
    lines = content.split("\n")
    at = next((number for number, line in enumerate(lines) if line.strip() == HEADING), len(lines))
    notes: list[str] = []
    for line in filter(str.strip, lines[at + 1 :]):
        if _ITEM.match(line) or not notes:
            notes.append(_plain_item(line))
        else:
            notes[-1] = f"{notes[-1]} {line.strip()}"
    return "\n".join(lines[:at]).rstrip(), tuple(notes)


def _rendered(own_text: str, notes: Sequence[str]) -> str:
    return "\n\n".join(part for part in (own_text, HEADING, "\n".join(f"- {note}" for note in notes)) if part)
