"""What an OpenAI-compatible server says that an answer took, in our own kinds of tokens. Nothing is estimated."""

from __future__ import annotations

from collections.abc import Mapping

from skillopt.models.failures import as_mapping
from skillopt.types import Usage


def read_usage(raw: Mapping[str, object]) -> Usage:
    """Return the usage of one call; counts that the server leaves out are 0, so it shows what was never measured."""
    prompt = _count(raw.get("prompt_tokens"))
    output = _count(raw.get("completion_tokens"))
    cached = _count(as_mapping(raw.get("prompt_tokens_details")).get("cached_tokens"))
    cached = min(prompt, cached or _count(raw.get("prompt_cache_hit_tokens")))
    # Most providers count reasoning within completion_tokens; xAI adds it, which shows in the total.
    reasoning = _count(as_mapping(raw.get("completion_tokens_details")).get("reasoning_tokens"))
    if reasoning and _count(raw.get("total_tokens")) == prompt + output + reasoning:
        output += reasoning
    return Usage(calls=1, fresh_tokens=prompt - cached, cached_tokens=cached, output_tokens=output)


def _count(value: object) -> int:
    return int(value) if isinstance(value, int | float) and 0 < value < 1e15 else 0
