"""The simulated models behind a real HTTP server that speaks the OpenAI chat-completions protocol.

It serves a client over real sockets, with any weather a test asks for. Its replies call themselves simulated. It knows
nothing of a run: the stage of an optimizer call is told from the request, as a real model would tell it.

    async with SimulatedServer(World(seed=7)) as server:
        ...  # a client at server.base_url, with the models "simulated-target" and "simulated-optimizer"
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Any, Self, cast

from aiohttp import web

from skillopt.digests import digest
from skillopt.models.base import ChatModel, ChatRequest, ReplySchema
from skillopt.simulation.http_answers import SIMULATED, answered, refused
from skillopt.simulation.optimizer import SimulatedOptimizer
from skillopt.simulation.target import SimulatedTarget
from skillopt.simulation.weather import Call, Weather, fair
from skillopt.simulation.world import World
from skillopt.types import Message, Place

_CLOSING_TIME = 0.1
"""Seconds that calls under way may still take when the server closes; those that hang are then broken off."""


class _BadRequest(Exception):
    """The client sent what the protocol does not allow; the message goes into the error body."""

    def __init__(self, message: str, *, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class SimulatedServer:
    """An OpenAI-compatible server of a simulated target and optimizer on a free port of 127.0.0.1.

    The models are `simulated-target` and `simulated-optimizer` (also without the prefix). A body field `seed` counts as
    the number of a repeat, so that a noisy target can be asked again over the wire.

    Args:
        world: The world of both models.
        target: The target; by default one without noise.
        optimizer: The optimizer; by default one with its default rates.
        weather: What goes wrong with which call.
        delay: Awaited before a call is answered, so that a test can decide the order of completion.
        api_key: Where set, a call without `Authorization: Bearer KEY` is answered 401.

    Attributes:
        calls: Every chat request that came, in the order of arrival.
        abandoned: Number of calls that were broken off before they were answered, since their client went away (or the
            server closed).
    """

    def __init__(
        self,
        world: World,
        *,
        target: ChatModel | None = None,
        optimizer: ChatModel | None = None,
        weather: Weather = fair,
        delay: Callable[[Call], Awaitable[None]] | None = None,
        api_key: str | None = None,
    ) -> None:
        self._models: Mapping[str, ChatModel] = {
            "target": target or SimulatedTarget(world),
            "optimizer": optimizer or SimulatedOptimizer(world),
        }
        self._weather = weather
        self._delay = delay
        self._api_key = api_key
        self._runner: web.AppRunner | None = None
        self._came: Counter[str] = Counter()
        self.calls: list[Call] = []
        self.abandoned = 0

    @property
    def base_url(self) -> str:
        """Address of the API up to and including `/v1`.

        Raises:
            RuntimeError: If the server is not running.
        """
        if self._runner is None or not self._runner.addresses:
            raise RuntimeError("the simulated server is not running; enter it with `async with`")
        host, port = self._runner.addresses[0][:2]
        return f"http://{host}:{port}/v1"

    def count(self, model: str) -> int:
        """Return how many calls came for "target" or "optimizer"."""
        return sum(call.model == model for call in self.calls)

    async def __aenter__(self) -> Self:
        application = web.Application(client_max_size=64 * 1024**2)
        application.router.add_post("/v1/chat/completions", self._complete)
        self._runner = web.AppRunner(
            application, access_log=None, handler_cancellation=True, shutdown_timeout=_CLOSING_TIME
        )
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _complete(self, http: web.Request) -> web.StreamResponse:
        try:
            return await self._answer(http)
        except _BadRequest as error:
            return refused(error.status, str(error))
        except asyncio.CancelledError:
            self.abandoned += 1
            raise

    async def _answer(self, http: web.Request) -> web.StreamResponse:
        body = await _body(http)
        name = str(body.get("model", "")).removeprefix(SIMULATED)
        content = digest(body)
        call = Call(len(self.calls), name if name in self._models else "", body, self._came[content])
        self._came[content] += 1
        self.calls.append(call)
        if self._api_key is not None and http.headers.get("Authorization") != f"Bearer {self._api_key}":
            raise _BadRequest("Incorrect API key provided.", status=401)
        if not call.model:
            raise _BadRequest(f"The model {body.get('model')!r} does not exist.", status=404)
        request = _request(body)
        if self._delay is not None:
            await self._delay(call)
        fault = self._weather(call)
        return await answered(http, call, fault, lambda: self._models[name].reply(request))


async def _body(http: web.Request) -> dict[str, Any]:
    try:
        body: object = await http.json()
    except ValueError as error:
        raise _BadRequest("The body is not valid JSON.") from error
    if not isinstance(body, dict):
        raise _BadRequest("The body must be a JSON object.")
    return cast("dict[str, Any]", body)


def _request(body: Mapping[str, Any]) -> ChatRequest:
    if body.get("stream"):
        raise _BadRequest("The simulated server does not stream.")
    try:
        messages = tuple(Message(each["role"], _text(each["content"])) for each in body["messages"])
        form: dict[str, Any] = body.get("response_format") or {}
        named: dict[str, Any] | None = form.get("json_schema")
        schema = ReplySchema(named["name"], named["schema"]) if named else None
        place = Place("", attempt=int(body.get("seed") or 0))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise _BadRequest(f"The body does not follow the chat-completions protocol: {error!r}.") from error
    if not messages:
        raise _BadRequest("messages must not be empty.")
    return ChatRequest(messages, place, schema)


def _text(content: Any) -> str:
    """Return a message's text, which may come in parts."""
    return content if isinstance(content, str) else "".join(part["text"] for part in content)
