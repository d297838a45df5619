"""Whole rewrites in place of edits: what reflect and update do in the two modes that have them.

`rewrite_from_suggestions` asks once, at the update, for the whole skill with the selected edits as suggestions.
`full_rewrite_minibatch` has every reflection write a whole skill, and takes the first one that can be used. What a
rewrite may not change, and how it is taken over, is `skill/rewriting.py`'s part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from pydantic import Field, model_validator

from skillopt.config.schema import Config
from skillopt.context import StageContext
from skillopt.models.base import ReplySchema
from skillopt.models.structured import Reply
from skillopt.prompts import render
from skillopt.results import Candidate, Selected
from skillopt.skill.document import Skill, unwritable
from skillopt.skill.rewriting import apply_rewrite
from skillopt.skill.size import estimate_tokens
from skillopt.state import State
from skillopt.step.copies import copies_of_tasks, memory_in, said
from skillopt.step.limits import show_examples, show_limits
from skillopt.step.replies import Entries, Text, as_object
from skillopt.step.showing import show_edits, show_memory, show_rejections, show_skill, show_trajectories
from skillopt.types import Edit, EditOutcome, EditState, Patch, Rewrite, RewriteOutcome, Rollout, SourceType

_MOST_CHANGES, _MOST_CHANGE_CHARACTERS = 20, 300
"""How much of a rewrite's own summary goes on; it stands in later prompts and in the record."""


class RewriteReply(Reply):
    """The whole skill anew."""

    reasoning: Text = ""
    """Why it was changed so."""
    change_summary: Entries = Field(default_factory=list)
    """What was changed, a text each."""
    new_skill: Text
    """The whole skill; "" for none."""

    @model_validator(mode="before")
    @classmethod
    def _unwrap(cls, value: object) -> object:
        """Accept the public wrappers `{"patch": ...}` and `{"skill_candidates": [...]}`: the first that has a text."""
        fields = as_object(value)
        fields = fields and (as_object(fields.get("patch")) or fields)
        if fields is None or "skill_candidates" not in fields:
            return fields if fields is not None else value
        listed = fields["skill_candidates"]
        candidates = [
            as_object(one) or {} for one in (cast("list[object]", listed) if isinstance(listed, list) else ())
        ]
        return next((one for one in candidates if one.get("new_skill")), {"new_skill": ""})

    @property
    def changes(self) -> tuple[str, ...]:
        """The summary as far as it is text that can stand in a file or a prompt; bounded, each on one line."""
        texts = (" ".join(entry.split()) for entry in self.change_summary if isinstance(entry, str))
        return tuple(text[:_MOST_CHANGE_CHARACTERS] for text in texts if text and not unwritable(text))[:_MOST_CHANGES]

    @classmethod
    def reply_schema(cls) -> ReplySchema:
        """Reasoning, changes and text."""
        return ReplySchema.of_object(
            "rewrite",
            {
                "reasoning": {"type": "string"},
                "change_summary": {"type": "array", "items": {"type": "string"}},
                "new_skill": {"type": "string"},
            },
        )


async def reflect_by_rewriting(
    run: StageContext, state: State, rollouts: Sequence[Rollout], *, source_type: SourceType, index: int
) -> Patch | None:
    """Return one minibatch's rewrite of the whole skill as a patch; None where none came."""
    messages = render(
        "full_rewrite",
        examples=show_examples(run),
        purpose=run.environment.purpose,
        most_tokens=_room(run.config, state.skill),
        skill=show_skill(state),
        limits=show_limits(run, state),
        rejections=show_rejections(state),
        memory=show_memory(state),
        trajectories=show_trajectories(rollouts, most_tokens=run.config.gradient.trajectory_tokens),
    )
    reply = (await run.ask(messages, state.place("reflect", index), RewriteReply)).value
    if reply is None:
        run.count("dropped_reflections")
    if reply is None or not reply.new_skill.strip():
        return None
    ids = tuple(rollout.task.id for rollout in rollouts)
    rewrite = Rewrite(reply.new_skill, reply.changes, reply.reasoning, source_type, ids)
    return Patch(reply.reasoning, (), source_type, task_ids=ids, rewrites=(rewrite,))


async def update_from_suggestions(run: StageContext, state: State, selected: Selected) -> Candidate:
    """Ask for the whole skill anew with the selected edits as suggestions; without any, nobody is asked."""
    if not selected.edits:
        return Candidate(state.skill)
    messages = render(
        "rewrite",
        purpose=run.environment.purpose,
        most_tokens=_room(run.config, state.skill),
        skill=show_skill(state),
        limits=show_limits(run, state),
        rejections=show_rejections(state),
        memory=show_memory(state),
        edits=show_edits(selected.edits),
    )
    reply = (await run.ask(messages, state.place("update"), RewriteReply, may_fall_back=True)).value
    suggested = tuple(EditOutcome(edit, EditState.SUGGESTED) for edit in selected.edits)
    if reply is None:
        run.count("dropped_rewrites")
        none = RewriteOutcome(Rewrite(""), EditState.INVALID, "the optimizer gave no reply that can be used")
        return Candidate(state.skill, suggested, rewrites=(none,))
    rewrite = Rewrite(reply.new_skill, reply.changes, reply.reasoning, *_sources(selected.edits))
    skill, outcome = _apply(run, state, rewrite)
    return Candidate(skill, suggested, outcome.state is EditState.APPLIED, rewrites=(outcome,))


def update_by_first_rewrite(run: StageContext, state: State, selected: Selected) -> Candidate:
    """Take the first rewrite that can be used, in the order of the minibatches; the others are kept with the reason."""
    skill = state.skill
    outcomes: list[RewriteOutcome] = []
    taken = 0
    for number, rewrite in enumerate(selected.rewrites, start=1):
        if taken:
            detail = f"rewrite {taken} of {len(selected.rewrites)} was taken; a step takes one"
            outcomes.append(RewriteOutcome(rewrite, EditState.OVER_BUDGET, detail))
            continue
        skill, outcome = _apply(run, state, rewrite)
        taken = number if outcome.state is EditState.APPLIED else 0
        outcomes.append(outcome)
    return Candidate(skill, (), bool(taken), rewrites=tuple(outcomes))


def _apply(run: StageContext, state: State, rewrite: Rewrite) -> tuple[Skill, RewriteOutcome]:
    """Return the skill as it is after a rewrite, or as it was where the rewrite is refused."""
    current = state.skill
    skill, outcome = apply_rewrite(current, rewrite, max_tokens=run.config.skill.max_tokens)
    if outcome.state is not EditState.APPLIED:
        return skill, outcome
    memory = memory_in(state, skill.text)
    if memory:
        return current, RewriteOutcome(rewrite, EditState.MEMORISED, memory)
    (copies,) = copies_of_tasks(run, current, [skill.text])
    if copies and run.config.skill.memorising == "refuse":
        return current, RewriteOutcome(rewrite, EditState.MEMORISED, said(copies), copies)
    return skill, replace(outcome, copies=copies)


def _sources(edits: Sequence[Edit]) -> tuple[SourceType, tuple[str, ...]]:
    """Return the kind of trajectories behind edits, and their tasks, each once."""
    failure = any(edit.source_type == "failure" for edit in edits)
    return "failure" if failure else "success", tuple(dict.fromkeys(one for edit in edits for one in edit.task_ids))


def _room(config: Config, skill: Skill) -> str:
    """Return how many tokens a rewrite may have: what front matter and protected sections leave of the limit."""
    return str(max(0, config.skill.max_tokens - estimate_tokens(skill.text) + estimate_tokens(skill.body)))
