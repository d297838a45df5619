"""What the simulated optimizer makes of earlier trials: edits that lost, kinds of edits that helped, its own guidance.

It reads the digest of rejected edits, its memory and the lists of accepted and rejected edits as a model would, by
their words. How much of it the optimizer minds is set there (`optimizer.py`, `heeds`).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Final, TypeAlias

from skillopt.simulation.records import plain
from skillopt.simulation.world import World
from skillopt.types import JsonValue

Sense: TypeAlias = tuple[bool, str]
"""What an edit comes to: whether it only deletes, and the words that it brings or deletes."""

KINDS_OF_EDITS: Final = ("useful", "useless", "harmful")
"""Kinds of edits, from the best to the worst."""

_NAMES: Final = ("Rules for one subject", "General advice", "Orders against the rules")
_TRIAL = re.compile(
    r"^- (append|insert_after|insert_before|replace|delete) (\".*) \((tried|step) .*$",
    re.MULTILINE,
)
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_COUNTS = re.compile(rf"^({'|'.join(_NAMES)}): ([0-9]+) accepted, ([0-9]+) rejected\.", re.MULTILINE)
_GUIDANCE = re.compile(r"<!-- SLOW_UPDATE_START -->(.*?)<!-- SLOW_UPDATE_END -->", re.DOTALL)


def edit_sense(edit: Mapping[str, JsonValue]) -> Sense:
    """Return what an edit of a reply, of one line, comes to, wherever it puts its words."""
    content = str(edit.get("content") or "")
    return (False, content.removeprefix("- ")) if content else (True, str(edit.get("target") or "").removeprefix("- "))


def lost_edits(text: str) -> frozenset[Sense]:
    """Return the edits that a prompt shows as tried and lost."""
    return frozenset(sense for tried, _, sense in _trials(text) if tried)


def kind_of_edit(world: World, operation: str, words: str) -> str:
    """Return the kind of an edit by what it brings, or, where it deletes, by what it removes."""
    found = plain(words)
    harms = any(sentence in found for sentence in world.harmful)
    if operation == "delete":
        return "useful" if harms else "useless"
    if harms:
        return "harmful"
    return "useful" if any(rule.sentence in found for rule in world.rules) else "useless"


def memory_text(world: World, text: str) -> str:
    """Return a memory: how many edits of each kind a prompt shows as accepted and as rejected, no more than that."""
    counts = Counter(
        (kind_of_edit(world, operation, sense[1]), rejected) for rejected, operation, sense in _trials(text)
    )
    lines = [
        f"{name}: {counts[kind, False]} accepted, {counts[kind, True]} rejected."
        for kind, name in zip(KINDS_OF_EDITS, _NAMES, strict=True)
    ]
    return "\n".join([*lines, "(simulated)"])


def trusts(text: str) -> tuple[float, ...]:
    """Return for each kind of edits the share that was accepted, by the memory in a prompt; one half where it is mute.

    The estimate is (accepted + 1) / (accepted + rejected + 2), so no kind is ever given up or taken for granted.
    """
    counts = {name: (int(accepted), int(rejected)) for name, accepted, rejected in _COUNTS.findall(text)}
    return tuple((1 + yes) / (2 + yes + no) for yes, no in (counts.get(name, (0, 0)) for name in _NAMES))


def earlier_guidance(text: str) -> tuple[str, ...]:
    """Return the lines of the guidance that stands in the skill of a prompt, without list markers."""
    found = _GUIDANCE.findall(text)
    return tuple(plain(line) for line in found[-1].splitlines() if line.strip()) if found else ()


def _trials(text: str) -> list[tuple[bool, str, Sense]]:
    """Return the edits of a prompt's lists of trials: whether it lost, its operation, what it comes to."""
    trials: list[tuple[bool, str, Sense]] = []
    for operation, texts, how in _TRIAL.findall(text):
        quoted = _QUOTED.findall(texts)
        if quoted:
            trials.append((how == "tried", operation, (operation == "delete", plain(json.loads(quoted[-1])))))
    return trials
