"""A model that remembers: a recorded reply answers at once, a fresh one is recorded before anybody sees it.

It stands in front of everything that costs: retry, limiter, meter. A call that fails leaves no record, because an
error is never evidence.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Protocol, TypeAlias
from weakref import WeakValueDictionary

from skillopt.digests import digest
from skillopt.models.base import ChatModel, ChatReply, ChatRequest
from skillopt.types import JsonValue, Place, Role


class ReplyStore(Protocol):
    """Where replies are recorded (`run/evidence.py`)."""

    def get_reply(self, key: str) -> ChatReply | None:
        """Return the recorded reply, or None."""
        ...

    def put_reply(self, key: str, reply: ChatReply, *, role: Role, request: ChatRequest) -> None:
        """Record a reply and what it answers; on disk when this returns."""
        ...

    def recording(self, key: str) -> AbstractContextManager[None]:
        """Write what is paid within the block together with the record that it was paid for."""
        ...


ReplyObserver: TypeAlias = Callable[[Place, str, ChatReply], None]
"""Told of every reply, whether it was recorded before or paid: the place that asked, its key, and the reply."""


def reply_key(role: Role, identity: Mapping[str, JsonValue], request: ChatRequest) -> str:
    """Return the key of a reply: the digest of all that determines it, and of the place in the run that asks."""
    place = request.place
    return digest(
        {
            "role": role,
            "model": dict(identity),
            "messages": [[message.role, message.content] for message in request.messages],
            "schema": None if request.schema is None else [request.schema.name, dict(request.schema.schema)],
            "place": [place.stage, place.epoch, place.step, place.index, place.attempt],
        }
    )


class JournaledModel:
    """A model in front of which a record of its replies stands.

    Args:
        model: The model that is asked where there is no record.
        store: The record.
        role: Whose replies they are.
        on_reply: Told of every reply that is given.
    """

    def __init__(self, model: ChatModel, store: ReplyStore, *, role: Role, on_reply: ReplyObserver) -> None:
        self._model = model
        self._store = store
        self._role: Role = role
        self._on_reply = on_reply
        # One lock for each key that is asked right now; it goes when the last one who waits for it goes.
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @property
    def identity(self) -> Mapping[str, JsonValue]:
        """The identity of the model behind it."""
        return self._model.identity

    async def reply(self, request: ChatRequest) -> ChatReply:
        """Return the recorded reply, else ask the model and record what it says.

        Of several equal requests at once one is asked; the others find its record.
        """
        key = reply_key(self._role, self._model.identity, request)
        lock = self._locks.setdefault(key, asyncio.Lock())
        async with lock:
            reply = self._store.get_reply(key)
            if reply is None:
                with self._store.recording(key):
                    reply = await self._model.reply(request)
                    self._store.put_reply(key, reply, role=self._role, request=request)
        self._on_reply(request.place, key, reply)
        return reply

    async def close(self) -> None:
        """Close the model behind it; the store is its owner's to close."""
        await self._model.close()
