"""Reading what an answer took."""

from __future__ import annotations

import pytest

from skillopt.models.token_counts import read_usage
from skillopt.types import Usage


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
