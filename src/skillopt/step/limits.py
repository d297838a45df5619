"""What the optimizer is told of the limits of the skill, in every prompt that proposes text for it."""

from __future__ import annotations

from skillopt.context import StageContext
from skillopt.skill.size import estimate_tokens, nearly_full
from skillopt.state import State

_COPIES = (
    "Copy nothing from the tasks: text that repeats {words} words in a row of a task or of its expected answer, or a "
    "short answer whole, is refused. Say what holds for all tasks of the kind, and make up the examples."
)


def show_limits(run: StageContext, state: State) -> str:
    """Return how large the current skill is and may become, and whether text of the tasks may be copied."""
    settings = run.config.skill
    tokens, most = estimate_tokens(state.skill.text), settings.max_tokens
    lines = [_size(tokens, most)]
    if settings.memorising == "refuse":
        lines.append(_COPIES.format(words=settings.memorising_ngram))
    return "\n".join(lines)


def show_examples(run: StageContext) -> str:
    """Return which examples an edit shall end with, as the end of a sentence."""
    if run.config.skill.memorising == "refuse":
        return "some examples of your own making, and never with the tasks themselves"
    return "some of the tasks and their expected answers as examples, copied word for word"


def _size(tokens: int, most: int) -> str:
    if tokens > most:
        return (
            f"The skill has about {tokens} tokens, {tokens - most} more than the limit of {most}: only edits that make "
            "it no larger are applied. Shorten, replace or delete what is there."
        )
    told = f"The skill has about {tokens} tokens of at most {most}: {most - tokens} are left."
    if nearly_full(tokens, most):
        told += " That is little: shorten, replace or delete what is there rather than add to it."
    return told
