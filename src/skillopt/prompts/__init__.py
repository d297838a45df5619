"""Every prompt as a Markdown file beside this one.

A file holds a system part and a user part; `{{name}}` is a slot. What a slot receives is never searched for slots
again, so braces in a skill or a trajectory are just text.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

from skillopt.digests import digest
from skillopt.types import Message

_SLOT = re.compile(r"\{\{([a-z_]+)\}\}")
_USER = "<!-- user -->"


@cache
def _template(name: str) -> tuple[str, str]:
    text = resources.files(__name__).joinpath(f"{name}.md").read_text(encoding="utf-8")
    system, found, user = text.partition(_USER)
    if not found:
        raise ValueError(f"prompt {name}: the line {_USER} between the system and the user part is missing")
    return system.strip(), user.strip()


def slots(name: str) -> frozenset[str]:
    """Return the names of a prompt's slots."""
    return frozenset(_SLOT.findall("\n".join(_template(name))))


def prompts_digest() -> str:
    """Return the digest of all prompts: runs with different ones cannot be compared, or go on from each other."""
    files = (entry for entry in resources.files(__name__).iterdir() if entry.name.endswith(".md"))
    return digest({entry.name: entry.read_text(encoding="utf-8") for entry in files})


def render(name: str, **values: str) -> tuple[Message, ...]:
    """Return a prompt as a system and a user message, with every slot filled.

    Raises:
        ValueError: If a slot has no value or a value has no slot: nothing that was meant for the model may be lost.
    """
    if slots(name) != values.keys():
        missing, unused = sorted(slots(name) - values.keys()), sorted(values.keys() - slots(name))
        raise ValueError(f"prompt {name}: slots without a value: {missing}, values without a slot: {unused}")
    system, user = (_SLOT.sub(lambda match: values[match[1]], part) for part in _template(name))
    return (Message("system", system), Message("user", user))
