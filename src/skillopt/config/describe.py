"""What a setting may hold, in words, read off the schema: the same words in error messages and in the documentation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from skillopt.config.provenance import KeyPath

_WORDS: dict[Any, str] = {int: "whole number", float: "number", bool: "true or false", str: "text", Any: "any value"}
_BOUNDS = (("ge", "at least {}"), ("gt", "above {}"), ("le", "at most {}"), ("lt", "below {}"))


@dataclass(frozen=True, slots=True)
class Kind:
    """What a setting may hold.

    Attributes:
        words: Its type, such as "whole number" or "one of hard, soft, mixed".
        range: Its limits, such as "at least 1"; "" where there are none.
        choices: The words it may be, where it is one of a few.
        optional: Whether it may be null.
    """

    words: str
    range: str = ""
    choices: tuple[str, ...] = ()
    optional: bool = False

    def __str__(self) -> str:
        return ", ".join(part for part in (self.words, self.range) if part) + (" or null" if self.optional else "")


def kind(annotation: Any, metadata: tuple[Any, ...] = ()) -> Kind:
    """Describe a type with its constraints."""
    optional = False
    while True:
        origin, arguments = get_origin(annotation), get_args(annotation)
        if origin is Annotated:
            annotation, metadata = arguments[0], (*_constraints(arguments[1:]), *metadata)
        elif origin in (Union, UnionType) and type(None) in arguments:
            optional = True
            rest = tuple(argument for argument in arguments if argument is not type(None))
            annotation = rest[0] if len(rest) == 1 else Union[rest]  # noqa: UP007 - made while running
        else:
            break
    limits = ", ".join(
        words.format(f"{value:g}")
        for name, words in _BOUNDS
        for item in metadata
        if (value := getattr(item, name, None)) is not None
    )
    choices = tuple(str(choice) for choice in arguments) if origin is Literal else ()
    return Kind(_words(annotation), limits, choices, optional)


def kind_of_field(field: FieldInfo) -> Kind:
    """Describe a field of a section."""
    return kind(field.annotation, tuple(field.metadata))


def nested_section(field: FieldInfo) -> type[BaseModel] | None:
    """Return the section that a field holds, be it optional or not; None for a plain value."""
    candidates = (field.annotation, *get_args(field.annotation))
    return next((item for item in candidates if isinstance(item, type) and issubclass(item, BaseModel)), None)


def settings(section: type[BaseModel], path: KeyPath = ()) -> Iterator[tuple[KeyPath, FieldInfo]]:
    """Yield every key of a section and of the sections within it, with its field, in the schema's order."""
    for name, field in section.model_fields.items():
        inner = nested_section(field)
        if inner is None:
            yield (*path, name), field
        else:
            yield from settings(inner, (*path, name))


def field_at(section: type[BaseModel], path: KeyPath) -> FieldInfo | None:
    """Return the field a key belongs to; for a key inside a plain mapping, the field of the mapping."""
    field: FieldInfo | None = None
    for name in path:
        if name not in section.model_fields:
            return field
        field = section.model_fields[name]
        inner = nested_section(field)
        if inner is None:
            return field
        section = inner
    return field


def kind_at(section: type[BaseModel], path: KeyPath) -> Kind | None:
    """Describe what a key may hold, be it one inside a plain mapping; None where there is no such key."""
    field = field_at(section, path)
    if field is None:
        return None
    within = len(path) > 1 and field_at(section, path[:-1]) is field
    if within and get_origin(field.annotation) is dict:
        return kind(get_args(field.annotation)[1])
    return kind_of_field(field)


def _constraints(metadata: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(
        constraint for item in metadata for constraint in (item.metadata if isinstance(item, FieldInfo) else (item,))
    )


def _words(annotation: Any) -> str:
    origin: Any = get_origin(annotation)
    arguments = get_args(annotation)
    simple = _WORDS.get(annotation) or str(getattr(annotation, "__name__", "value"))
    if origin is Literal:
        return "one of " + ", ".join(str(choice) for choice in arguments)
    if origin in (Union, UnionType):
        return " or ".join(kind(argument).words for argument in arguments)
    if origin in (list, tuple, set, frozenset):
        return "list"
    if origin is dict or (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
        return "mapping"
    return simple
