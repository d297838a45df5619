"""A step in words: what each stage made, how a task was scored, which reflections an edit came from.

The terminal's walk and the live page say the same of a step. Words of tasks and models in it are hostile, to be shown
as text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from skillopt.report.course import Record
from skillopt.report.live_words import percent
from skillopt.report.stored_rows import EditRow, PatchRow, RolloutRow


def verdict(row: RolloutRow) -> str:
    """Return how a task was scored, in a few words."""
    if row.hard is None or row.soft is None:
        return f"not measured ({row.status})"
    partial = "" if row.soft == row.hard else f", partial credit {row.soft:.3f}"
    return ("solved" if row.hard else "failed") + partial


def stages(record: Record) -> Iterator[tuple[str, str]]:
    """Yield the stages of a step, in their order, each with what it made; whole rewrites are not merged or ranked.

    Args:
        record: The step's record, from 1; the baseline has no stages.

    Raises:
        KeyError, TypeError: If it lacks what every record has.
    """
    missing = f", {record['rollout_unmeasured']} not measured" if record["rollout_unmeasured"] else ""
    yield "rollout", f"{record['rollout_solved']}/{record['rollout_n']} solved{missing}"
    kinds = f"{record['n_failure_patches']} from failures, {record['n_success_patches']} from successes"
    rewrites: Sequence[Record] = record.get("rewrites") or ()
    whole = record.get("skill_update_mode") == "full_rewrite_minibatch"
    proposed = f"rewrites: {len(rewrites)}" if whole else f"edits: {record['n_edits_proposed']}"
    yield "reflect", f"patches: {record['n_patches']} ({kinds}); {proposed}"
    if not whole:
        yield "aggregate", f"edits: {record['n_edits_merged']}"
        budget = "no budget" if record["edit_budget"] is None else f"budget {record['edit_budget']}"
        yield "select", f"edits: {record['n_edits_ranked']} ({budget})"
    states = [f"{count} {state.replace('_', ' ')}" for state, count in record["edits"].items() if count]
    ends = Counter(f"rewrite {rewrite['status'].replace('_', ' ')}" for rewrite in rewrites)
    states += [f"{count} {end}" for end, count in ends.items()]
    yield "update", ", ".join(states) or ("no rewrite" if whole else "no edit")
    yield "gate", _gate(record)


def reflections(edit: EditRow, patches: Sequence[PatchRow]) -> tuple[PatchRow, ...]:
    """Return the patches that an edit came from; after a merge, those that speak of one of its tasks."""
    own = (edit.op, edit.target, edit.content)
    same = [patch for patch in patches if any((one.op, one.target, one.content) == own for one in patch.edits)]
    tasks = set(edit.task_ids)
    return tuple(same or [patch for patch in patches if tasks & set(patch.task_ids)])


def _gate(record: Record) -> str:
    exact, bound = record["candidate_gate_score"], record["candidate_gate_score_upper_bound"]
    if exact is None and bound is None:
        return "nothing was measured"
    score = percent(exact) if exact is not None else f"at most {percent(bound)}, stopped early"
    count = f"{record['selection_solved']}/{record['selection_n']} solved"
    test: Record = record["sign_test"] or {}
    told = f"; {test['better']} better, {test['worse']} worse, p = {test['p_value']:.3g} (one-sided)" if test else ""
    return f"{record['gate_metric']} {score}, {count}{told}"
