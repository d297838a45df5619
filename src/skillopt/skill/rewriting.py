"""Taking over a whole rewrite of a skill document: its body alone, through the same checks as edits.

Whatever the optimizer did with front matter and protected sections, the document keeps its own, byte for byte. What a
rewrite says outside of them is the new body. Whether the candidate is better is the gate's to say.
"""

from __future__ import annotations

from skillopt.errors import SkillError
from skillopt.skill.document import Skill, unfit
from skillopt.skill.edits import protected_parts
from skillopt.skill.lines import LINE_END, trim_blank_lines, with_line_ends
from skillopt.skill.size import estimate_tokens
from skillopt.types import EditState, Rewrite, RewriteOutcome

_MOST_LINES, _MOST_LINE_CHARACTERS = 10, 200
"""How much of a difference is put into words where the optimizer gave none."""


def apply_rewrite(skill: Skill, rewrite: Rewrite, *, max_tokens: int) -> tuple[Skill, RewriteOutcome]:
    """Return the skill with the body that a rewrite gives it, and how the rewrite ended.

    The rewrite's front matter is left out and the skill's own put in its place, whether the rewrite has any or not. A
    protected section stands where the rewrite has one of its name, else at the tail; its content is the skill's, and
    sections that the skill does not have are left out. Text takes on the document's line ends. A rewrite without a
    summary of its changes gets the lines that differ.

    Args:
        skill: The current skill.
        rewrite: The rewrite, as it came.
        max_tokens: Most tokens (estimated) of a candidate. A skill that is above it already may still be made smaller.

    Returns:
        The candidate, which is the skill itself unless the outcome is applied. Otherwise the outcome is invalid (no
        text, or a character that no text file holds), protected (markers that make no sections), duplicate (nothing
        but blank lines changes) or over_budget (it would grow above max_tokens).
    """
    candidate = _taken_over(skill, rewrite.text, max_tokens=max_tokens)
    if isinstance(candidate, Skill):
        summary = rewrite.change_summary or line_changes(skill.text, candidate.text)
        told = Rewrite(rewrite.text, summary, rewrite.reasoning, rewrite.source_type, rewrite.task_ids)
        return candidate, RewriteOutcome(told, EditState.APPLIED)
    state, detail = candidate
    return skill, RewriteOutcome(rewrite, state, detail)


def line_changes(before: str, after: str) -> tuple[str, ...]:
    """Return the lines that one of two texts lacks, such as "added: Name the unit."; at most 10, cut, and a count."""
    old, new = dict.fromkeys(_lines(before)), dict.fromkeys(_lines(after))
    found = [f"added: {line.strip()}" for line in new if line not in old]
    found += [f"removed: {line.strip()}" for line in old if line not in new]
    more = (f"and {len(found) - _MOST_LINES} more lines",) if len(found) > _MOST_LINES else ()
    return (*(line[:_MOST_LINE_CHARACTERS] for line in found[:_MOST_LINES]), *more)


def _taken_over(skill: Skill, text: str, *, max_tokens: int) -> Skill | tuple[EditState, str]:
    problem = unfit(text)
    if problem:
        return EditState.INVALID, f"the rewrite cannot be written, {problem}"
    try:
        written = Skill(trim_blank_lines(text))
        if not written.body.strip():
            return EditState.INVALID, "the rewrite is empty"
        candidate = Skill(_put_together(skill, written))
    except SkillError as error:
        return EditState.PROTECTED, f"its markers make no protected sections: {error.message}"
    if sorted(protected_parts(candidate)) != sorted(protected_parts(skill)):
        return EditState.PROTECTED, "it would change front matter or a protected section"
    if _lines(candidate.text) == _lines(skill.text):
        return EditState.DUPLICATE, "it changes nothing"
    tokens = estimate_tokens(candidate.text)
    if tokens > max_tokens and tokens > estimate_tokens(skill.text):
        return EditState.OVER_BUDGET, f"the skill would have about {tokens} tokens; the limit is {max_tokens}"
    return candidate


def _put_together(skill: Skill, written: Skill) -> str:
    """Return the skill's own front matter and sections with the body of what was written."""
    end = skill.line_end
    own = {section.name: skill.text[section.span.start : section.span.end] for section in skill.sections}
    pieces: list[str] = []
    position = written.body_start
    for section in written.sections:
        pieces += [with_line_ends(written.text[position : section.span.start], end), own.pop(section.name, "")]
        position = section.span.end
    pieces.append(with_line_ends(written.text[position:], end))
    body = (end * 2).join([trim_blank_lines("".join(pieces)), *own.values()])
    return _head(skill) + body + (end if not skill.text.strip() or skill.text.endswith(("\n", "\r")) else "")


def _head(skill: Skill) -> str:
    """Return the front matter with the blank lines that stand behind it, so that the body begins on a line."""
    front_matter, rest = skill.front_matter, skill.text[skill.body_start :]
    blank = rest[: len(rest) - len(rest.lstrip("\r\n"))]
    lacks_end = front_matter.strip("\ufeff") and not LINE_END.search(front_matter[-1:])
    return front_matter + (skill.line_end if lacks_end else "") + blank


def _lines(text: str) -> list[str]:
    """Return the lines that say something, without the white space at their ends."""
    return [line.rstrip() for line in LINE_END.split(text) if line.strip()]
