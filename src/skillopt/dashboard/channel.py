"""Server-sent events: what changes is made once and sent to all who look, as long as anybody does."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from threading import Event, Lock
from typing import Final

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

SECONDS_BETWEEN: Final = 0.5
"""Between two looks at what a channel shows."""

_LOOKS_OF_SILENCE: Final = 30
"""After which a comment is sent, so that a connection whose browser has gone is noticed."""


@dataclass(frozen=True, slots=True)
class News:
    """What is to be seen now.

    Attributes:
        html: A part of the page, which takes the place of the last one; "" where there is none.
        mark: What tells of the rest of the page whether it has changed; where it has, the browser is told `changed`
            and asks for it.
    """

    html: str
    mark: str


class Channel:
    """What many browsers look at: made once for all of them, again and again while at least one does.

    Args:
        look: Returns what is to be seen; it reads files and runs in a thread, one call at a time.
        between: Seconds between two looks.
        clock: Seconds that only ever grow.
    """

    def __init__(
        self,
        look: Callable[[], News],
        *,
        between: float = SECONDS_BETWEEN,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._look = look
        self._between = between
        self._clock = clock
        self._lock = Lock()
        self._seen: tuple[float, News] | None = None

    async def listen(self, closing: Event) -> AsyncIterator[News | None]:
        """Yield what is to be seen, at once and whenever it has changed; None after a long silence.

        Args:
            closing: Set where the whole site ends; the listening ends with it.
        """
        told: News | None = None
        silent = 0
        while not closing.is_set():
            news = await asyncio.to_thread(self.now)
            silent = silent + 1 if news == told else 0
            if not silent:
                told = news
                yield news
            elif silent % _LOOKS_OF_SILENCE == 0:
                yield None
            await asyncio.sleep(self._between)

    def now(self) -> News:
        """Return what is to be seen, as it was within the last moment."""
        with self._lock:
            # Half a turn: who asks next gets what is new, and many who ask together get the same.
            if self._seen is None or self._clock() - self._seen[0] > self._between / 2:
                news = self._look()
                self._seen = (self._clock(), news)
            return self._seen[1]


def stream(request: Request, channel: Channel, closing: Event) -> Response:
    """Return the answer that sends what a channel tells, for as long as its reader stays and the site is there."""
    if request.method == "HEAD":
        return Response(media_type="text/event-stream")
    return StreamingResponse(messages(channel.listen(closing)), media_type="text/event-stream")


async def messages(told: AsyncIterator[News | None]) -> AsyncIterator[str]:
    """Yield the messages of a stream: a part of the page without a name, and `changed` where the rest has.

    The first of them says `changed` too: the page was made ahead of the stream, and only what is asked for after a mark
    was taken is sure to hold all that the mark stands for.
    """
    last: News | None = None
    async for news in told:
        if news is None:
            yield ": still here\n\n"
            continue
        if news.html and (last is None or news.html != last.html):
            yield _message(news.html)
        if last is None or news.mark != last.mark:
            yield "event: changed\ndata: changed\n\n"
        last = news


def _message(text: str) -> str:
    """Return a message: every line of the text is data, so that no text can begin a field of its own."""
    return "".join(f"data: {line}\n" for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")) + "\n"
