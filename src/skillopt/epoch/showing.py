"""What the optimizer is shown when it looks back: pairs of trajectories, what needs attention first."""

from __future__ import annotations

from collections.abc import Sequence

from skillopt.config.training_settings import GradientSettings
from skillopt.rejections import describe
from skillopt.skill.document import Skill
from skillopt.state import State
from skillopt.step.showing import show_text, show_trajectory
from skillopt.types import Comparison, Pair, PairCategory

_SECTIONS = (
    (PairCategory.REGRESSED, "Regressed: better with the earlier skill"),
    (PairCategory.PERSISTENT_FAIL, "Failed with both"),
    (PairCategory.IMPROVED, "Improved: better with the skill as it stands"),
)
"""The categories whose trajectories are shown, in this order."""

_LEAST_TOKENS = 64
"""No trajectory is cut below this, however many there are."""


def show_previous(state: State, now: Skill) -> str:
    """Return the skill of the previous epoch's end; a note where it is the one that it is compared with."""
    return "(the same as the skill as it stands)" if state.previous.text == now.text else show_text(state.previous)


def show_accepted(state: State, *, most: int) -> str:
    """Return the accepted edits, the newest first, at most so many, with the gate's reasons."""
    lines = [
        f"- {describe(change)} (step {accepted.step}): {accepted.reason}"
        for accepted in reversed(state.accepted)
        for change in accepted.changes
    ]
    left_out = [f"- and {len(lines) - most} older"] if len(lines) > most else []
    return "\n".join(lines[:most] + left_out) or "(none)"


def show_comparison(comparison: Comparison, gradient: GradientSettings) -> str:
    """Return the pairs by category; those with trajectories share the room of one reflection's.

    Regressions, persistent failures and improvements show both trajectories; stable successes are only named.
    """
    told = [pair for pair in comparison.shown if pair.category is not PairCategory.STABLE_SUCCESS]
    room = gradient.minibatch_size * gradient.trajectory_tokens // max(1, 2 * len(told))
    most = max(_LEAST_TOKENS, min(gradient.trajectory_tokens, room))
    parts = [_section(title, [pair for pair in told if pair.category is kind], most) for kind, title in _SECTIONS]
    stable = [pair.task.id for pair in comparison.shown if pair.category is PairCategory.STABLE_SUCCESS]
    if stable:
        parts.append(f"## Solved with both ({len(stable)})\n{', '.join(stable)}")
    return "\n\n".join(part for part in parts if part) or "(no task to compare)"


def _section(title: str, pairs: Sequence[Pair], most_tokens: int) -> str:
    if not pairs:
        return ""
    shown = [
        f"### {pair.task.id}\nWith the earlier skill:\n{show_trajectory(pair.previous, most_tokens=most_tokens)}\n\n"
        f"With the skill as it stands:\n{show_trajectory(pair.current, most_tokens=most_tokens)}"
        for pair in pairs
    ]
    return "\n\n".join((f"## {title} ({len(pairs)})", *shown))
