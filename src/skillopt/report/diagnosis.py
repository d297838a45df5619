"""Why nothing or little improved, in words with numbers: a run's records in, findings out.

Each finding is a fact of the records with what it suggests; none of them changes how a run ended. What a run shows is
read from top to bottom, the way a training works: were there failures, did they become edits, could the edits be
applied, did the gate take them, and was the gain more than noise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from skillopt.evaluation.statistics import sign_test
from skillopt.run.outcome import NEARLY_PERFECT

Record: TypeAlias = Mapping[str, Any]

RARE: Final = 0.05
"""A gain counts as shown if chance alone reaches it at most this often."""

_NOT_APPLIED: Final = {
    "unmatched": "their target text is not in the skill",
    "ambiguous": "their target text is there more than once",
    "protected": "they touched front matter or a protected section",
    "duplicate": "the skill said so already",
    "invalid": "they were no edits",
    "over_budget": "the budget was used up, or the skill would have grown too large",
    "memorised": "they copied a training task",
    "vetted_out": "alone they did no better on the tasks they were made for",
}
_MOST_READ_TOGETHER: Final = 3


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that the records show.

    Attributes:
        kind: A word for it, for programs: no_training, nearly_perfect, no_failures, no_edits, unreadable_replies,
            not_applied, all_rejected, coarse_gate, few_tasks, not_held_out, noise, unmeasured.
        text: What is seen, with its numbers, in a sentence.
        advice: What to try, in a sentence.
    """

    kind: str
    text: str
    advice: str


def diagnose(records: Sequence[Record], summary: Record) -> tuple[Finding, ...]:
    """Return what may have kept a training from improving, the causes first; nothing where it went well.

    Args:
        records: Entries of history.json, the baseline first.
        summary: What summary.json holds.

    Raises:
        KeyError, TypeError: If a record or the summary lacks what each has.
    """
    looks: tuple[Callable[[Sequence[Record], Record], Finding | None], ...] = (
        _no_training, _nearly_perfect, _unmeasured, _no_failures, _unreadable_replies, _no_edits, _not_applied,
        _all_rejected, _coarse_gate, _few_tasks, _not_held_out, _noise,
    )  # fmt: skip
    return tuple(finding for look in looks if (finding := look(records, summary)) is not None)


def _steps(records: Sequence[Record]) -> Sequence[Record]:
    return records[1:]


def _accepted(records: Sequence[Record]) -> bool:
    return any(record["best_step"] for record in records)


def _no_training(records: Sequence[Record], summary: Record) -> Finding | None:
    if _steps(records):
        return None
    text = f"No step was played after the baseline; the run ended as {summary['state']}."
    return Finding("no_training", text, "Read the message of the run's end: it says what to do.")


def _nearly_perfect(records: Sequence[Record], summary: Record) -> Finding | None:
    score = records[0]["current_score"]
    if score <= NEARLY_PERFECT:
        return None
    shown = f"{records[0]['val_solved']}/{records[0]['val_n']}"
    return Finding(
        "nearly_perfect",
        f"The seed skill already solves {shown} of the selection tasks ({_percent(score)}): there is little to gain.",
        "Take harder tasks, or a weaker target; a training helps where the target fails.",
    )


def _unmeasured(records: Sequence[Record], summary: Record) -> Finding | None:
    missing = sum(
        record["rollout_unmeasured"] + (record.get("selection_unmeasured") or 0) for record in _steps(records)
    )
    if not missing:
        return None
    return Finding(
        "unmeasured",
        f"{missing} rollouts could not be measured (outage, timeout): they had no score and taught nothing.",
        "Look at status and failure in the results.json files; mend the cause and run the same command again.",
    )


def _no_failures(records: Sequence[Record], summary: Record) -> Finding | None:
    steps = _steps(records)
    tasks = sum(record["rollout_n"] for record in steps)
    if not tasks or sum(record["rollout_solved"] for record in steps) < tasks:
        return None
    return Finding(
        "no_failures",
        f"All {tasks} training rollouts were solved: there was no failure to learn from.",
        "Take harder training tasks, or check that the scorer can say no.",
    )


def _unreadable_replies(records: Sequence[Record], summary: Record) -> Finding | None:
    dropped = sum(record.get("counters", {}).get("replies_dropped", 0) for record in _steps(records))
    if not dropped:
        return None
    return Finding(
        "unreadable_replies",
        f"{dropped} replies of the optimizer could not be read and were left out.",
        "dropped_replies.json of each step shows them; a stronger optimizer, more max_tokens or schema_replies helps.",
    )


