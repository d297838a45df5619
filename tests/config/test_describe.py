"""Settings in words, read off the schema."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from skillopt.config.describe import field_at, kind, kind_at, kind_of_field, settings
from skillopt.config.schema import Config


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (int, "whole number"),
        (Annotated[int, Field(ge=1)], "whole number, at least 1"),
        (Annotated[float, Field(gt=0.0, le=2.5)] | None, "number, above 0, at most 2.5 or null"),
        (Literal["a", "b"], "one of a, b"),
        (int | str, "whole number or text"),
        (list[str], "list"),
        (tuple[str, ...], "list"),
        (dict[str, Any], "mapping"),
        (Config, "mapping"),
        (bool, "true or false"),
        (Any, "any value"),
    ],
)
def test_a_type_is_said_in_words(annotation: Any, words: str) -> None:
    assert str(kind(annotation)) == words


def test_every_setting_of_the_schema_has_words_of_its_own_and_a_meaning() -> None:
    for path, field in settings(Config):
        assert kind_of_field(field).words not in ("value", "Annotated", "Union"), path
        assert field.description, path


def test_the_field_of_a_key_inside_a_mapping_is_the_mapping() -> None:
    class Inner(BaseModel):
        names: dict[str, str] = {}

    class Outer(BaseModel):
        inner: Inner = Inner()

    assert field_at(Outer, ("inner", "names", "x")) is Inner.model_fields["names"]
    assert field_at(Outer, ("nothing",)) is None


def test_a_key_inside_a_mapping_is_described_by_what_the_mapping_holds() -> None:
    class Outer(BaseModel):
        shares: dict[str, Annotated[float, Field(ge=0.0, le=1.0)]] = {}

    assert str(kind_at(Outer, ("shares", "x"))) == "number, at least 0, at most 1"
    assert str(kind_at(Outer, ("shares",))) == "mapping"
    assert kind_at(Outer, ("nothing", "x")) is None
