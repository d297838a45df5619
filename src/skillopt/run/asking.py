"""How a run asks the optimizer: recorded evidence first, and everything unusual about a reply counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from skillopt.errors import TransientModelError
from skillopt.models.base import ChatModel, ReplySchema
from skillopt.models.structured import Answer, ReplyT, ask
from skillopt.run.evidence import EvidenceStore
from skillopt.types import Failure, Message, Place

_ANSWER = "answer"
"""The key, with a place, of a structured answer that the run went on without."""


class Asker:
    """Asks for structured replies on behalf of the stages.

    Args:
        optimizer: The model, with its journal.
        evidence: Where it is recorded that the run went on without an answer.
        count: Told of replies that were repaired, asked for again or dropped, and of providers that failed.
    """

    def __init__(self, optimizer: ChatModel, evidence: EvidenceStore, count: Callable[[str], None]) -> None:
        self._optimizer = optimizer
        self._evidence = evidence
        self._count = count

    async def ask(
        self,
        messages: Sequence[Message],
        place: Place,
        schema: type[ReplyT],
        *,
        reply_schema: ReplySchema | None,
        may_fall_back: bool,
    ) -> Answer[ReplyT]:
        """See `context.StageContext.ask`."""
        given_up = self._evidence.get_given_up(_ANSWER, place)
        if given_up is not None:
            return self._without_answer(given_up)
        try:
            answer = await ask(self._optimizer, messages, place, schema, reply_schema=reply_schema)
        except TransientModelError as error:
            if not may_fall_back:
                raise
            given_up = Failure("error", place.stage, type(error).__name__, error.message)
            self._evidence.put_given_up(_ANSWER, place, given_up)
            return self._without_answer(given_up)
        for name, happened in (
            ("replies_repaired", answer.repaired),
            ("replies_asked_again", answer.asked_again),
            ("replies_dropped", answer.value is None),
        ):
            if happened:
                self._count(name)
        return answer

    def _without_answer(self, given_up: Failure) -> Answer[Any]:
        self._count(f"provider_failed_{given_up.error_type}")
        return Answer(None, dropped=given_up.message)
