"""Texts of a reply have an end where a grammar holds a small model to them."""

from __future__ import annotations

from skillopt.models.bounded_texts import MOST_CHARACTERS, with_bounded_texts
from skillopt.step.replies import EditsReply, RankingReply, edits_schema
from skillopt.types import JsonValue


def free_texts(part: JsonValue) -> list[dict[str, JsonValue]]:
    if isinstance(part, list):
        return [text for item in part for text in free_texts(item)]
    if not isinstance(part, dict):
        return []
    own = [part] if part.get("type") == "string" and "enum" not in part else []
    return own + [text for value in part.values() for text in free_texts(value)]


def test_every_free_text_of_a_reply_has_an_end() -> None:
    for schema in (EditsReply.reply_schema(), RankingReply.reply_schema(), edits_schema(("Be brief.",), merge=True)):
        texts = free_texts(with_bounded_texts(schema.schema))
        assert texts
        assert all(int(str(text["maxLength"])) <= MOST_CHARACTERS for text in texts)


def test_reasoning_is_kept_shorter_than_content() -> None:
    bounded = with_bounded_texts({"type": "object", "properties": {"reasoning": {"type": "string"}}})
    assert bounded["properties"] == {"reasoning": {"type": "string", "maxLength": 400}}


def test_lists_and_bounds_of_the_schema_itself_stay() -> None:
    kept: dict[str, JsonValue] = {
        "type": "object",
        "properties": {"op": {"type": "string", "enum": ["append"]}, "name": {"type": "string", "maxLength": 5}},
        "required": ["op", "name"],
    }
    assert with_bounded_texts(kept) == kept


def test_a_field_that_is_named_type_is_no_text() -> None:
    assert with_bounded_texts({"type": "object", "properties": {"type": {"type": "integer"}}}) == {
        "type": "object",
        "properties": {"type": {"type": "integer"}},
    }
