"""The forms of the optimizer's replies between epochs, under the public names."""

from __future__ import annotations

from skillopt.models.structured import LenientText, Reply


class SlowUpdateReply(Reply):
    """New guidance for the target."""

    reasoning: LenientText = ""
    """What the earlier guidance did, and why it is now this."""
    slow_update_content: LenientText
    """The whole guidance; "" leaves the earlier one as it is."""


class MetaSkillReply(Reply):
    """A memory for the optimizer itself."""

    reasoning: LenientText = ""
    """What the comparison shows."""
    meta_skill_content: LenientText
    """The whole memory; "" keeps the earlier one."""
