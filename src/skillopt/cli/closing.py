"""What a training came to, as a person reads it: scores, the skill's diff, and where to look next."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from skillopt.cli.comparison import shown_difference
from skillopt.cli.terminal import from_here, new_table, say, say_unbroken, show_table
from skillopt.cli.text_difference import show_text_difference
from skillopt.models.meter import Spending
from skillopt.report.end_words import after_the_last_step, difference, ended, shown_scores
from skillopt.report.live_words import price_words
from skillopt.report.run_files import RunFiles
from skillopt.report.worth import judged
from skillopt.run.outcome import Outcome
from skillopt.text_files import plain
from skillopt.types import Role, Usage
from skillopt.wording import counted, simulated_notice

_MOST_DIFF_LINES = 80


def show_outcome(outcome: Outcome) -> None:
    """Print how a training ended."""
    summary: Mapping[str, Any] = outcome.summary
    say("")
    if summary.get("simulated"):
        say(simulated_notice())
    say(plain(ended(outcome.state.value, outcome.message)), style="bold")
    show_scores(summary)
    _show_size(summary)
    _show_held_out(outcome)
    _show_diff(outcome)
    _show_usage(summary["total_usage"])
    _show_bill(outcome.bill)
    _show_fork(summary.get("fork"))
    _show_places(outcome)


def show_scores(summary: Mapping[str, Any]) -> None:
    """Print the scores of seed and best skill, side by side, and which fresh passes they were counted from."""
    table = new_table("solved", "seed skill", "best skill", "difference")
    splits: Mapping[str, Literal["selection", "test"]] = {
        "selection split": "selection",
        "test split (held out)": "test",
    }
    for name, split in splits.items():
        seed, best = summary[split]["seed"], summary[split]["best"]
        if seed is not None and best is not None:
            table.add_row(name, shown_scores(seed), shown_scores(best), difference(summary, split))
    show_table(table)
    for line in after_the_last_step(summary):
        say(line)


def _show_size(summary: Mapping[str, Any]) -> None:
    """Say how the current skill grew, epoch by epoch."""
    epochs = summary.get("epoch_stats")
    if not epochs:
        return
    ends = ", ".join(
        f"{one['skill_tokens_at_epoch_end']} after epoch {one['epoch']} ({one['skill_tokens_growth']:+d})"
        for one in epochs
    )
    start = epochs[0]["skill_tokens_at_epoch_end"] - epochs[0]["skill_tokens_growth"]
    say(f"Size of the current skill in tokens (estimated): {start} at the start, {ends}")


def _show_held_out(outcome: Outcome) -> None:
    """Say what the held-out difference is worth; on the selection split, which chose the best, it would flatter."""
    if outcome.summary["test"]["best"] is None or not outcome.summary["best_step"]:
        return
    run = RunFiles(outcome.directory)
    say(f"Held out, best skill against seed skill: {shown_difference(run.held_out)}")
    if run.held_out is not None:
        say(f"{judged(run.held_out).headline}\n", style="bold")


def _show_diff(outcome: Outcome) -> None:
    seed = (outcome.directory / "skills" / "skill_v0000.md").read_text(encoding="utf-8")
    names, whole = ("seed skill", "best skill"), "the whole skill is in best_skill.md"
    show_text_difference(seed, outcome.best_skill.text, names=names, most=_MOST_DIFF_LINES, whole=whole)


def _show_usage(usage: Mapping[str, Mapping[str, Any]]) -> None:
    """Print what the run used over all its starts, by role."""
    for role, spent in usage.items():
        tokens = {name: spent[name] for name in ("fresh_tokens", "cached_tokens", "output_tokens")}
        _show_spending(f"Used, {role}:", Spending(Usage(spent["calls"], **tokens), spent["dollars"]))


def _show_bill(bill: Mapping[Role, Spending]) -> None:
    """Print what was paid for the run over all its starts: less than was used where it came from elsewhere."""
    for role, spent in bill.items():
        _show_spending(f"Paid, {role}:", spent)


def _show_fork(fork: Mapping[str, Any] | None) -> None:
    """Say what a fork used of what it shares, and so did not pay for."""
    if fork is None:
        return
    count = fork["replies"] + fork["rollouts"]
    say(f"{'Shared:':<17}{fork['used_records']} of {count} replies and rollouts of {plain(fork['from'])} were used:")
    say(f"{'':<17}{counted(fork['used_calls'], 'call')}, {price_words(fork['used_dollars'])}, not paid again")


def _show_spending(name: str, spent: Spending) -> None:
    usage = spent.usage
    tokens = f"{usage.fresh_tokens:,} tokens in, {usage.cached_tokens:,} cached, {usage.output_tokens:,} out"
    say(f"{name:<17}{counted(usage.calls, 'call')}, {tokens}, {price_words(spent.dollars)}")


def _show_places(outcome: Outcome) -> None:
    directory = outcome.directory
    best, seed = directory / "best_skill.md", directory / "skills" / "skill_v0000.md"
    for name, path in (
        ("Best skill:", best),
        ("History:", directory / "history.json"),
        ("Steps:", directory / "steps"),
        ("Every call:", directory / "ledger.csv"),
    ):
        if path.exists():  # A training that stopped before its first step has no steps.
            say_unbroken(f"{name:<17}{plain(from_here(path))}")
    if outcome.picture is not None:  # One that an earlier start drew shows other numbers.
        say_unbroken(f"{'Picture:':<17}{plain(from_here(outcome.picture))}")
    say(
        "To see what each step did, the tasks it fixed and broke, and what limits the result, on a page, here, or live:"
    )
    for command, place in (("report", directory), ("show", directory), ("dashboard", directory.parent)):
        say_unbroken(f"  {plain(shlex.join(('skillopt', command, from_here(place))))}")
    paths = (directory / "config.yaml", "--skill", seed, "--skill", best, "--out", directory)
    words = [from_here(word) if isinstance(word, Path) else word for word in ("skillopt", "eval", *paths)]
    say("To compare the two again, on any split (--split), without paying for what was measured:")
    say_unbroken(f"  {plain(shlex.join(words))}")
