"""What an answer took, in our own kinds of tokens: what the server says, and an estimate where it says nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from skillopt.models.base import ChatReply, ChatRequest
from skillopt.models.failures import as_mapping
from skillopt.skill.size import estimate_tokens
from skillopt.types import Usage

MOST_TOKENS = 10**9
"""Tokens of one prompt or one answer that are believed: no model takes or gives a thousandth of them."""


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


def with_estimates(reply: ChatReply, request: ChatRequest) -> ChatReply:
    """Return a reply whose prompt and answer are counted: by an estimate where the server said nothing of them.

    Else a limit of tokens or dollars would not hold where a server sends no usage. Either count is estimated by itself,
    and reasoning that came along counts as answer. The same request and reply give the same usage.
    """
    usage = reply.usage
    if not usage.fresh_tokens + usage.cached_tokens:
        usage = replace(usage, fresh_tokens=sum(estimate_tokens(message.content) for message in request.messages))
    if not usage.output_tokens:
        usage = replace(usage, output_tokens=estimate_tokens(reply.text) + estimate_tokens(reply.reasoning))
    return reply if usage == reply.usage else replace(reply, usage=usage)


def _count(value: object) -> int:
    """Return a count of tokens, and 0 for what is none: no number, one below 1, or one that nobody can believe."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1 <= value <= MOST_TOKENS:
        return 0
    return int(value)
