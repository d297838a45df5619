"""The optimizer as the stages ask it: structured replies from the journal, and a note of every one that gave trouble.

Reading a reply is `models/structured.py`'s part. Here stands what a run remembers of it besides the reply itself: which
failures of the provider a stage went on without, so that a replay goes on without them too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from skillopt.errors import TransientModelError
from skillopt.models.base import ChatModel, ChatReply, ChatRequest, ReplySchema
from skillopt.models.journal import reply_key
from skillopt.models.structured import Answer, ReplyT, ask
from skillopt.results import ReplyTrouble
from skillopt.run.evidence import EvidenceStore
from skillopt.types import Failure, JsonValue, Message, Place

_EXCERPT_CHARACTERS = 500
"""How much of a dropped reply the step's files show; the evidence holds the whole of it."""


class Asker:
    """Asks the optimizer.

    Args:
        model: The optimizer behind its journal.
        evidence: Where it is recorded what a stage went on without.
        count: Adds one to a named counter of the step.
    """

    def __init__(self, model: ChatModel, evidence: EvidenceStore, *, count: Callable[[str], None]) -> None:
        self._model = model
        self._going_on = _GoingOn(model, evidence)
        self._count = count
        self._troubles: list[ReplyTrouble] = []

    async def ask(
        self,
        messages: Sequence[Message],
        place: Place,
        schema: type[ReplyT],
        *,
        reply_schema: ReplySchema | None,
        may_fall_back: bool,
    ) -> Answer[ReplyT]:
        """Return the answer to a structured question; see `context.StageContext.ask`."""
        model = self._going_on if may_fall_back else self._model
        try:
            answer = await ask(model, messages, place, schema, reply_schema=reply_schema)
        except _GoneWithoutError as error:
            self._count(f"provider_failed_{error.error_type}")
            answer: Answer[ReplyT] = Answer(None, asked_again=error.attempt > 0, dropped=error.message)
        else:
            if answer.value is None:
                self._count("replies_dropped")
        for name, happened in (("replies_repaired", answer.repaired), ("replies_asked_again", answer.asked_again)):
            if happened:
                self._count(name)
        if answer.repaired or answer.asked_again or answer.dropped:
            excerpt = answer.said[:_EXCERPT_CHARACTERS]
            self._troubles.append(
                ReplyTrouble(place, answer.repaired, answer.asked_again, answer.dropped, excerpt=excerpt)
            )
        return answer

    def take_troubles(self) -> tuple[ReplyTrouble, ...]:
        """Return the replies that gave trouble since the last time, by stage and index: not by who finished first."""
        troubles = sorted(self._troubles, key=lambda trouble: (trouble.place.stage, trouble.place.index))
        self._troubles.clear()
        return tuple(troubles)


class _GoneWithoutError(TransientModelError):
    """The provider failed for now, and it is recorded that the run goes on without its reply."""

    def __init__(self, failure: Failure, *, attempt: int) -> None:
        super().__init__(failure.message)
        self.error_type = failure.error_type
        self.attempt = attempt


class _GoingOn(ChatModel):
    """The optimizer, for a stage that can go on without it: a failure that may pass is recorded and stands.

    It is recorded for the one request that failed. The reply before it, which was of no use but paid, is answered by
    the journal, so that a replay uses what the first play used.
    """

    def __init__(self, model: ChatModel, evidence: EvidenceStore) -> None:
        self._model = model
        self._evidence = evidence

    @property
    def identity(self) -> Mapping[str, JsonValue]:
        return self._model.identity

    async def reply(self, request: ChatRequest) -> ChatReply:
        place = request.place
        # Of this very question: another one at the same place, in a run that goes on for more epochs, is asked.
        key = reply_key("optimizer", self.identity, request)
        failure = self._evidence.get_given_up(key, place)
        if failure is None:
            try:
                return await self._model.reply(request)
            except TransientModelError as error:
                failure = Failure("error", place.stage, type(error).__name__, error.message)
                self._evidence.put_given_up(key, place, failure)
        raise _GoneWithoutError(failure, attempt=place.attempt)

    async def close(self) -> None:
        await self._model.close()
