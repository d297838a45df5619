"""The forms of the optimizer's structured replies."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from skillopt.models.base import ReplySchema
from skillopt.step.replies import EditsReply, MergeReply, RankingReply, as_object, edits_schema, read_edits, shown
from skillopt.types import Edit, EditOperation, EditState

EDIT = {"op": "append", "content": "x"}


@pytest.mark.parametrize(
    ("value", "edits"),
    [
        ({"edits": [EDIT]}, [EDIT]),
        ({"edits": EDIT}, [EDIT]),
        ({"edits": None}, []),
        ({"patch": {"edits": [EDIT], "reasoning": "why"}, "failure_summary": ["wrong unit"]}, [EDIT]),
        ([EDIT, EDIT], [EDIT, EDIT]),
        (EDIT, [EDIT]),
        ({"edits": [EDIT], "batch_size": "8 trajectories", "confidence": None}, [EDIT]),
    ],
)
def test_the_shape_is_tolerated_where_the_meaning_is_clear(value: Any, edits: list[Any]) -> None:
    """More 12."""
    assert EditsReply.model_validate(value).edits == edits


@pytest.mark.parametrize("value", [{}, {"reasoning": "I would add a rule"}, 7, "append x", None])
def test_a_value_without_edits_is_refused_with_the_form_to_use(value: Any) -> None:
    """F53: the second request shows the optimizer what was missing."""
    with pytest.raises(ValidationError, match=r'(there is no "edits"|dictionary)'):
        EditsReply.model_validate(value)


@pytest.mark.parametrize("reply", [EditsReply, MergeReply])
def test_each_kind_of_edit_has_a_schema_of_its_own(reply: type[EditsReply]) -> None:
    """Constrained decoding cannot invent a target for an append or leave out one that is needed."""
    kinds: Any = reply.reply_schema().schema["properties"]["edits"]["items"]["anyOf"]  # type: ignore[index,call-overload]
    fields = {kind["properties"]["op"]["enum"][0]: set(kind["properties"]) - {"op", "sources"} for kind in kinds}
    assert fields == {
        "append": {"content"},
        "insert_after": {"target", "content"},
        "insert_before": {"target", "content"},
        "replace": {"target", "content"},
        "delete": {"target"},
    }
    assert all(kind["required"] == list(kind["properties"]) for kind in kinds)
    assert all(("sources" in kind["properties"]) == (reply is MergeReply) for kind in kinds)


def test_the_replies_keep_the_public_names() -> None:
    assert set(EditsReply.reply_schema().schema["properties"]) == {"reasoning", "edits"}  # type: ignore[call-overload,arg-type]
    assert set(RankingReply.reply_schema().schema["properties"]) == {"reasoning", "selected_indices"}  # type: ignore[call-overload,arg-type]


def test_an_edit_takes_its_source_and_tasks_from_the_stage() -> None:
    """More 11."""
    (edit,), discarded = read_edits(
        [{"op": "replace", "target": "a", "content": "b", "support_count": 99, "source_type": "success"}],
        source_type="failure",
        task_ids=("t1",),
    )
    assert edit == Edit(EditOperation.REPLACE, "a", "b", 1, "failure", ("t1",))
    assert discarded == ()


def test_null_target_and_content_are_empty() -> None:
    """REFERENCE, appendix C: `target: null` of an append is no error."""
    (edit,), _ = read_edits([{"op": "APPEND", "content": "x", "target": None}], source_type="failure", task_ids=())
    assert (edit.operation, edit.target, edit.content) == (EditOperation.APPEND, "", "x")


@pytest.mark.parametrize(
    ("entry", "detail"),
    [
        ({"op": "rewrite"}, "op is 'rewrite'"),
        ({"content": "x"}, "op is None"),
        ({"op": ["append"]}, "op is"),
        ({"op": "append", "content": {"text": "x"}}, "content is no text"),
        ({"op": "delete", "target": 3}, "target is no text"),
        ("append x", "not an object"),
        ([EDIT], "not an object"),
    ],
)
def test_what_is_no_edit_is_kept_with_the_reason(entry: Any, detail: str) -> None:
    """F57, More 12."""
    edits, (discarded,) = read_edits([entry], source_type="failure", task_ids=())
    assert (edits, discarded.state, discarded.entry) == ((), EditState.INVALID, shown(entry))
    assert discarded.detail.startswith(detail)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just("append"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["op", "target", "content"]), inner),
    max_leaves=5,
)


@settings(max_examples=60)
@given(st.lists(JSON, max_size=5))
def test_each_entry_is_an_edit_or_discarded_and_none_ends_the_run(entries: list[Any]) -> None:
    """More 12: one bad field never ends a run."""
    edits, discarded = read_edits(entries, source_type="failure", task_ids=())
    assert len(edits) + len(discarded) == len(entries)


def test_a_discarded_entry_is_text_of_bounded_length() -> None:
    assert shown({"é": 1}) == '{"é": 1}'
    assert len(shown("x" * 9000)) == 2000
    assert as_object([1]) is None


def test_targets_are_held_to_the_lines_of_the_skill() -> None:
    schema = edits_schema(("Be brief.", "Be exact."))
    kinds = schema.schema["properties"]["edits"]["items"]["anyOf"]  # type: ignore[index,call-overload]
    targets = [kind["properties"]["target"] for kind in kinds if "target" in kind["properties"]]
    assert len(targets) == 4
    assert all(target == {"type": "string", "enum": ["Be brief.", "Be exact."]} for target in targets)


def test_a_skill_without_lines_offers_nothing_but_append() -> None:
    kinds = edits_schema(()).schema["properties"]["edits"]["items"]["anyOf"]  # type: ignore[index,call-overload]
    assert [kind["properties"]["op"]["enum"] for kind in kinds] == [["append"]]


@pytest.mark.parametrize("lines", [None, tuple(f"line {number}" for number in range(251)), ("x" * 12_001,)])
def test_targets_are_free_where_the_lines_are_unknown_or_too_much_for_a_schema(lines: tuple[str, ...] | None) -> None:
    kinds = edits_schema(lines).schema["properties"]["edits"]["items"]["anyOf"]  # type: ignore[index,call-overload]
    assert kinds[1]["properties"]["target"] == {"type": "string"}


def kinds_of(schema: ReplySchema) -> list[Any]:
    """The schemas of each kind of edit."""
    return schema.schema["properties"]["edits"]["items"]["anyOf"]  # type: ignore[index,call-overload,return-value]


def test_an_edit_can_cite_no_task_but_those_that_are_shown() -> None:
    kinds = kinds_of(edits_schema(("Be brief.",), task_ids=["t1", "t2", "t1"]))
    assert len(kinds) == len(EditOperation)
    for kind in kinds:
        assert kind["properties"]["task_ids"] == {"type": "array", "items": {"type": "string", "enum": ["t1", "t2"]}}
        assert "task_ids" in kind["required"]
    assert all("task_ids" not in kind["properties"] for kind in kinds_of(edits_schema(("Be brief.",))))


def test_more_ids_than_a_schema_can_hold_are_free() -> None:
    kinds = kinds_of(edits_schema(None, task_ids=[str(number) for number in range(251)]))
    assert kinds[0]["properties"]["task_ids"]["items"] == {"type": "string"}
