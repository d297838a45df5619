"""Slow update: at the end of an epoch the optimizer looks back and writes guidance into the skill's protected section.

Steps edit the skill's body and never this section; the slow update replaces it whole and touches nothing else. Its
candidate goes through the same gate as a step's, or is applied unconditionally and then measured before anything is
compared with it.
"""

from __future__ import annotations

from skillopt.context import StageContext
from skillopt.epoch.comparison import compare
from skillopt.epoch.replies import SlowUpdateReply
from skillopt.epoch.showing import show_comparison, show_previous
from skillopt.prompts import render
from skillopt.results import SlowUpdate
from skillopt.skill.document import Skill, holds_marker, unfit
from skillopt.skill.size import estimate_tokens
from skillopt.state import State
from skillopt.step.copies import copies_of_tasks, memory_in, refused_for
from skillopt.step.gate import judge
from skillopt.step.limits import show_limits
from skillopt.step.showing import show_skill
from skillopt.step.unjudged import no_verdict
from skillopt.types import Action, Comparison, Decision, Place

_ASKED, _GATED = 0, 2
"""Places of the call and of the gate; 0 and 1 are those of the rollouts."""
_MOST_TOKENS = 600
"""Room for guidance that the optimizer is told of, where the skill's limit does not leave less."""


async def slow_update(run: StageContext, state: State, epoch: int) -> State:
    """Return the state after the epoch's slow update: with new guidance where it was accepted.

    Nothing happens in the first epoch, which has nothing to look back on, with `use_slow_update: false`, and once no
    score can be higher.
    """
    if epoch < 2 or not run.config.optimizer.use_slow_update or run.saturated(state):
        return state
    comparison = await compare(run, state, "slow_update")
    reply = await _ask(run, state, comparison)
    refused = "the optimizer gave no reply" if reply is None else _refuse(run, state, reply.slow_update_content)
    content = reply.slow_update_content.strip() if reply else ""
    candidate = state.current.skill if refused else state.current.skill.with_section("SLOW_UPDATE", content)
    if refused:
        decision = no_verdict(state, Action.NO_CONTENT, refused, evaluation=run.config.evaluation)
    elif candidate.text == state.current.skill.text:
        reason = "the guidance is the one that is there already"
        decision = no_verdict(state, Action.SKIP_NO_CHANGE, reason, evaluation=run.config.evaluation)
    else:
        decision = await _judge(run, state, candidate)
    (copies,) = copies_of_tasks(run, state.current.skill, [content])
    result = SlowUpdate(epoch, comparison, reply.reasoning if reply else "", content, candidate, decision, copies)
    return run.commit_slow_update(state, result)


async def _ask(run: StageContext, state: State, comparison: Comparison) -> SlowUpdateReply | None:
    skill = state.current.skill
    room = run.config.skill.max_tokens - estimate_tokens(skill.with_section("SLOW_UPDATE", "").text)
    messages = render(
        "slow_update",
        purpose=run.environment.purpose,
        most_tokens=str(max(0, min(_MOST_TOKENS, room))),
        previous_skill=show_previous(state, skill),
        skill=show_skill(state),
        limits=show_limits(run, state),
        guidance=skill.guidance or "(none yet)",
        comparison=show_comparison(comparison, run.config.gradient),
    )
    place = Place("slow_update", state.epoch, state.step, _ASKED)
    return (await run.ask(messages, place, SlowUpdateReply, may_fall_back=True)).value


def _refuse(run: StageContext, state: State, content: str) -> str:
    """Return why a text is no guidance, and count it; "" where it is one."""
    if not content.strip():
        run.count("guidance_empty")
        return "the reply holds no guidance; what was there stays"
    if holds_marker(content) or unfit(content):
        run.count("guidance_refused")
        return "the guidance holds a marker of a protected section, or a character that no skill may hold"
    skill, most = state.current.skill, run.config.skill.max_tokens
    tokens = estimate_tokens(skill.with_section("SLOW_UPDATE", content).text)
    if tokens > most and tokens > estimate_tokens(skill.text):
        run.count("guidance_over_size")
        return f"with the guidance the skill would have about {tokens} tokens; the limit is {most}"
    memory = memory_in(state, content)
    if memory:
        run.count("guidance_refused")
        return memory
    copied = refused_for(run, skill, content)
    if copied:
        run.count("guidance_memorised")
        return f"{copied}, which skill.memorising refuses"
    return ""


async def _judge(run: StageContext, state: State, candidate: Skill) -> Decision:
    """Measure the candidate and decide by the gate, or take it whatever it scores."""
    evaluation = run.config.evaluation
    if not run.config.optimizer.slow_update_gate_with_selection:
        # Without a gate all selection tasks are measured, so later steps compare with what the skill really scores.
        update = {"use_gate": False, "acceptance": None, "confidence": None, "max_regressions": None}
        evaluation = evaluation.model_copy(update=update)
    place = Place("slow_update", state.epoch, state.step, _GATED)
    return await judge(run, state, candidate, place, evaluation=evaluation)
