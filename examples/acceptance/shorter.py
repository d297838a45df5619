"""An acceptance rule: a higher score wins, and at the same score the shorter skill."""

from __future__ import annotations

from skillopt.evaluation.acceptance import Comparison


def shorter(comparison: Comparison) -> tuple[bool, str]:
    """Accept what scores higher, and what scores as high in fewer characters."""
    if comparison.after != comparison.before:
        higher = comparison.after > comparison.before
        return higher, "higher" if higher else "lower"
    fewer = len(comparison.candidate_skill) < len(comparison.current_skill)
    return fewer, "as high, and shorter" if fewer else "as high, and no shorter"
