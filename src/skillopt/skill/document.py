"""The skill document: front matter, body and protected sections of one exact text.

The text is the truth. Nothing is put together from parsed parts, so whatever is not edited keeps its bytes: line ends,
indentation, a byte order mark, a missing last line end. Edits are made in `edits.py`; files are written in `run/`.

A document may begin with YAML front matter, between a first line `---` and the next one. Protected sections stand
between `<!-- NAME_START -->` and `<!-- NAME_END -->`. No edit changes either of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from skillopt.digests import text_digest
from skillopt.errors import SkillError
from skillopt.skill.lines import (
    Span,
    line_number,
    prevailing_line_end,
    trailing_line_ends,
    trim_blank_lines,
    widen_for_removal,
    with_line_ends,
)
from skillopt.user_files import UnusableFile, read_user_text

SectionName: TypeAlias = Literal["SLOW_UPDATE", "APPENDIX"]

PROTECTED_SECTIONS: tuple[SectionName, ...] = get_args(SectionName)
"""The kinds of protected sections: the slow update's guidance, and the appendix of execution notes."""

_MARKER = re.compile(rf"<!--[ \t]*({'|'.join(PROTECTED_SECTIONS)})_(START|END)[ \t]*-->")
_BYTE_ORDER_MARK = "\ufeff"
_FRONT_MATTER_START = re.compile(r"\ufeff?---[ \t]*(?:\r\n|\n|\r)")
_FRONT_MATTER_END = re.compile(r"(?<=[\r\n])---[ \t]*(?:\r\n|\n|\r|\Z)")
_CONTROL = re.compile(r"[\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""What moves a cursor, or turns the direction of a line so that a person reads what a program does not."""

_SURROGATE = re.compile("[\ud800-\udfff]")

_LARGEST = 4_000_000
"""Most bytes of a skill file: a million tokens, more than any model reads."""


@dataclass(frozen=True, slots=True)
class Section:
    r"""A protected section of a document.

    Attributes:
        name: Its kind.
        span: Offsets in the document's text, markers included.
        content: What stands between the markers, without white space around it and with `\n` line ends.
    """

    name: str
    span: Span
    content: str


@dataclass(frozen=True)
class Skill:
    """An immutable skill document.

    Attributes:
        text: The whole document, exactly as it was read and as it will be written.
        body_start: Offset behind the front matter (and a byte order mark); nothing before it is ever edited.
        sections: The protected sections, in the document's order.

    Raises:
        SkillError: For a text that no UTF-8 text file can hold, and for a marker of a protected section that is
            unclosed, nested or there twice.
    """

    text: str = ""
    body_start: int = field(init=False, repr=False, compare=False)
    sections: tuple[Section, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        problem = unwritable(self.text)
        if problem:
            raise SkillError(problem, hint="A skill is plain UTF-8 text; remove the character.")
        object.__setattr__(self, "body_start", _find_body_start(self.text))
        object.__setattr__(self, "sections", _find_sections(self.text, self.body_start))

    @classmethod
    def parse(cls, text: str) -> Skill:
        """Return the document of a text; its `text` is the given one.

        Raises:
            SkillError: See the class.
        """
        return cls(text)

    @classmethod
    def load(cls, path: str | Path) -> Skill:
        """Read a document from a UTF-8 file; its `text` encodes to the file's bytes again, byte order mark included.

        Raises:
            SkillError: If the file is missing, no regular file, too large, unreadable or not UTF-8, or its text is no
                skill.
        """
        try:
            text = read_user_text(Path(path), most_bytes=_LARGEST)
        except UnusableFile as problem:
            raise SkillError(f"skill file {path} {problem.reason}", hint=problem.hint) from None
        try:
            return cls(text)
        except SkillError as error:
            raise SkillError(f"skill file {path}, {error.message}", hint=error.hint) from None

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the text's UTF-8 bytes, 64 hexadecimal digits: what evidence is kept under."""
        return text_digest(self.text)

    @property
    def short_digest(self) -> str:
        """The first 16 digits of the digest; users of the public SkillOpt know it as `candidate_hash`."""
        return self.digest[:16]

    @property
    def front_matter(self) -> str:
        """All that stands ahead of the body: the front matter with its fences, a byte order mark; "" for neither."""
        return self.text[: self.body_start]

    @property
    def body(self) -> str:
        """What edits may change: the text without front matter and protected sections."""
        starts = (self.body_start, *(section.span.end for section in self.sections))
        ends = (*(section.span.start for section in self.sections), len(self.text))
        return "".join(self.text[start:end] for start, end in zip(starts, ends, strict=True))

    @property
    def line_end(self) -> str:
        """The line end that the document uses most, which text put into it takes on."""
        return prevailing_line_end(self.text)

    @property
    def guidance(self) -> str:
        """The slow update's text; "" where there is none."""
        section = self.section("SLOW_UPDATE")
        return section.content if section else ""

    def section(self, name: SectionName) -> Section | None:
        """Return the protected section of a kind, if the document has one."""
        return next((section for section in self.sections if section.name == name), None)

    def with_section(self, name: SectionName, content: str) -> Skill:
        """Return the document with the content of a protected section replaced whole.

        Args:
            name: Its kind. A document without such a section gets it at its tail.
            content: The new content; one without any text removes the section.

        Raises:
            SkillError: If the content holds a marker of a protected section.
        """
        if holds_marker(content):
            raise SkillError(
                f"the content for the {name} section holds a marker of a protected section",
                hint="Leave the <!-- ..._START --> and <!-- ..._END --> lines out; they are put around it.",
            )
        content = with_line_ends(trim_blank_lines(content), self.line_end)
        block = self.line_end.join((f"<!-- {name}_START -->", content, f"<!-- {name}_END -->"))
        section = self.section(name)
        if not content:
            if section is None:
                return self
            start, end = widen_for_removal(self.text, section.span, floor=self.body_start)
            return Skill(self.text[:start] + self.text[end:])
        if section is None:
            return Skill(self.text + self._gap_at_end() + block + self.line_end)
        if section.content == with_line_ends(content.strip(), "\n"):
            return self
        return Skill(self.text[: section.span.start] + block + self.text[section.span.end :])

    def _gap_at_end(self) -> str:
        """Return the line ends that the text lacks for one blank line ahead of what is put behind it."""
        if not self.text.strip().strip(_BYTE_ORDER_MARK):
            return ""
        line_ends = trailing_line_ends(self.text)
        if line_ends >= 2 and self.text.endswith(("\n", "\r")):
            return ""
        return self.line_end * (1 if line_ends else 2)


def unwritable(text: str) -> str:
    """Return why a text cannot stand in a UTF-8 text file, with the line; "" where it can."""
    position = text.find("\0")
    if position >= 0:
        return f"line {line_number(text, position)}: it holds a NUL character"
    surrogate = _SURROGATE.search(text)
    if surrogate:
        return f"line {line_number(text, surrogate.start())}: it holds half of a surrogate pair"
    return ""


def unfit(text: str) -> str:
    """Return why a model's text is not let into a skill, with the line; "" where it is.

    Besides what no file can hold these are control characters: whoever prints the skill must not find their cursor
    moved, and what cannot be seen must not reach the target.
    """
    control = _CONTROL.search(text)
    if control:
        return unwritable(text) or f"line {line_number(text, control.start())}: it holds a control character"
    return unwritable(text)


def holds_marker(text: str) -> bool:
    """Return whether a text holds a marker of a protected section."""
    return _MARKER.search(text) is not None


def _find_body_start(text: str) -> int:
    start = _FRONT_MATTER_START.match(text)
    end = _FRONT_MATTER_END.search(text, start.end()) if start else None
    if end:
        return end.end()
    return len(_BYTE_ORDER_MARK) if text.startswith(_BYTE_ORDER_MARK) else 0


def _find_sections(text: str, body_start: int) -> tuple[Section, ...]:
    """Return the protected sections. Code fences do not hide a marker: what looks protected is protected."""
    sections: list[Section] = []
    opened: re.Match[str] | None = None
    for marker in _MARKER.finditer(text, body_start):
        name, kind = marker.groups()
        place = f"line {line_number(text, marker.start())}: {marker.group()}"
        if kind == "START":
            if opened:
                raise _misplaced(f"{place} stands inside the {opened.group(1)} section, which is not closed yet")
            if any(section.name == name for section in sections):
                raise _misplaced(f"{place} opens a second {name} section")
            opened = marker
        elif opened is None or opened.group(1) != name:
            raise _misplaced(f"{place} closes a section that is not open")
        else:
            content = with_line_ends(text[opened.end() : marker.start()].strip(), "\n")
            sections.append(Section(name, Span(opened.start(), marker.end()), content))
            opened = None
    if opened:
        raise _misplaced(f"line {line_number(text, opened.start())}: {opened.group()} is never closed")
    return tuple(sections)


def _misplaced(problem: str) -> SkillError:
    return SkillError(
        problem,
        hint="A protected section is one <!-- NAME_START --> with its <!-- NAME_END -->, once for each name and "
        "none inside another; mend or remove the marker.",
    )
