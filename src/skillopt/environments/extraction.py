"""Finding the answer in what the target said.

Each way is a pure function of the reply's text. None of them judges the answer; that is the scorer's part. Text that is
not there gives "", never an error: a target that does not answer is a fact to be scored.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from skillopt.digests import canonical_json
from skillopt.environments.patterns import last_match
from skillopt.environments.reading import last, read_json_object
from skillopt.types import JsonValue

Extraction: TypeAlias = Literal["auto", "tag", "last_line", "json_field", "pattern", "whole"]
"""The ways to find an answer."""

LONGEST_REPLY = 100_000
"""Characters of a reply that are looked at, counted from its end: answers stand there."""

_THINK = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE)
_ANSWER_OPEN = re.compile(r"<answer\b[^<>]*>", re.IGNORECASE)
_ANSWER_CLOSE = re.compile(r"</answer\s*>", re.IGNORECASE)
_LABEL = re.compile(
    r"(?:\#+\s+)?\*{0,3}(?:the\s+)?(?:final\s+|correct\s+)?answer\*{0,3}(?:\s+is\b\s*:?|\s*:)\*{0,3}\s*", re.IGNORECASE
)
_MARKS = ("```", "***", "**", "*", "``", "`", "$$", "$")


def extract(reply: str, how: Extraction, *, field: str = "", pattern: str = "") -> str:
    r"""Return the answer in a reply, without white space around it; "" where there is none.

    Args:
        reply: The target's final message. Reasoning between `<think>` tags is taken out first.
        how: "auto" takes the last answer tag, else the last line; "tag" what the last `<answer>` tag holds (to the
            end if it is not closed); "last_line" the last line that is neither empty nor a code fence; "json_field"
            one field of the last JSON object; "pattern" the last match of a regular expression, its first group where
            it has one; "whole" everything. "auto", "tag" and "last_line" also take off what `tidy` takes off.
        field: For "json_field": its name, or a path such as `result.value` or `items.0`.
        pattern: For "pattern": the regular expression (Python's syntax, `^` and `$` match at lines).

    Raises:
        PatternTimeout: If the regular expression takes too long on the reply.
    """
    text = without_reasoning(reply)[-LONGEST_REPLY:]
    if how == "whole":
        return text.strip()
    if how == "json_field":
        return _json_field(text, field)
    if how == "pattern":
        return last_match(pattern, text).strip()
    tagged = _last_tag(text)
    if how == "tag" or (how == "auto" and tagged is not None):
        return tidy(tagged or "")
    return tidy(_last_line(text))


def has_tag(reply: str) -> bool:
    """Whether a reply holds an `<answer>` tag outside its reasoning."""
    return _last_tag(without_reasoning(reply)[-LONGEST_REPLY:]) is not None


def without_reasoning(text: str) -> str:
    """Take out what stands between `<think>` tags; an unclosed one takes the rest, a lone closing one all before it."""
    kept: list[str] = []
    start, inside = 0, False
    for tag in _THINK.finditer(text):
        if tag[1]:
            if not inside:
                kept.clear()  # the opening tag was part of the model's own template
            start, inside = tag.end(), False
        elif not inside:
            kept.append(text[start : tag.start()])
            inside = True
    if not inside:
        kept.append(text[start:])
    return "".join(kept)


def tidy(answer: str) -> str:
    r"""Take off what models put around a final answer.

    That is: a label ("Answer:", "**Final answer:**", "The answer is"), emphasis, code or formula marks around
    the whole, and `\boxed{...}`, of which the last one's content is taken. Nothing inside the answer is touched.
    """
    text = _inside_marks(answer.strip())
    text = _inside_marks(_LABEL.sub("", text, count=1).strip() if _LABEL.match(text) else text)
    boxed = last_boxed(text)
    return text if boxed is None else _inside_marks(boxed)


def last_boxed(text: str) -> str | None:
    r"""Return the content of the last `\boxed{...}`, braces inside it balanced; None where there is none."""
    start = text.rfind("\\boxed{")
    if start < 0:
        return None
    depth, begin = 0, start + len("\\boxed")
    for position in range(begin, len(text)):
        depth += {"{": 1, "}": -1}.get(text[position], 0)
        if depth == 0:
            return text[begin + 1 : position].strip()
    return None


def _inside_marks(text: str) -> str:
    for mark in _MARKS:
        inner = text[len(mark) : -len(mark)]
        if len(text) > 2 * len(mark) and text.startswith(mark) and text.endswith(mark) and mark not in inner:
            return inner.strip()
    return text


def _last_tag(text: str) -> str | None:
    opened = last(_ANSWER_OPEN.finditer(text))
    if opened is None:
        return None
    closed = _ANSWER_CLOSE.search(text, opened.end())
    return text[opened.end() : closed.start() if closed else len(text)]


def _last_line(text: str) -> str:
    lines = (line.strip() for line in reversed(text.splitlines()))
    return next((line for line in lines if line and not line.startswith(("```", "~~~"))), "")


def _json_field(text: str, path: str) -> str:
    value: JsonValue = read_json_object(text)
    for part in path.split("."):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isascii() and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            return ""
    return value.strip() if isinstance(value, str) else canonical_json(value)
