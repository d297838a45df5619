"""What differs between the run that a directory belongs to and the one that is started on it, in lines for a person.

It compares and words; what the two are, and which differences are allowed, is `identity.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from skillopt.config.secrets import HIDDEN, found_secrets, is_secret_name
from skillopt.types import JsonValue

_MOST_SHOWN = 120
"""Most characters of one value; longer ones are cut to where the two begin to differ."""
_AHEAD = 20
"""Characters that are shown ahead of the first difference."""
_MOST_IDS = 5
"""Most task ids that one line names."""
_LONGEST_ID = 40
_DIGEST = re.compile(r"[0-9a-f]{64}")
_DIGEST_SHOWN = 12

TaskList = Sequence[tuple[str, str]]
"""The tasks of a split, in its order: id and digest of the content of each."""


def changed_keys(before: Mapping[str, JsonValue], after: Mapping[str, JsonValue]) -> list[str]:
    """Return the keys whose values differ, in their order; one that is not there counts as null."""
    # As JSON: to Python, 1 and true are equal.
    return [key for key in {**before, **after} if _text(before.get(key)) != _text(after.get(key))]


def setting_line(key: str, before: JsonValue, after: JsonValue) -> str:
    """Return the line of one key with its old and its new value: long ones cut, what may be secret hidden."""
    old, new = _shown_pair(key, before, after)
    return f"{key}: {old} -> {new}"


def tasks_line(split: str, before: TaskList, after: TaskList) -> str:
    """Return the line of a split whose tasks are not the same: which were added, removed and changed, or moved."""
    old, new = dict(before), dict(after)
    found = {
        "added": [name for name in new if name not in old],
        "removed": [name for name in old if name not in new],
        "changed": [name for name in old if name in new and old[name] != new[name]],
    }
    told = [f"{len(names)} {what} ({_named(names)})" for what, names in found.items() if names]
    return f"tasks of {split}: {', '.join(told) or 'the same tasks in another order'}"


def _named(names: Sequence[str]) -> str:
    shown = [json.dumps(name[:_LONGEST_ID] + "..." * (len(name) > _LONGEST_ID)) for name in names[:_MOST_IDS]]
    return ", ".join(shown) + (f" and {len(names) - _MOST_IDS} more" if len(names) > _MOST_IDS else "")


def _shown_pair(key: str, before: JsonValue, after: JsonValue) -> tuple[str, str]:
    path = tuple(key.split("."))
    if any(is_secret_name(name, section=path[0]) for name in path):
        return HIDDEN, HIDDEN
    texts = (_text(before), _text(after))
    shorter = min(map(len, texts))
    alike = next((place for place in range(shorter) if texts[0][place] != texts[1][place]), shorter)
    start = max(0, alike - _AHEAD)
    # Of what is a digest by its name, the digits are no key.
    digest = key.endswith(("sha256", "(digest)"))
    old, new = (
        HIDDEN if not digest and any(found_secrets(value, path)) else _cut(text, start)
        for text, value in zip(texts, (before, after), strict=True)
    )
    return old, new


def _cut(text: str, start: int) -> str:
    if _DIGEST.fullmatch(text[1:-1]):
        return f'{text[: 1 + _DIGEST_SHOWN]}..."'
    if len(text) <= _MOST_SHOWN:
        return text
    shown = text[start : start + _MOST_SHOWN]
    return f"{'...' if start else ''}{shown}{'...' if start + _MOST_SHOWN < len(text) else ''}"


def _text(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
