"""Recorded replies answer; fresh ones are recorded before anybody sees them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from skillopt.errors import FatalModelError, ModelError, TransientModelError
from skillopt.models.base import ChatReply, ChatRequest, ReplySchema
from skillopt.models.journal import JournaledModel, reply_key
from skillopt.run.evidence import EvidenceStore
from skillopt.types import JsonValue, Message, Place, Usage

REQUEST = ChatRequest(
    (Message("system", "You edit."), Message("user", "Propose.")),
    Place("reflect", epoch=1, step=2, index=3),
    schema=ReplySchema("proposal", {"type": "object"}),
)


class Counting:
    """A model that answers with the number of the call, once it may."""

    def __init__(self) -> None:
        self.calls = 0
        self.fails: ModelError | None = None
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.asked = asyncio.Event()
        self.closed = False

    @property
    def identity(self) -> Mapping[str, JsonValue]:
        return {"provider": "counting", "temperature": 0.5}

    async def reply(self, request: ChatRequest) -> ChatReply:
        self.calls += 1
        number = self.calls
        self.asked.set()
        await self.may_answer.wait()
        if self.fails is not None:
            raise self.fails
        return ChatReply(f"answer {number}", usage=Usage(1, 2, 3, 4))

    async def close(self) -> None:
        self.closed = True


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EvidenceStore]:
    with EvidenceStore(tmp_path / "evidence.sqlite") as opened:
        yield opened


Told = list[tuple[Place, str]]


def journaled(model: Counting, store: EvidenceStore, told: Told | None = None) -> JournaledModel:
    told = [] if told is None else told
    return JournaledModel(
        model,
        store,
        role="optimizer",
        on_reply=lambda place, _, reply: told.append((place, reply.text)),
    )


async def test_a_recorded_reply_is_not_paid_again(store: EvidenceStore) -> None:
    model, told = Counting(), Told()
    first = await journaled(model, store, told).reply(REQUEST)
    again = await journaled(model, store, told).reply(REQUEST)
    assert first == again == ChatReply("answer 1", usage=Usage(1, 2, 3, 4))
    assert model.calls == 1
    assert told == [(REQUEST.place, "answer 1")] * 2


async def test_a_fresh_reply_is_on_record_when_it_is_told(tmp_path: Path) -> None:
    path = tmp_path / "evidence.sqlite"
    model, seen = Counting(), list[ChatReply | None]()
    wanted = reply_key("optimizer", model.identity, REQUEST)

    def look(place: Place, key: str, reply: ChatReply) -> None:
        with EvidenceStore(path) as other:
            seen.append(other.get_reply(key) if key == wanted else None)

    with EvidenceStore(path) as store:
        reply = await JournaledModel(model, store, role="optimizer", on_reply=look).reply(REQUEST)
    assert seen == [reply]


DIFFERENT = [
    replace(REQUEST, messages=REQUEST.messages[1:]),
    replace(REQUEST, messages=(Message("user", "You edit."), REQUEST.messages[1])),
    replace(REQUEST, schema=None),
    replace(REQUEST, schema=ReplySchema("proposal", {"type": "array"})),
    *(
        replace(REQUEST, place=replace(REQUEST.place, **change))
        for change in ({"stage": "select"}, {"epoch": 2}, {"step": 3}, {"index": 0}, {"attempt": 1})
    ),
]


def test_all_that_determines_a_reply_is_in_its_key() -> None:
    """More 1: never answered by what was asked of another model, in other words, or at another place."""
    identity: Mapping[str, JsonValue] = {"provider": "counting", "temperature": 0.5}
    keys = {reply_key("optimizer", identity, request) for request in (REQUEST, *DIFFERENT)}
    keys.add(reply_key("target", identity, REQUEST))
    keys.add(reply_key("optimizer", {**identity, "temperature": 0.6}, REQUEST))
    assert len(keys) == len(DIFFERENT) + 3
    turned: Mapping[str, JsonValue] = {"temperature": 0.5, "provider": "counting"}
    assert reply_key("optimizer", turned, REQUEST) == reply_key("optimizer", identity, REQUEST)


@pytest.mark.parametrize("error", [TransientModelError("busy"), FatalModelError("bad key")])
async def test_an_error_is_never_evidence(store: EvidenceStore, error: ModelError) -> None:
    """F14: a failed call leaves no record; the next one is asked anew."""
    model, told = Counting(), Told()
    model.fails = error
    with pytest.raises(type(error)):
        await journaled(model, store, told).reply(REQUEST)
    assert told == []
    model.fails = None
    assert (await journaled(model, store, told).reply(REQUEST)).text == "answer 2"


async def test_equal_requests_at_once_are_one_call(store: EvidenceStore) -> None:
    model, told = Counting(), Told()
    model.may_answer.clear()
    journal = journaled(model, store, told)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(journal.reply(request)) for request in [REQUEST] * 5 + DIFFERENT[:1]]
        await asyncio.sleep(0)  # lets every task run until it waits
        model.may_answer.set()
    replies = [task.result() for task in tasks]
    assert model.calls == 2
    assert len({reply.text for reply in replies[:5]}) == 1
    assert len(told) == 6


async def test_one_who_gives_up_does_not_take_the_call_from_the_others(store: EvidenceStore) -> None:
    model = Counting()
    model.may_answer.clear()
    journal = journaled(model, store)
    first, second = (asyncio.create_task(journal.reply(REQUEST)) for _ in range(2))
    await model.asked.wait()
    first.cancel()
    model.may_answer.set()
    assert (await second).text == "answer 2"
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_after_a_failure_the_next_who_waits_asks_itself(store: EvidenceStore) -> None:
    model = Counting()
    model.fails = TransientModelError("busy")
    results = await asyncio.gather(*(journaled(model, store).reply(REQUEST) for _ in range(2)), return_exceptions=True)
    assert [type(result) for result in results] == [TransientModelError, TransientModelError]


async def test_no_lock_is_kept_for_a_request_that_is_done(store: EvidenceStore) -> None:
    journal = journaled(Counting(), store)
    for request in (REQUEST, *DIFFERENT):
        await journal.reply(request)
    assert len(journal._locks) == 0


async def test_it_is_the_model_behind_it_to_everybody_else(store: EvidenceStore) -> None:
    model = Counting()
    journal = journaled(model, store)
    assert journal.identity == model.identity
    await journal.close()
    assert model.closed
