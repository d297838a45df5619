"""What limits the result of a run, in words with numbers: its records in, findings out.

Each finding is a fact of the records with what it suggests; none of them changes how a run ended. What a run shows is
read from top to bottom, the way a training works: were there failures, did they become edits, could the edits be
applied, did the gate take them, and was the gain more than noise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from skillopt.evaluation.statistics import sign_test
from skillopt.report.course import Record
from skillopt.report.end_words import points
from skillopt.report.flips import Flips
from skillopt.report.live_words import percent
from skillopt.run.outcome import NEARLY_PERFECT
from skillopt.types import Action, SignTest
from skillopt.wording import counted

RARE: Final = 0.05
"""A gain counts as shown if chance alone reaches it at most this often."""

OFTEN: Final = 0.1
"""Share of the optimizer's calls from which on replies that cannot be read are worth a word."""

_CITE: Final = "a stronger optimizer cites the skill exactly"
_HELP: Final = "a stronger optimizer, or a scorer whose feedback says what was expected, makes edits that help"
_NOT_APPLIED: Final[Mapping[str, tuple[str, str]]] = {
    "unmatched": ("their target text is not in the skill", _CITE),
    "ambiguous": ("their target text is there more than once", _CITE),
    "protected": ("they touched front matter or a protected section", _CITE),
    "duplicate": ("the skill said so already", _HELP),
    "invalid": ("they were no edits", _CITE),
    "over_budget": (
        "the budget was used up, or the skill would have grown too large",
        "more steps, a higher optimizer.learning_rate or skill.max_tokens leaves room for them",
    ),
    "memorised": ("they copied a training task", "more training tasks of a kind ask for rules in place of copies"),
    "vetted_out": ("alone they did no better on the tasks they were made for", _HELP),
}
"""Why an edit is not applied, by its state, and what helps where that is the most frequent reason."""
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


def diagnose(
    records: Sequence[Record], summary: Record, *, selection: Flips | None = None, test: Flips | None = None
) -> tuple[Finding, ...]:
    """Return what limits the result of a training, the causes first; nothing where it went well.

    Args:
        records: Entries of history.json, the baseline first.
        summary: What summary.json holds.
        selection: The selection tasks on which the best skill does better and worse than the seed; None where it is the
            seed.
        test: The held-out tasks; None also where they were not measured.

    Raises:
        KeyError, TypeError: If a record or the summary lacks what each has.
    """
    looks: tuple[Callable[[Sequence[Record], Record], Finding | None], ...] = (
        _no_training, _nearly_perfect, _unmeasured, _no_failures, _unreadable_replies, _no_edits, _not_applied,
        _all_rejected, _coarse_gate, partial(_few_tasks, selection=selection, test=test), _not_held_out,
        partial(_noise, selection=selection, test=test),
    )  # fmt: skip
    return tuple(finding for look in looks if (finding := look(records, summary)) is not None)


def _steps(records: Sequence[Record]) -> Sequence[Record]:
    return records[1:]


def _accepted(records: Sequence[Record]) -> bool:
    return any(record["best_step"] for record in records)


def _went_well(records: Sequence[Record]) -> bool:
    """Whether what was lost on the way left nothing to gain."""
    return records[-1]["best_score"] > NEARLY_PERFECT


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
        f"The seed skill already solves {shown} of the selection tasks ({percent(score)}): there is little to gain.",
        "Take harder tasks, or a weaker target; a training helps where the target fails.",
    )


def _unmeasured(records: Sequence[Record], summary: Record) -> Finding | None:
    missing = sum(
        record["rollout_unmeasured"] + (record.get("selection_unmeasured") or 0) for record in _steps(records)
    )
    if not missing:
        return None
    unjudged = sum(record["action"] == Action.SKIP_UNMEASURED for record in _steps(records))
    told = f", and {counted(unjudged, 'candidate')} got no verdict" if unjudged else ""
    return Finding(
        "unmeasured",
        f"{counted(missing, 'rollout')} could not be measured (outage, timeout): without a score they taught nothing"
        f"{told}.",
        "Look at status and failure in the results.json files and mend the cause; --fork DIRECTORY then measures them, "
        "while the same command goes the same way again.",
    )


def _no_failures(records: Sequence[Record], summary: Record) -> Finding | None:
    steps = _steps(records)
    tasks = sum(record["rollout_n"] for record in steps)
    if not tasks or sum(record["rollout_solved"] for record in steps) < tasks:
        return None
    return Finding(
        "no_failures",
        f"All training rollouts, {tasks}, were solved: there was no failure to learn from.",
        "Take harder training tasks, or check that the scorer can say no.",
    )


def _unreadable_replies(records: Sequence[Record], summary: Record) -> Finding | None:
    dropped = sum(record.get("counters", {}).get("replies_dropped", 0) for record in _steps(records))
    calls = records[-1]["total_usage"]["optimizer"]["calls"]
    if not dropped or dropped < OFTEN * calls or _went_well(records):
        return None
    return Finding(
        "unreadable_replies",
        f"Of {counted(calls, 'call')} of the optimizer {dropped} gave no reply that could be read.",
        "dropped_replies.json of each step shows them; a stronger optimizer, more max_tokens or schema_replies helps.",
    )


