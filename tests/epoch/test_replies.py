"""What the optimizer says between epochs, read tolerantly where its meaning is clear."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from skillopt.epoch.replies import MetaSkillReply, SlowUpdateReply


@pytest.mark.parametrize(("schema", "field"), [(SlowUpdateReply, "slow_update_content"),
                                               (MetaSkillReply, "meta_skill_content")])  # fmt: skip
def test_the_text_must_be_there_and_null_is_no_text(schema: type[SlowUpdateReply], field: str) -> None:
    """More 12: a reply without the field is asked for again; null says that there is nothing to say."""
    assert getattr(schema.model_validate({field: None}), field) == ""
    assert getattr(schema.model_validate({field: "text", "reasoning": None, "more": 1}), field) == "text"
    with pytest.raises(ValidationError):
        schema.model_validate({"reasoning": "only"})
    with pytest.raises(ValidationError):
        schema.model_validate({field: ["a list"]})


def test_the_schema_asks_for_the_public_names() -> None:
    for schema, field in ((SlowUpdateReply, "slow_update_content"), (MetaSkillReply, "meta_skill_content")):
        assert set(schema.reply_schema().schema["required"]) == {"reasoning", field}  # type: ignore[arg-type]
