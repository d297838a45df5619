"""Meta skill: at the end of an epoch the optimizer writes itself a short memory of which edits helped and which hurt.

The next epoch's calls of the optimizer read it (`step/`). It is part of the state and of no skill: the target never
sees it, and nothing here can reach the document. A call that gives nothing of use keeps the last good memory.
"""

from __future__ import annotations

from typing import Literal

from skillopt.context import StageContext
from skillopt.epoch.comparison import compare
from skillopt.epoch.replies import MetaSkillReply
from skillopt.epoch.showing import show_accepted, show_comparison, show_previous
from skillopt.prompts import render
from skillopt.results import LookBack, MetaSkill
from skillopt.skill.document import unfit
from skillopt.skill.size import estimate_tokens
from skillopt.state import State
from skillopt.step.showing import show_memory, show_rejections, show_text
from skillopt.types import Place

MOST_TOKENS = 400
"""Most tokens of the memory (estimated): it stands in every prompt of the next epoch."""
_ASKED = 0
_TRIALS_SHOWN = 20
"""Most accepted edits, and most rejected ones, that the optimizer looks back on."""


async def meta_skill(run: StageContext, state: State, epoch: int) -> State:
    """Return the state with a new memory, or with the last good one.

    Nothing happens in the first epoch, with `use_meta_skill: false`, and once no score can be higher. The comparison is
    that of the slow update; where there was none, both skills do the sampled tasks now.
    """
    if epoch < 2 or not run.config.optimizer.use_meta_skill or run.saturated(state):
        return state
    look_back = state.look_back or LookBack(state.current.skill, await compare(run, state, "meta_skill"))
    reply = await _ask(run, state, look_back)
    content = reply.meta_skill_content.strip() if reply else ""
    problem = "the optimizer gave no reply" if reply is None else _problem(run, content)
    action: Literal["updated", "kept"] = "kept" if problem else "updated"
    result = MetaSkill(
        epoch=epoch,
        look_back=look_back,
        own_rollouts=state.look_back is None,
        reasoning=reply.reasoning if reply else "",
        content=content,
        memory=state.memory if problem else bounded(run, content),
        action=action,
        reason=f"{problem}; the last good memory stays" if problem else "the next epoch reads it",
    )
    return run.commit_meta_skill(state, result)


async def _ask(run: StageContext, state: State, look_back: LookBack) -> MetaSkillReply | None:
    messages = render(
        "meta_skill",
        purpose=run.environment.purpose,
        most_tokens=str(MOST_TOKENS),
        previous_skill=show_previous(state, look_back.skill),
        skill=show_text(look_back.skill),
        memory=show_memory(state),
        comparison=show_comparison(look_back.comparison, run.config.gradient),
        accepted=show_accepted(state, most=_TRIALS_SHOWN),
        rejections=show_rejections(state, most=_TRIALS_SHOWN),
    )
    place = Place("meta_skill", state.epoch, state.step, _ASKED)
    return (await run.ask(messages, place, MetaSkillReply, may_fall_back=True)).value


def _problem(run: StageContext, content: str) -> str:
    """Return why a text is no memory, and count it; "" where it is one."""
    if not content:
        run.count("memory_empty")
        return "the reply holds no memory"
    if unfit(content):
        run.count("memory_refused")
        return "the memory holds a character that no text file holds"
    return ""


def bounded(run: StageContext, text: str) -> str:
    """Return a memory of at most `MOST_TOKENS` tokens (estimated): its beginning, whole words; a cut is counted."""
    tokens = estimate_tokens(text)
    if tokens <= MOST_TOKENS:
        return text
    run.count("memory_cut")
    while estimate_tokens(text) > MOST_TOKENS:
        shorter = text[: len(text) * MOST_TOKENS // estimate_tokens(text)]
        text = shorter.rsplit(None, 1)[0] if len(shorter.split()) > 1 else shorter
    return text.strip()
