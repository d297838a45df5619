"""Reading what an answer took."""

from __future__ import annotations

import pytest

from skillopt.models.base import ChatReply, ChatRequest
from skillopt.models.token_counts import MOST_TOKENS, read_usage, with_estimates
from skillopt.skill.size import estimate_tokens
from skillopt.types import Message, Place, Usage


@pytest.mark.parametrize(
    ("said", "usage"),
    [
        ({}, Usage(1)),
        ({"prompt_tokens": 10, "completion_tokens": 3}, Usage(1, 10, 0, 3)),
        ({"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 4}}, Usage(1, 6, 4, 0)),
        ({"prompt_tokens": 10, "prompt_cache_hit_tokens": 40}, Usage(1, 0, 10, 0)),
        ({"prompt_tokens": "many", "completion_tokens": -3, "prompt_tokens_details": None}, Usage(1)),
    ],
)
def test_tokens_are_told_apart_and_what_is_not_said_is_nothing(said: dict[str, object], usage: Usage) -> None:
    """F123"""
    assert read_usage(said) == usage


def test_reasoning_that_is_counted_beside_the_answer_is_output_too() -> None:
    """xAI adds it to the total only."""
    within: dict[str, object] = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    details = {"completion_tokens_details": {"reasoning_tokens": 4}}
    assert read_usage({**within, **details}).output_tokens == 5
    assert read_usage({**within, **details, "total_tokens": 19}).output_tokens == 9


@pytest.mark.parametrize(
    "count", [None, "7", True, -1, 0, 0.5, 1e308, float("inf"), float("nan"), int("9" * 30), MOST_TOKENS + 1]
)
def test_a_count_that_is_none_is_not_believed(count: object) -> None:
    said = {"prompt_tokens": count, "completion_tokens": count, "prompt_tokens_details": {"cached_tokens": count}}
    assert read_usage(said) == Usage(1)
    assert read_usage({**said, "prompt_tokens": 7}) == Usage(1, 7)


REQUEST = ChatRequest((Message("system", "Be brief."), Message("user", "What is 2 + 2?")), Place("rollout"))
ASKED = estimate_tokens("Be brief.") + estimate_tokens("What is 2 + 2?")
ANSWERED = estimate_tokens("It is four.") + estimate_tokens("two and two")


@pytest.mark.parametrize(
    ("said", "usage"),
    [
        (Usage(1), Usage(1, ASKED, 0, ANSWERED)),
        (Usage(1, 20), Usage(1, 20, 0, ANSWERED)),
        (Usage(1, 0, 20), Usage(1, 0, 20, ANSWERED)),
        (Usage(1, 0, 0, 3), Usage(1, ASKED, 0, 3)),
        (Usage(1, 20, 4, 3), Usage(1, 20, 4, 3)),
    ],
)
def test_what_the_server_does_not_count_is_estimated_and_what_it_counts_stays(said: Usage, usage: Usage) -> None:
    reply = ChatReply("It is four.", reasoning="two and two", usage=said)
    counted = with_estimates(reply, REQUEST)
    assert counted == ChatReply("It is four.", reasoning="two and two", usage=usage)
    assert min(ASKED, ANSWERED) > 0


def test_an_empty_answer_takes_no_tokens() -> None:
    assert with_estimates(ChatReply("", "content_filter"), REQUEST).usage == Usage(1, ASKED)
