"""The one call to each model by which `skillopt check` finds out whether a training could ask it.

Models, harness, scorer and the form of the optimizer's replies are those of the training; nothing of it is kept.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

from skillopt.cli.terminal import say
from skillopt.config.schema import Config
from skillopt.errors import UnusableReplyError
from skillopt.interruption import interruptible
from skillopt.models.base import ChatReply, ChatRequest
from skillopt.models.prices import Prices
from skillopt.models.providers import key_notes
from skillopt.models.reply_text import read_json
from skillopt.models.retry import Retry
from skillopt.run.accounts import Accounts
from skillopt.run.evidence import EvidenceStore
from skillopt.run.measuring import open_evaluator
from skillopt.run.models import ROLES, Models, open_models, role_settings
from skillopt.run.setup import Setup
from skillopt.step.replies import EditsReply
from skillopt.text_files import plain
from skillopt.types import Message, Place, Role, Rollout

_QUESTION = 'Reply with this JSON object and nothing else: {"reasoning": "ready", "edits": []}'
_IN_MEMORY = Path(":memory:")
"""SQLite's name for a database without a file."""
_SHOWN_CHARACTERS = 60
_MOST_ATTEMPTS = 3


async def ask_models(setup: Setup) -> None:
    """Ask each model once and say what came.

    Raises:
        ModelError: If a model does not answer; the message holds the provider's words.
        MeasurementError: If the target's answer could not be had or scored.
        Interrupted: If a signal asked to end.
    """
    for role in ROLES:
        for note in key_notes(role, role_settings(setup.config, role), os.environ):
            say(f"warning: {note}", style="yellow")
    accounts = Accounts(Prices(setup.config.model, on=datetime.now(UTC).date()))
    opening = open_models(_tried_less_often(setup.config), accounts, environment=os.environ, on_retry=_on_retry)
    async with interruptible(), opening as models:
        await _ask_target(setup, models)
        await _ask_optimizer(setup, models)


def _tried_less_often(config: Config) -> Config:
    """Whoever checks is waiting, and a server that is not there is best known soon."""
    roles = {role: role_settings(config, role) for role in ROLES}
    fewer = {
        role: one.model_copy(update={"attempts": min(one.attempts, _MOST_ATTEMPTS)}) for role, one in roles.items()
    }
    return config.model_copy(update={"model": config.model.model_copy(update=fewer)})


async def _ask_target(setup: Setup, models: Models) -> None:
    task = setup.splits.train[0]
    with EvidenceStore(_IN_MEMORY) as nothing_kept:
        evaluator = open_evaluator(setup, models, nothing_kept, observer=_ignore, part_of_a_run=True)
        (rollout,) = await evaluator.measure(setup.seed_skill, [task], Place("check"), most_unmeasured=0)
    assert rollout.trajectory is not None and rollout.score is not None, "what was not measured has raised"
    verdict = "solved" if rollout.score.hard else "not solved"
    said = _shown(ChatReply(rollout.trajectory.output, rollout.trajectory.finish_reason))
    _tell(setup, "target", f"task {plain(task.id)} is {verdict} with the seed skill; it answered: {said}")


async def _ask_optimizer(setup: Setup, models: Models) -> None:
    request = ChatRequest((Message("user", _QUESTION),), Place("check"), schema=EditsReply.reply_schema())
    reply = await models.optimizer.reply(request)
    try:
        read_json(reply.text)
    except UnusableReplyError as error:
        _tell(setup, "optimizer", f"answered: {_shown(reply)}")
        say(
            f"warning: the optimizer was asked for one JSON object, and its answer cannot be read as one: "
            f"{plain(error.message)}. A training asks once more and then goes on without such a reply.",
            style="yellow",
        )
    else:
        _tell(setup, "optimizer", "answered in the form that was asked for")


def _tell(setup: Setup, role: Role, text: str) -> None:
    say(f"{role:<9} ok  {plain(role_settings(setup.config, role).name)}: {text}")


def _shown(reply: ChatReply) -> str:
    text = plain(" ".join(reply.text.split()))
    if not text:
        return f"(no text; finish reason {plain(reply.finish_reason)})"
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."


def _on_retry(role: Role, retry: Retry) -> None:
    say(f"{role}: {plain(retry.error.message)}; attempt {retry.attempt + 1} in {retry.wait:.0f} s", stderr=True)


def _ignore(place: Place, key: str, rollout: Rollout, *, recorded: bool) -> None:
    pass
