"""The scorer that compares a JSON object field by field."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from skillopt.digests import canonical_json
from skillopt.environments.reading import parse_json, read_json_object
from skillopt.environments.scorers.base import Scorer, data_error, gold_values, shown, trimmed
from skillopt.types import JsonValue, Score, Task, Trajectory

ExtraFields: TypeAlias = Literal["forbid", "allow"]

_LONGEST_VALUE = 80


def equal_json(ours: JsonValue, theirs: JsonValue) -> bool:
    """Whether two JSON values are equal: 1 is 1.0, true is not 1, texts may differ in white space around them."""
    if isinstance(ours, bool) or isinstance(theirs, bool):
        return ours is theirs
    if isinstance(ours, str) and isinstance(theirs, str):
        return ours.strip() == theirs.strip()
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(equal_json, ours, theirs))
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(equal_json(value, theirs[key]) for key, value in ours.items())
    return ours == theirs


@dataclass(frozen=True)
class JsonFields(Scorer):
    """Solved if every expected field is equal; partial credit is the share of fields that are.

    Attributes:
        fields: Fields to compare; by default those of the expected object.
        extra_fields: Whether an answer with fields that are not expected can be solved; looked at only where all
            fields are compared.
    """

    fields: tuple[str, ...] = ()
    extra_fields: ExtraFields = "forbid"

    @property
    def rule(self) -> str:
        """Field by field."""
        which = f"in the fields {', '.join(self.fields)}" if self.fields else "field by field"
        more = " and has no other field" if self.extra_fields == "forbid" and not self.fields else ""
        return f"it is a JSON object that equals the expected one {which}{more}; each right field earns partial credit"

    def check(self, task: Task) -> None:
        """Every accepted answer must be a JSON object, as such or as text, with the fields to compare."""
        self._golds(task)

    def score(self, predicted: str, task: Task, trajectory: Trajectory) -> Score:
        """Compare with each accepted object and keep the best."""
        answer = read_json_object(predicted)
        return max(
            (self._compare(predicted, answer, gold) for gold in self._golds(task)),
            key=lambda score: (score.hard, score.soft),
        )

    def _compare(self, predicted: str, answer: dict[str, JsonValue] | None, gold: Mapping[str, JsonValue]) -> Score:
        kept = trimmed(predicted)
        if answer is None:
            came = f"the answer '{shown(predicted)}' holds no JSON object" if predicted else "no answer was found"
            return Score(0, 0.0, f"Expected {shown(_written(gold))}; {came}.", kept, shown(_written(gold)))
        unequal = [
            _difference(name, value, answer) for name, value in gold.items() if not _has_equal(name, value, answer)
        ]
        strict = self.extra_fields == "forbid" and not self.fields
        surplus = [f"{name!r} was not expected" for name in answer if name not in gold] if strict else []
        soft = (len(gold) - len(unequal)) / len(gold)
        if not unequal and not surplus:
            return Score(1, soft, f"Right: {shown(_written(answer))}.", kept, shown(_written(gold)))
        matched = f"{len(gold) - len(unequal)} of {len(gold)} fields are right"
        differences = f"{matched}: {shown('; '.join([*unequal, *surplus]), 600)}."
        return Score(0, soft, differences, kept, shown(_written(gold)), note=differences)

    def _golds(self, task: Task) -> tuple[dict[str, JsonValue], ...]:
        return tuple(self._gold(task, value) for value in gold_values(task))

    def _gold(self, task: Task, value: JsonValue) -> dict[str, JsonValue]:
        gold = _parsed(task, value) if isinstance(value, str) else value
        if not isinstance(gold, dict) or not gold:
            raise data_error(task, f"the answer {shown(canonical_json(value))} is no JSON object with fields")
        if missing := [name for name in self.fields if name not in gold]:
            raise data_error(
                task,
                f"the expected object has no field {missing[0]!r}",
                hint=f"Its fields are {', '.join(gold)}; env.json_fields names those to compare.",
            )
        return {name: gold[name] for name in self.fields} if self.fields else gold


def _parsed(task: Task, text: str) -> JsonValue:
    try:
        return parse_json(text)
    except ValueError as error:
        raise data_error(task, f"the answer '{shown(text)}' is not JSON: {error}") from error


def _has_equal(name: str, value: JsonValue, answer: Mapping[str, JsonValue]) -> bool:
    return name in answer and equal_json(value, answer[name])


def _difference(name: str, value: JsonValue, answer: Mapping[str, JsonValue]) -> str:
    if name not in answer:
        return f"{name!r} is missing, expected {_value(value)}"
    came = answer[name]
    kinds = (_kind(value), _kind(came))
    if kinds[0] == kinds[1]:
        return f"{name!r} expected {_value(value)}, was {_value(came)}"
    return f"{name!r} expected {_value(value)} ({kinds[0]}), was {_value(came)} ({kinds[1]})"


def _kind(value: JsonValue) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "truth value"
    if isinstance(value, str):
        return "text"
    if isinstance(value, (int, float)):
        return "number"
    return "list" if isinstance(value, list) else "object"


def _value(value: JsonValue) -> str:
    return shown(_written(value), _LONGEST_VALUE)


def _written(value: JsonValue | Mapping[str, JsonValue]) -> str:
    return json.dumps(value, ensure_ascii=False)
