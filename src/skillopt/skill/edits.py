"""Applying bounded edits to a skill document: at exactly one place each, or not at all.

Every edit ends in one state, and nothing is ever applied elsewhere instead. Front matter and protected sections are
safe twice over: a place that touches them is refused, and a candidate in which they differ is refused whatever the edit
was. Which edits are worth applying was decided before; whether the candidate is better is the gate's to say.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rapidfuzz import fuzz, process

from skillopt.errors import SkillError
from skillopt.skill.document import Skill, holds_marker, unfit
from skillopt.skill.lines import (
    LINE_END,
    Span,
    iterate_lines,
    line_end,
    line_number,
    line_start,
    trailing_line_ends,
    trim_blank_lines,
    widen_for_removal,
    with_line_ends,
)
from skillopt.skill.matching import find_places, normalised_occurrences, overlaps_protected
from skillopt.skill.size import estimate_tokens
from skillopt.types import Edit, EditOperation, EditOutcome, EditState

_LIST_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]")
_LIST_LINE = re.compile(rf"{_LIST_ITEM.pattern}|[ \t]+\S")

_SHOWN_LINES = 5
_COMPARED_CHARACTERS = 500


@dataclass(frozen=True, slots=True)
class EditResult:
    """What a bundle of edits made of a skill.

    Attributes:
        skill: The candidate.
        outcomes: How each edit ended, in the order of the edits.
        changed: Whether the candidate's text differs from that of the skill; False is a no-op.
    """

    skill: Skill
    outcomes: tuple[EditOutcome, ...]
    changed: bool


@dataclass(frozen=True, slots=True)
class _Refusal:
    """Why an edit is not applied."""

    state: EditState
    detail: str


@dataclass(frozen=True, slots=True)
class _Splice:
    """The one change of a text: a span of it and what stands there instead."""

    span: Span
    text: str


def apply_edits(skill: Skill, edits: Sequence[Edit], *, max_tokens: int) -> EditResult:
    """Apply edits in order, each to what the edits ahead of it left.

    - `append` puts its content behind the body, ahead of the protected sections at the tail if there are any, with one
      blank line before it unless it goes on with a list.
    - `insert_after` and `insert_before` put whole lines next to the lines that hold the target. A blank line at either
      edge of the content is kept where there is none yet.
    - `replace` and `delete` change the target's text alone. A deletion takes lines along of which nothing is left.

    A target must stand at one place of the body (see `matching`). A copy inside a protected section does not make it
    ambiguous, since no edit could be meant for that one: guidance that quotes a rule must not freeze the rule. Content
    takes on the document's line ends.

    Args:
        skill: The current skill.
        edits: What to apply.
        max_tokens: Most tokens (estimated) of a candidate. A skill that is above it already may still be made smaller.

    Returns:
        The candidate, and for each edit one outcome: applied; unmatched (target not found); ambiguous (found more than
        once); protected (front matter, a protected section or its markers would be touched); duplicate (nothing new:
        said twice, there already, or without effect); invalid (no target, no content, or a character that no text file
        holds); over_budget (the skill would grow above max_tokens).
    """
    candidate = skill
    outcomes: list[EditOutcome] = []
    earlier: dict[tuple[str, ...], int] = {}
    for number, edit in enumerate(edits, start=1):
        key = (edit.operation, *_meant(edit))
        result = _unusable(edit)
        if result is None and key in earlier:
            result = _Refusal(EditState.DUPLICATE, f"it says the same as edit {earlier[key]}")
        if result is None:
            earlier[key] = number
            result = _apply(candidate, edit, max_tokens=max_tokens)
        if isinstance(result, _Refusal):
            outcomes.append(EditOutcome(edit, result.state, result.detail))
        else:
            candidate = result
            outcomes.append(EditOutcome(edit, EditState.APPLIED))
    return EditResult(candidate, tuple(outcomes), candidate.text != skill.text)


def nearest_lines(skill: Skill, target: str, *, count: int = 3) -> tuple[tuple[int, str], ...]:
    """Return the lines of the body that are most like a target, for showing them beside a target that was not found.

    Args:
        skill: The document.
        target: The text that was looked for.
        count: The most lines to return.

    Returns:
        Line number (from 1, over the whole text) and text of each, most alike first; blank lines and lines that touch
        a protected section are left out.
    """
    lines = {
        line.number: skill.text[line.start : line.end]
        for line in iterate_lines(skill.text)
        if skill.text[line.start : line.end].strip() and not overlaps_protected(skill, Span(line.start, line.end))
    }
    # Long lines are compared by their beginnings: likeness costs the product of the two lengths.
    compared = {number: text.strip()[:_COMPARED_CHARACTERS] for number, text in lines.items()}
    ranked = process.extract(target.strip()[:_COMPARED_CHARACTERS], compared, scorer=fuzz.WRatio, limit=count)
    return tuple((number, lines[number]) for _, _, number in ranked)


def target_lines(skill: Skill) -> tuple[str, ...]:
    """Return the lines of the body that can be a target: each of them stands at exactly one place.

    A reply that is held to these lines can name no target that is not there. Text without the spaces around it; in the
    order of the document.
    """
    texts = (
        skill.text[line.start : line.end].strip()
        for line in iterate_lines(skill.text)
        if not overlaps_protected(skill, Span(line.start, line.end))
    )
    return tuple(text for text in dict.fromkeys(texts) if text and len(find_places(skill, text).editable) == 1)


def _meant(edit: Edit) -> tuple[str, str]:
    """Return the target and the content that the edit's operation reads."""
    target = "" if edit.operation is EditOperation.APPEND else trim_blank_lines(edit.target)
    content = "" if edit.operation is EditOperation.DELETE else trim_blank_lines(edit.content)
    return target, content


