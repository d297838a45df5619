"""What the simulated server sends: a whole answer, and every kind of fault in place of one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from aiohttp import web

from skillopt.digests import digest
from skillopt.models.base import ChatReply
from skillopt.simulation.weather import Call, Fault

SIMULATED = "simulated-"
"""How the names of the models begin."""

_PIECE = 16
"""Bytes in one piece of a slow answer."""


async def answered(
    http: web.Request, call: Call, fault: Fault | None, ask: Callable[[], Awaitable[ChatReply]]
) -> web.StreamResponse:
    """Answer a call with what the model says, or with what the weather makes of it; not every fault needs the model."""
    if fault is None:
        return web.json_response(_completion(call, await ask()))
    match fault.kind:
        case "hang":
            await asyncio.Event().wait()
        case "reset":
            _break_off(http)
            return web.Response()  # which reaches nobody
        case "status":
            return refused(fault.status, fault.message, error_type=fault.error_type, retry_after=fault.retry_after)
        case "cut_body" | "stalled_body" | "slow_body":
            return await _in_pieces(http, _completion(call, await ask()), fault.kind)
        case _:
            pass
    return _spoiled(call, fault, await ask())


def refused(
    status: int, message: str, *, error_type: str = "simulated_error", retry_after: str | None = None
) -> web.Response:
    """Return an error as OpenAI words it."""
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    return web.json_response({"error": {"message": message, "type": error_type}}, status=status, headers=headers)


def _completion(call: Call, reply: ChatReply, **message: str) -> dict[str, Any]:
    usage = reply.usage
    return {
        "id": f"{SIMULATED}{digest(dict(call.body))[:24]}",
        "object": "chat.completion",
        "created": 0,
        "model": f"{SIMULATED}{call.model}",
        "system_fingerprint": "simulated",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": reply.text, **message},
                "finish_reason": reply.finish_reason,
            }
        ],
        "usage": {
            "prompt_tokens": usage.fresh_tokens + usage.cached_tokens,
            "completion_tokens": usage.output_tokens,
            "total_tokens": usage.tokens,
            "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
        },
    }


def _spoiled(call: Call, fault: Fault, reply: ChatReply) -> web.Response:
    """Return an answer with status 200 that is not what it should be."""
    half = reply.text[: len(reply.text) // 2]

    def said(text: str, finish_reason: str = "stop", **message: str) -> Mapping[str, Any]:
        return _completion(call, ChatReply(text, finish_reason, usage=reply.usage), **message)

    match fault.kind:
        case "wrong_type":
            return web.Response(text=json.dumps(_completion(call, reply)), content_type="text/html")
        case "garbage":
            return web.Response(text="<html>simulated: this is no JSON</html>", content_type="text/html")
        case "error_inside":
            return web.json_response({"error": {"message": fault.message, "code": fault.status}})
        case "no_choices":
            body: Mapping[str, Any] = {"object": "chat.completion", "model": f"{SIMULATED}{call.model}", "choices": []}
            return web.json_response(body)
        case "broken_off":
            return web.json_response(said(half, "error"))
        case "reasoning_only":
            return web.json_response(said("", reasoning_content=reply.text))
        case "withheld":
            return web.json_response(said("", "content_filter"))
        case "cut":
            return web.json_response(said(half, "length"))
        case "off_topic":
            return web.json_response(said("Simulated: what a nice day it is."))
        case _:
            return web.json_response(said(""))


async def _in_pieces(http: web.Request, body: Mapping[str, Any], kind: str) -> web.StreamResponse:
    """Send an answer piece by piece, and not all of it where the fault says so."""
    sent = json.dumps(body).encode()
    response = web.StreamResponse()
    response.content_type = "application/json"
    response.content_length = len(sent)
    await response.prepare(http)
    for start in range(0, len(sent) if kind == "slow_body" else len(sent) // 2, _PIECE):
        await response.write(sent[start : start + _PIECE])
        await asyncio.sleep(0)
    if kind == "stalled_body":
        await asyncio.Event().wait()
    if kind == "cut_body":
        _break_off(http)
    return response


def _break_off(http: web.Request) -> None:
    if http.transport is not None:
        http.transport.abort()
