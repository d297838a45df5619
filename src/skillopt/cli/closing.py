"""What a training came to, as a person reads it: scores, the skill's diff, and where to look next."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from skillopt.cli.terminal import console, plain
from skillopt.run.outcome import EndState, Outcome

_MOST_DIFF_LINES = 80


def show_outcome(outcome: Outcome) -> None:
    """Print how a training ended."""
    out = console()
    summary: Mapping[str, Any] = outcome.summary
    mark = "SIMULATED MODELS: these numbers say nothing about real ones.\n" if summary.get("simulated") else ""
    out.print(f"\n{mark}{outcome.state.value}: {plain(outcome.message)}", markup=False, highlight=False)
    table = Table(box=box.SIMPLE, pad_edge=False)
    for name in ("solved", "seed skill", "best skill", "difference"):
        table.add_column(name)
    for name, split in (("selection split", "selection"), ("test split (held out)", "test")):
        seed, best = summary[split]["seed"], summary[split]["best"]
        if seed is not None and best is not None:
            table.add_row(name, _scores(seed), _scores(best), _difference(seed, best))
    out.print(table)
    _show_diff(outcome)
    best = outcome.directory / "best_skill.md"
    out.print(f"Best skill:  {best}", markup=False, highlight=False, soft_wrap=True)
    out.print(f"History:     {outcome.directory / 'history.json'}", markup=False, highlight=False, soft_wrap=True)
    out.print(f"Every step:  {outcome.directory / 'steps'}", markup=False, highlight=False, soft_wrap=True)
    if outcome.state is EndState.IMPROVED:
        out.print("Compare on any split:  skillopt eval CONFIG --skill SEED.md --skill best_skill.md", highlight=False)


def _scores(scores: Mapping[str, Any]) -> str:
    missing = f", {scores['unmeasured']} unmeasured" if scores["unmeasured"] else ""
    return f"{scores['shown']}{missing}"


def _difference(seed: Mapping[str, Any], best: Mapping[str, Any]) -> str:
    if seed["hard"] is None or best["hard"] is None:
        return "not measured"
    return f"{100 * (best['hard'] - seed['hard']):+.1f} points"


def _show_diff(outcome: Outcome) -> None:
    seed = (outcome.directory / "skills" / "skill_v0000.md").read_text(encoding="utf-8")
    lines = list(
        difflib.unified_diff(
            plain(seed).splitlines(),
            plain(outcome.best_skill.text).splitlines(),
            "seed skill",
            "best skill",
            lineterm="",
        )
    )
    styles = {"+": "green", "-": "red", "@": "cyan"}
    out = console()
    for line in lines[:_MOST_DIFF_LINES]:
        out.print(Text(line, style=styles.get(line[:1], "")), soft_wrap=True)
    if len(lines) > _MOST_DIFF_LINES:
        out.print(f"... {len(lines) - _MOST_DIFF_LINES} more lines; the whole skill is in best_skill.md", markup=False)
    if lines:
        out.print()