def _no_edits(records: Sequence[Record], summary: Record) -> Finding | None:
    steps = _steps(records)
    failed = sum(record["rollout_n"] - record["rollout_solved"] for record in steps)
    if not failed or any(record["n_edits_proposed"] or record.get("rewrites") for record in steps):
        return None
    return Finding(
        "no_edits",
        f"{failed} training rollouts failed, and the optimizer proposed no edit.",
        "Read the reasoning in steps/*/patches; a scorer whose feedback says what was expected gives it more to go on.",
    )


def _not_applied(records: Sequence[Record], summary: Record) -> Finding | None:
    states: Counter[str] = Counter()
    for record in _steps(records):
        states.update(record.get("edits", {}))
    applied, lost = states.pop("applied", 0), {name: n for name, n in states.items() if n and name in _NOT_APPLIED}
    if not lost or sum(lost.values()) <= applied:
        return None
    reasons = sorted(lost.items(), key=lambda item: (-item[1], item[0]))[:_MOST_READ_TOGETHER]
    why = "; ".join(f"{count} {name}: {_NOT_APPLIED[name]}" for name, count in reasons)
    return Finding(
        "not_applied",
        f"Of {applied + sum(lost.values())} edits only {applied} were applied ({why}).",
        "edit_apply_report.json of each step says why for every edit; a stronger optimizer cites the skill exactly.",
    )


def _all_rejected(records: Sequence[Record], summary: Record) -> Finding | None:
    rejected = [record for record in _steps(records) if record["action"] == "reject"]
    if not rejected or _accepted(records):
        return None
    ties = sum(record.get("lost_by") == 0 for record in rejected)
    return Finding(
        "all_rejected",
        f"{len(rejected)} candidates went to the gate and none scored strictly higher; at least {ties} of them were "
        "not seen to be worse.",
        "Look at the edits of the best of them under steps/; try a stronger optimizer, more steps or a smaller budget.",
    )


def _coarse_gate(records: Sequence[Record], summary: Record) -> Finding | None:
    """F17: partial credit rises and the all-or-nothing count does not move."""
    if _accepted(records) or records[0]["gate_metric"] != "hard":
        return None
    softer = [
        record
        for record in _steps(records)
        if record.get("selection_soft") is not None and record["selection_soft"] > records[0]["val_soft"]
    ]
    if not softer:
        return None
    best = max(record["selection_soft"] for record in softer)
    return Finding(
        "coarse_gate",
        f"{len(softer)} rejected candidates had more partial credit than the seed (up to {_percent(best)} against "
        f"{_percent(records[0]['val_soft'])}), which evaluation.gate_metric: hard does not count.",
        "Set evaluation.gate_metric to soft or mixed.",
    )


def _few_tasks(records: Sequence[Record], summary: Record) -> Finding | None:
    tasks = records[0]["val_n"] // records[0]["val_passes"]["n"]
    needed = next(n for n in range(1, 64) if sign_test(n, 0).p_value <= RARE)
    if tasks >= 4 * needed:
        return None
    return Finding(
        "few_tasks",
        f"The selection split has {tasks} tasks: one of them is worth {_percent(1 / tasks)}, and a gain of fewer than "
        f"{needed} tasks may be chance.",
        f"Use at least {4 * needed} selection tasks, or more passes (evaluation.repeats); see `skillopt noise`.",
    )


def _not_held_out(records: Sequence[Record], summary: Record) -> Finding | None:
    delta = summary.get("test_delta_hard")
    if delta is None or not summary["best_step"] or delta > 0:
        return None
    return Finding(
        "not_held_out",
        f"The best skill gained {_points(summary['selection_delta_hard'])} on the selection split, which chose it, and "
        f"{_points(delta)} on the held-out test tasks.",
        "The gain does not carry over: use more selection tasks, evaluation.final_repeats, or the preset careful.",
    )


def _noise(records: Sequence[Record], summary: Record) -> Finding | None:
    won = next((record for record in records if record["step"] == summary["best_step"] and record["step"]), None)
    test = None if won is None else won.get("sign_test")
    if won is None or not test or test["p_value"] <= RARE:
        return None
    return Finding(
        "noise",
        f"The step that made the best skill did better on {test['better']} selection tasks, worse on {test['worse']}; "
        f"chance alone does that with p = {test['p_value']:.2g}.",
        "Look at the held-out score before you trust it; `skillopt noise` says what the split can show.",
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _points(share: float) -> str:
    return f"{100 * share:+.1f} points"