def _unusable(edit: Edit) -> _Refusal | None:
    """Return why an edit could be applied to no document at all."""
    target, content = _meant(edit)
    if not target and edit.operation is not EditOperation.APPEND:
        return _Refusal(EditState.INVALID, "the target is empty")
    if not content and edit.operation is not EditOperation.DELETE:
        advice = "; use delete to remove the target" if edit.operation is EditOperation.REPLACE else ""
        return _Refusal(EditState.INVALID, f"the content is empty{advice}")
    problem = unfit(content)
    if problem:
        return _Refusal(EditState.INVALID, f"the content cannot be written, {problem}")
    if holds_marker(content):
        return _Refusal(EditState.PROTECTED, "the content holds a marker of a protected section")
    return None


def _apply(skill: Skill, edit: Edit, *, max_tokens: int) -> Skill | _Refusal:
    splice = _plan(skill, edit)
    if isinstance(splice, _Refusal):
        return splice
    text = skill.text[: splice.span.start] + splice.text + skill.text[splice.span.end :]
    if text == skill.text:
        return _Refusal(EditState.DUPLICATE, "it changes nothing")
    try:
        candidate = Skill(text)
    except SkillError as error:
        return _Refusal(EditState.PROTECTED, f"it would damage a protected section: {error.message}")
    if protected_parts(candidate) != protected_parts(skill):
        return _Refusal(EditState.PROTECTED, "it would change front matter or a protected section")
    tokens = estimate_tokens(text)
    if tokens > max_tokens and tokens > estimate_tokens(skill.text):
        return _Refusal(EditState.OVER_BUDGET, f"the skill would have about {tokens} tokens; the limit is {max_tokens}")
    return candidate


def protected_parts(skill: Skill) -> tuple[str, ...]:
    """Return what no edit changes. The line end behind front matter is left out: a lone front matter may lack it."""
    sections = (skill.text[section.span.start : section.span.end] for section in skill.sections)
    return (skill.front_matter.rstrip("\r\n"), *sections)


def _plan(skill: Skill, edit: Edit) -> _Splice | _Refusal:
    operation = edit.operation
    adds = operation not in (EditOperation.REPLACE, EditOperation.DELETE)
    if adds:
        known_line = _line_of_known(skill, edit.content)
        if known_line:
            return _Refusal(EditState.DUPLICATE, f"the skill says it already, line {known_line}")
    if operation is EditOperation.APPEND:
        return _plan_append(skill, edit.content)
    place = _find_one_place(skill, edit.target)
    if isinstance(place, _Refusal):
        return place
    span, exact = place
    if operation is EditOperation.DELETE:
        return _Splice(widen_for_removal(skill.text, span, floor=skill.body_start), "")
    if operation is EditOperation.REPLACE:
        content = trim_blank_lines(edit.content)
        if not exact and trim_blank_lines(edit.target)[0].isspace():
            content = content.lstrip()  # the place found begins behind the indentation that both of them show
        return _Splice(span, with_line_ends(content, skill.line_end))
    return _plan_insert(skill, edit, span)


