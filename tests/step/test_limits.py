"""The limits of the skill as every prompt that proposes text names them."""

from __future__ import annotations

import pytest
from tests.support.bench import OpenBench
from tests.support.values import state

from skillopt.skill.size import estimate_tokens
from skillopt.step.limits import show_examples, show_limits

TEXT = "# Skill\n\n" + "Write the word. " * 10
TOKENS = estimate_tokens(TEXT)


@pytest.mark.parametrize(
    ("most", "told", "asks_to_shorten"),
    [
        (2 * TOKENS, f"The skill has about {TOKENS} tokens of at most {2 * TOKENS}: {TOKENS} are left.", False),
        (TOKENS, f"The skill has about {TOKENS} tokens of at most {TOKENS}: 0 are left. That is little:", True),
        (TOKENS - 5, f"The skill has about {TOKENS} tokens, 5 more than the limit of {TOKENS - 5}:", True),
    ],
)
def test_the_optimizer_is_told_how_many_tokens_are_left(
    open_bench: OpenBench, most: int, told: str, asks_to_shorten: bool
) -> None:
    """F66, F117."""
    bench = open_bench(settings={"skill.max_tokens": most})
    shown = show_limits(bench, state(text=TEXT))
    assert shown.startswith(told)
    assert ("horten, replace or delete" in shown) == asks_to_shorten


@pytest.mark.parametrize("memorising", ["allow", "flag", "refuse"])
def test_only_where_copies_are_refused_it_is_told_so(open_bench: OpenBench, memorising: str) -> None:
    bench = open_bench(settings={"skill.memorising": memorising, "skill.memorising_ngram": 5})
    refused = memorising == "refuse"
    assert ("repeats 5 words in a row of a task or of its expected answer" in show_limits(bench, state())) == refused
    assert ("copied word for word" in show_examples(bench)) != refused