def _no_edits(records: Sequence[Record], summary: Record) -> Finding | None:
    steps = _steps(records)
    failed = sum(record["rollout_n"] - record["rollout_solved"] for record in steps)
    if not failed or any(record["n_edits_proposed"] or record.get("rewrites") for record in steps):
        return None
    seen = counted(failed, "training rollout")
    if all(record.get("edit_budget") == 0 for record in steps):
        text = f"{seen} failed, and no step was allowed an edit: the edit budget is 0."
        return Finding("no_edits", text, "Raise optimizer.learning_rate.")
    return Finding(
        "no_edits",
        f"{seen} failed, and the optimizer proposed no edit.",
        "Read the reasoning in steps/*/patches; a scorer whose feedback says what was expected gives it more to go on.",
    )


def _not_applied(records: Sequence[Record], summary: Record) -> Finding | None:
    states: Counter[str] = Counter()
    for record in _steps(records):
        states.update(record.get("edits", {}))
    lost = {name: n for name, n in states.items() if n and name in _NOT_APPLIED}
    applied = states["applied"] + states["suggested"]
    # What the budget leaves out is what it is for, unless nothing else goes in.
    refused = sum(lost.values()) - (lost.get("over_budget", 0) if applied else 0)
    if not lost or refused <= applied or _went_well(records):
        return None
    reasons = sorted(lost.items(), key=lambda item: (-item[1], item[0]))[:_MOST_READ_TOGETHER]
    why = "; ".join(f"{count} {name}: {_NOT_APPLIED[name][0]}" for name, count in reasons)
    return Finding(
        "not_applied",
        f"Of {counted(applied + sum(lost.values()), 'edit')} {applied or 'none'} went into a candidate ({why}).",
        f"edit_apply_report.json of each step says why for every edit; {_NOT_APPLIED[reasons[0][0]][1]}.",
    )


def _all_rejected(records: Sequence[Record], summary: Record) -> Finding | None:
    rejected = [record for record in _steps(records) if record["action"] == "reject"]
    if not rejected or _accepted(records):
        return None
    ties = sum(record.get("lost_by") == 0 for record in rejected)
    told = f"; {ties} of them may have been as good as the current skill" if ties else ""
    return Finding(
        "all_rejected",
        f"{counted(len(rejected), 'candidate')} went to the gate and none was accepted{told}.",
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
        f"{counted(len(softer), 'rejected candidate')} had more partial credit than the seed (up to {percent(best)} "
        f"against {percent(records[0]['val_soft'])}), which evaluation.gate_metric: hard does not count.",
        "Set evaluation.gate_metric to soft or mixed.",
    )


def _few_tasks(
    records: Sequence[Record], summary: Record, *, selection: Flips | None, test: Flips | None
) -> Finding | None:
    """F141: no limit where they were enough to gain nearly everything, and to show it."""
    rollouts, passes = records[0]["val_n"], records[0]["val_passes"]["n"]
    tasks = rollouts // passes
    needed = next(n for n in range(1, 64) if sign_test(n, 0).p_value <= RARE)
    found = _gain(selection, test)
    if tasks >= 4 * needed or (found is not None and found[0].p_value <= RARE and _went_well(records)):
        return None
    return Finding(
        "few_tasks",
        f"The selection split has {counted(tasks, 'task')}: one is worth {percent(passes / rollouts)}, and a gain of "
        f"fewer than {needed} may be chance.",
        f"Use at least {4 * needed} selection tasks, or more passes (evaluation.repeats); see `skillopt noise`.",
    )


def _not_held_out(records: Sequence[Record], summary: Record) -> Finding | None:
    delta = summary.get("test_delta_hard")
    if delta is None or not summary["best_step"] or delta > 0:
        return None
    if delta == 0 and summary["test"]["seed"]["hard"] == 1:  # Nothing was left to gain there.
        return None
    return Finding(
        "not_held_out",
        f"The best skill gained {points(summary['selection_delta_hard'])} on the selection split, which chose it, and "
        f"{points(delta)} on the held-out test tasks.",
        "The gain does not carry over: use more selection tasks, evaluation.final_repeats, or the preset careful.",
    )


def _noise(
    records: Sequence[Record], summary: Record, *, selection: Flips | None, test: Flips | None
) -> Finding | None:
    gain = _gain(selection, test)
    if gain is None:
        return None
    found, kind = gain
    if found.p_value <= RARE:
        return None
    return Finding(
        "noise",
        f"The best skill did better than the seed on {counted(found.better, f'{kind} task')}, worse on {found.worse}; "
        f"chance alone does that with p = {found.p_value:.2g}.",
        "Measure both on more tasks before you trust it; `skillopt noise` says what the selection split can show.",
    )


def _gain(selection: Flips | None, test: Flips | None) -> tuple[SignTest, str] | None:
    """On held-out tasks where they show a gain at all; else on the selection split, which flatters what it chose."""
    held_out = test is not None and len(test.fixed) > len(test.broken)
    changed, kind = (test, "held-out") if held_out else (selection, "selection")
    return None if changed is None else (sign_test(len(changed.fixed), len(changed.broken)), kind)
