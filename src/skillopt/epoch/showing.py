"""What the optimizer is shown when it looks back: pairs of trajectories, what needs attention first."""

from __future__ import annotations

from collections.abc import Sequence

from skillopt.config.schema import GradientSettings
from skillopt.state import State
from skillopt.step.showing import show_trajectory
from skillopt.types import Comparison, Pair, PairCategory

_SECTIONS = (
    (PairCategory.REGRESSED, "Regressed: better with the earlier skill"),
    (PairCategory.PERSISTENT_FAIL, "Failed with both"),
    (PairCategory.IMPROVED, "Improved: better with the skill as it stands"),
)
"""The categories whose trajectories are shown, in this order."""

_LEAST_TOKENS = 64
"""No trajectory is cut below this, however many there are."""


def show_previous(state: State) -> str:
    """Return the skill of the previous epoch's end, once: not again where it is the current one."""
    if state.previous.text == state.current.skill.text:
        return "(the same as the skill as it stands)"
    return state.previous.text.strip() or "(the skill was still empty)"


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
