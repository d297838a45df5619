"""What the optimizer is shown: the skill, trajectories, edits, rejected attempts. One form for all stages.

A trajectory is trimmed to a token budget. Its verdict and its end are always kept, since that is where a failure
shows; what is left out is the middle, and a mark says how much. It never repeats the skill: a prompt holds that once.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from skillopt.skill.document import Skill
from skillopt.skill.size import estimate_tokens
from skillopt.state import State
from skillopt.types import Edit, Rollout, Score, Trajectory

_REJECTIONS_SHOWN = 5
"""Of how many changes the optimizer is reminded, beside those that were lost last: these are shown whole."""

_HEAD_SHARE = 0.4
"""Share of a trimmed trajectory that goes to its beginning, where the task is stated; the rest goes to its end."""

_ENDED = {
    "length": "\n(the answer was cut at the target's token limit)",
    "content_filter": "\n(the provider's content filter withheld the answer)",
}
"""What is said of an answer that did not end by itself."""


def show_skill(state: State) -> str:
    """Return the current skill's text, or a note that there is none yet."""
    return show_text(state.skill)


def show_text(skill: Skill) -> str:
    """Return a skill's text, or a note that there is none yet."""
    return skill.text.strip() or "(the skill is still empty)"


def show_memory(state: State) -> str:
    """Return what the optimizer noted for itself at the end of the last epoch."""
    return state.memory or "(none)"


def show_rejections(state: State, *, most: int = _REJECTIONS_SHOWN) -> str:
    """Return the changes that were lost last and so many of the earlier ones, with the gate's reasons."""
    return state.rejections.digest_text(most=state.rejections.last_bundle + most) or "(none)"


def show_edits(edits: Sequence[Edit]) -> str:
    """Return edits as a numbered JSON list, one to a line; the numbers start at 0."""
    rows = [
        {
            "number": number,
            "op": edit.operation.value,
            "target": edit.target,
            "content": edit.content,
            "support_count": edit.support_count,
            "source_type": edit.source_type,
        }
        for number, edit in enumerate(edits)
    ]
    return "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)


def show_trajectories(rollouts: Sequence[Rollout], *, most_tokens: int) -> str:
    """Return measured rollouts as numbered sections; a trajectory has at most `most_tokens` tokens (estimated)."""
    return "\n\n".join(_section(number, one, most_tokens) for number, one in enumerate(rollouts, start=1))


def _section(number: int, rollout: Rollout, most_tokens: int) -> str:
    return f"### {number}. {rollout.task.id}\n{show_trajectory(rollout, most_tokens=most_tokens)}"


def show_trajectory(rollout: Rollout, *, most_tokens: int) -> str:
    """Return what the target did on one task and the verdict, each of at most `most_tokens` tokens (estimated)."""
    assert rollout.trajectory is not None and rollout.score is not None, "only measured rollouts are reflected on"
    named = {"user": "Task", "assistant": "Answer" if rollout.score.hard else "Wrong answer", "tool": "Tool"}
    turns = "\n".join(f"{named.get(turn.role, turn.role)}: {turn.content}" for turn in rollout.trajectory.turns)
    turns += _ENDED.get(rollout.trajectory.finish_reason, "")
    verdict = trim_middle(_verdict(rollout.score, rollout.trajectory), most_tokens=most_tokens)
    return f"{trim_middle(turns, most_tokens=most_tokens)}\n{verdict}".rstrip()


def _verdict(score: Score, trajectory: Trajectory) -> str:
    """What the score says of a trajectory.

    The expected answer is the last word on a failed task: a small model takes what it read last as an example to copy,
    and the wrong answer must not be that. Feedback that says no more than the two answers do is not repeated.
    """
    if score.hard or not score.expected:
        solved = "solved" if score.hard else f"failed (partial credit {score.soft:.2f})"
        return f"Verdict: {solved}.{_criteria(score)} {score.feedback}"
    lines: list[str] = []
    if score.criteria:
        lines.append(_criteria(score).strip())
    if score.predicted != trajectory.output.strip():
        lines.append(f"Read as: {score.predicted}")
    if score.soft:
        lines.append(f"Partial credit: {score.soft:.2f}")
    if score.note:
        lines.append(f"Feedback: {score.note}")
    return "\n".join([*lines, f"Expected answer: {score.expected}"])


def _criteria(score: Score) -> str:
    """What each criterion came to, as a sentence; "" where there are none."""
    named = ", ".join(f"{name} {value:.2f}" for name, value in score.criteria.items())
    return f" Criteria: {named}." if named else ""


def trim_middle(text: str, *, most_tokens: int) -> str:
    """Return the text with its middle left out, so that it has at most about `most_tokens` tokens (estimated)."""
    tokens = estimate_tokens(text)
    if tokens <= most_tokens:
        return text
    kept = int(len(text) * most_tokens / tokens)
    head, tail = int(kept * _HEAD_SHARE), kept - int(kept * _HEAD_SHARE)
    return f"{text[:head]}\n[... {len(text) - kept} characters left out ...]\n{text[len(text) - tail :]}"
