"""The options of a multiple-choice task: from a field of the data, or from the text of the question."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_uppercase

from skillopt.environments.reading import last
from skillopt.types import JsonValue, Task

_LABELLED = re.compile(r"[ \t]*(?:\((?P<a>[A-Z]|\d{1,2})\)|(?P<b>[A-Z]|\d{1,2})[).:])[ \t]+(?P<text>\S.*)")
_BULLET = re.compile(r"[ \t]*[-*•][ \t]+(?P<text>\S.*)")
_HEADING = re.compile(r"^[ \t]*(?:answer\s+)?(?:options|choices)[ \t]*:[ \t]*$", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Option:
    """One option.

    Attributes:
        label: What it is chosen by: a letter, a number, or its text where it has neither.
        text: What it says.
    """

    label: str
    text: str

    @property
    def shown(self) -> str:
        """The option as a line of a prompt or a sentence: `(B) text`."""
        return self.text if self.label == self.text else f"({self.label}) {self.text}"


def task_options(task: Task) -> tuple[Option, ...]:
    """Return the options of a task: of its field `options` if it has one, else those in its question; () if none."""
    given = task.fields.get("options")
    if given is not None:
        return read_options(given)
    question = task.fields.get("question")
    return options_in_text(question) if isinstance(question, str) else ()


def read_options(value: JsonValue) -> tuple[Option, ...]:
    """Read a field of options.

    Args:
        value: A list of texts (labelled A, B, C ... in their order), a list of objects with `label` and `text`, an
            object of texts by label, or a text with one option a line.

    Raises:
        ValueError: For any other shape, more than 26 texts without labels, or a label that comes twice.
    """
    if isinstance(value, str):
        options = options_in_text(value)
    elif isinstance(value, dict):
        options = tuple(Option(label.strip(), _text(text)) for label, text in value.items())
    elif isinstance(value, list):
        if len(value) > len(ascii_uppercase) and not isinstance(value[0], dict):
            raise ValueError(f"{len(value)} options without labels; there are letters for {len(ascii_uppercase)}")
        options = tuple(_one(item, position) for position, item in enumerate(value))
    else:
        options = ()
    labels = [option.label for option in options]
    if not options or len(set(labels)) < len(labels):
        raise ValueError(f"the field 'options' holds {'a label twice' if options else 'no options'}")
    return options


def options_in_text(text: str) -> tuple[Option, ...]:
    """Find options that stand one a line: `(A) ...`, `A) ...`, `A. ...`, `1) ...`, or `- ...` below "Options:".

    Letters must run from A and numbers from 1, in order; of several such runs the last one counts.
    """
    heading = last(_HEADING.finditer(text))
    lines = text[heading.end() if heading else 0 :].splitlines()
    labelled = _last_run([found for line in lines if (found := _LABELLED.fullmatch(line))])
    if labelled or heading is None:
        return labelled
    bullets = [found["text"].strip() for line in lines if (found := _BULLET.fullmatch(line))]
    return tuple(Option(bullet, bullet) for bullet in dict.fromkeys(bullets))


def _last_run(found: Sequence[re.Match[str]]) -> tuple[Option, ...]:
    best: list[Option] = []
    run: list[Option] = []
    for match in found:
        label = match["a"] or match["b"]
        position = int(label) - 1 if label.isdigit() else ascii_uppercase.index(label)
        if position == 0:
            run = []
        if position == len(run) and (not run or run[0].label.isdigit() == label.isdigit()):
            run.append(Option(label, match["text"].strip()))
            best = run if len(run) > 1 else best
    return tuple(best)


def _one(item: JsonValue, position: int) -> Option:
    if isinstance(item, dict):
        if "label" not in item or "text" not in item:
            raise ValueError(f"option {position + 1} needs 'label' and 'text'; it has {', '.join(item) or 'nothing'}")
        return Option(_text(item["label"]), _text(item["text"]))
    text = _text(item)
    return Option(ascii_uppercase[position], text)


def _text(value: JsonValue) -> str:
    if isinstance(value, str) and value.strip():
        return value.strip()
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    raise ValueError(f"an option is {value!r}, which is no text")
