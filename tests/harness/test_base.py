"""The protocol of harnesses."""

from __future__ import annotations

import inspect

from skillopt.harness.base import Harness
from skillopt.harness.chat import ChatHarness


def test_the_chat_harness_keeps_to_the_protocol() -> None:
    assert inspect.signature(ChatHarness.perform) == inspect.signature(Harness.perform)
    assert isinstance(inspect.getattr_static(ChatHarness, "identity"), property)


def test_a_protocol_says_what_a_harness_must_do() -> None:
    assert "cancelling it stops all that it started" in (Harness.__doc__ or "")