def _find_one_place(skill: Skill, target: str) -> tuple[Span, bool] | _Refusal:
    """Return the one span of the body that the target names, and whether it stands there character by character."""
    places = find_places(skill, target)
    if len(places.editable) == 1:
        return places.editable[0], places.exact
    if places.editable:
        return _Refusal(EditState.AMBIGUOUS, _told(skill, places.editable))
    if places.refused:
        line = line_number(skill.text, places.refused[0].start)
        return _Refusal(EditState.PROTECTED, f"line {line}: the target touches front matter or a protected section")
    return _Refusal(EditState.UNMATCHED, "the target is not in the skill")


def _told(skill: Skill, spans: Sequence[Span]) -> str:
    """Return in words how many places there are and on which lines."""
    numbers = list(dict.fromkeys(line_number(skill.text, span.start) for span in spans[:_SHOWN_LINES]))
    first = ", ".join(str(number) for number in numbers)
    if len(spans) > _SHOWN_LINES:
        return f"found in {len(spans)} places: lines {first} and more"
    if len(numbers) == 1:
        return f"found in {len(spans)} places on line {first}"
    return f"found in {len(spans)} places: lines {' and '.join(first.rsplit(', ', 1))}"


def _line_of_known(skill: Skill, content: str) -> int:
    """Return the number of the line at which the body has the content as whole lines already; 0 where it has not."""
    text = skill.text
    for span in normalised_occurrences(text, content):
        before = text[max(line_start(text, span.start), skill.body_start) : span.start]
        after = text[span.end : line_end(text, span.end).start]
        if not before.strip() and not after.strip() and not overlaps_protected(skill, span):
            return line_number(text, span.start)
    return 0


def _plan_append(skill: Skill, content: str) -> _Splice:
    """Put the content behind the last line with text of the body; the white space behind that line stays behind it."""
    tail = len(skill.text)
    for section in reversed(skill.sections):
        if skill.text[section.span.end : tail].strip():
            break
        tail = section.span.start
    end = skill.line_end
    block = with_line_ends(trim_blank_lines(content), end)
    kept = len(skill.text[:tail].rstrip())
    if kept <= len("\ufeff") and not skill.text[:kept].strip("\ufeff"):
        gap = end if skill.body_start == tail < len(skill.text) else ""
        return _Splice(Span(skill.body_start, skill.body_start), block + end + gap)
    last_line = skill.text[line_start(skill.text, kept) : kept]
    gap = "" if _LIST_ITEM.match(block) and _LIST_LINE.match(last_line) else end
    behind = line_end(skill.text, kept)
    if behind.start > tail:
        return _Splice(Span(tail, tail), end + gap + block + end)  # a section begins on the last line
    if behind.start == behind.end:
        return _Splice(behind, end + gap + block)  # the text has no last line end, and gets none
    return _Splice(Span(behind.end, behind.end), gap + block + end)


def _plan_insert(skill: Skill, edit: Edit, span: Span) -> _Splice:
    """Put whole lines next to those that hold the span."""
    text, end, content = skill.text, skill.line_end, edit.content
    block = with_line_ends(trim_blank_lines(content), end)
    asks_before = LINE_END.search(content[: len(content) - len(content.lstrip())]) is not None
    asks_after = trailing_line_ends(content) >= 2
    if edit.operation is EditOperation.INSERT_BEFORE:
        point = max(line_start(text, span.start), skill.body_start)
        lacks_before = point > skill.body_start and trailing_line_ends(text[:point]) < 2
        before, after = end * (asks_before and lacks_before), end * asks_after
        return _Splice(Span(point, point), before + block + end + after)
    behind = line_end(text, span.end)
    before = end * asks_before
    if behind.start == behind.end:
        return _Splice(behind, end + before + block)
    next_line = text[behind.end : line_end(text, behind.end).start]
    after = end * (asks_after and bool(next_line.strip()))
    return _Splice(Span(behind.end, behind.end), before + block + end + after)
