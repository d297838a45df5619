"""Answers that come as events: joined into the one completion that they amount to.

Nothing is shown while it comes; events are asked for only where a server would otherwise not notice that a call was
cancelled. What a completion says is `wire`'s part.
"""

from __future__ import annotations

from skillopt.models.failures import as_mapping, first_item, parse_json

EVENT_STREAM = "text/event-stream"
"""The content type of such answers."""

_TEXTS = ("content", "reasoning_content", "refusal")


def join_events(body: bytes) -> dict[str, object]:
    """Return the completion that a stream of events amounts to, in the form that comes without a stream.

    A stream that holds an error becomes an answer with that error; one that ends before the reply does becomes an
    answer without a message, which is no whole reply. Both keep the usage that came before.
    """
    texts: dict[str, list[str]] = {name: [] for name in _TEXTS}
    finish: object = None
    usage: object = None
    # Lines end at line feeds only: `splitlines` would also break at characters within the JSON.
    for line in body.split(b"\n"):
        if not line.startswith(b"data:"):
            continue
        event = as_mapping(parse_json(line.removeprefix(b"data:")))
        if event.get("error"):
            return {"error": event["error"], "usage": event.get("usage") or usage}
        usage = event.get("usage") or usage
        choice = as_mapping(first_item(event.get("choices")))
        finish = choice.get("finish_reason") or finish
        delta = as_mapping(choice.get("delta"))
        for name, pieces in texts.items():
            piece = delta.get(name)
            if isinstance(piece, str):
                pieces.append(piece)
    if not finish:
        return {"choices": [], "usage": usage}
    message = {"role": "assistant", **{name: "".join(pieces) for name, pieces in texts.items()}}
    return {"choices": [{"message": message, "finish_reason": finish}], "usage": usage}
