"""The forms of the optimizer's replies between epochs, under the public names."""

from __future__ import annotations

from skillopt.models.base import ReplySchema
from skillopt.models.structured import Reply
from skillopt.step.replies import Text
from skillopt.types import JsonValue


class SlowUpdateReply(Reply):
    """New guidance for the target."""

    reasoning: Text = ""
    """What the earlier guidance did, and why it is now this."""
    slow_update_content: Text
    """The whole guidance; "" leaves the earlier one as it is."""

    @classmethod
    def reply_schema(cls) -> ReplySchema:
        """Reasoning and guidance."""
        return _texts("slow_update", "slow_update_content")


class MetaSkillReply(Reply):
    """A memory for the optimizer itself."""

    reasoning: Text = ""
    """What the comparison shows."""
    meta_skill_content: Text
    """The whole memory; "" keeps the earlier one."""

    @classmethod
    def reply_schema(cls) -> ReplySchema:
        """Reasoning and memory."""
        return _texts("meta_skill", "meta_skill_content")


def _texts(name: str, content: str) -> ReplySchema:
    properties: dict[str, JsonValue] = {field: {"type": "string"} for field in ("reasoning", content)}
    return ReplySchema.of_object(name, properties)
