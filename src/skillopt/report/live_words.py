"""What is known of a run while it goes, in a few words: the same on the terminal and on the live page."""

from __future__ import annotations

from collections.abc import Mapping

from skillopt.events import Spent
from skillopt.report.live_state import STAGES, LimitUse, LiveRun, Stage

_SHOWN_OUTCOMES = ("solved", "unmeasured", "dropped")


def percent(share: float | None) -> str:
    """Return a share as a percentage; a dash where there is none."""
    return "-" if share is None else f"{100 * share:.1f} %"


def in_words(seconds: float) -> str:
    """Return about how long something takes, in the unit that suits it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"


def place_words(known: LiveRun) -> str:
    """Return where in the training a run is."""
    if known.started is None or not known.stages:
        return "starting"
    if not known.step:
        return "baseline"
    place = f"step {known.step}/{known.total_steps} (epoch {known.epoch})"
    between = not any(stage.name in STAGES for stage in known.stages) and not known.settled
    return f"after {place}" if between and known.stages[0].name != "refresh" else place


def score_words(metric: str, share: float, solved: int, tasks: int, *, roomy: bool = True) -> str:
    """Return a gate score with the counts beside it, whatever the gate compares (F93); without room, one of the two."""
    count = f"{solved}/{tasks}"
    if metric == "hard":
        return f"{count} ({percent(share)})" if roomy else count
    return f"{percent(share)} ({count})" if roomy else percent(share)


def dollars_of(amounts: Mapping[str, float | None]) -> float | None:
    """Return what the roles cost together; None where a price is unknown."""
    known = [amount for amount in amounts.values() if amount is not None]
    return sum(known) if len(known) == len(amounts) else None


def price_words(dollars: float | None) -> str:
    """Return what something cost, to the cent; a price that nobody knows is not one of nothing (F11)."""
    return "price unknown" if dollars is None else f"${dollars:.2f}"


def spent_words(event: Spent) -> str:
    """Return calls, tokens and dollars; more are paid than used where a reply was of no use, or is of none yet."""
    calls, paid, tokens = (sum(one.values()) for one in (event.used_calls, event.paid_calls, event.used_tokens))
    return f"{calls} calls used, {paid} paid now, {tokens:,} tokens, {price_words(dollars_of(event.dollars))}"


def limit_words(limit: LimitUse) -> str:
    """Return a limit by its key, with how much of it is used."""
    unit = "$" if limit.key.endswith("dollars") else ""
    digits = ".2f" if unit else ",.1f" if limit.key.endswith("minutes") else ",.0f"
    share = 100 * limit.used / limit.most
    return f"{limit.key} {unit}{limit.used:{digits}} of {unit}{limit.most:{digits}} ({share:.0f} %)"


def count_words(stage: Stage) -> str:
    """Return how many of a stage's tasks, reflections or merges are done; "" where there is nothing to count."""
    if stage.total:
        return f"{stage.done}/{stage.total}"
    return str(stage.done) if stage.done else ""


def pace_words(stage: Stage, now: float) -> str:
    """Return how fast a stage goes and how long it takes still; "" where nobody can say."""
    rate = stage.rate(now)
    if rate is None:
        return ""
    shown = f"{rate:.1f}/s" if rate >= 1 else f"{60 * rate:.1f}/min"
    left = (stage.total - stage.done) / rate if stage.total > stage.done else None
    return shown + ("" if left is None else f", {in_words(left)} left")


def outcome_words(stage: Stage) -> tuple[str, ...]:
    """Return how many of a stage's items ended in a way that is worth a word."""
    shown = ((name, stage.outcomes.get(name, 0)) for name in _SHOWN_OUTCOMES)
    return tuple(f"{count} {name}" for name, count in shown if count)
