"""What changes is made once for all who look, and told in the form of server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from threading import Event

from hypothesis import given
from hypothesis import strategies as some

from skillopt.dashboard.channel import Channel, News, messages

NOT_CLOSING = Event()


async def told(*news: News | None) -> AsyncIterator[News | None]:
    for one in news:
        yield one


async def sent(*news: News | None) -> list[str]:
    return [message async for message in messages(told(*news))]


def read(stream: Iterable[str]) -> list[tuple[str, str]]:
    """Read messages as a browser does: event and data of each."""
    found: list[tuple[str, str]] = []
    for block in "".join(stream).split("\n\n"):
        fields = [line.partition(": ")[::2] for line in block.split("\n") if line]
        data = "\n".join(value for name, value in fields if name == "data")
        name = next((value for name, value in fields if name == "event"), "")
        if any(field in ("data", "event") for field, _ in fields):
            found.append((name, data))
    return found


async def test_whoever_begins_to_listen_is_told_to_ask_once_more() -> None:
    """What changed after the page was made, and before the first mark was taken, is in no other message."""
    assert read(await sent(News("", "1"), News("", "1"))) == [("changed", "changed")]


async def test_a_part_is_sent_where_it_has_changed_and_the_rest_is_told_of() -> None:
    stream = await sent(News("a", "1"), News("b", "1"), News("b", "2"), News("c", "3"), None)
    told = ("changed", "changed")
    assert read(stream) == [("", "a"), told, ("", "b"), told, ("", "c"), told]
    assert stream[-1] == ": still here\n\n"


@given(some.text(min_size=1))
async def test_no_text_begins_a_message_or_a_field_of_its_own(text: str) -> None:
    found, told = read(await sent(News(f"x{text}", "")))
    assert found == ("", f"x{text}".replace("\r\n", "\n").replace("\r", "\n"))
    assert told == ("changed", "changed")


async def test_many_listeners_share_one_look() -> None:
    looks: list[int] = []

    def look() -> News:
        looks.append(1)
        return News("same", "")

    channel = Channel(look, between=1000.0, clock=lambda: 0.0)
    async with asyncio.TaskGroup() as group:
        heard = [group.create_task(anext(aiter(channel.listen(NOT_CLOSING)))) for _ in range(20)]
    assert {one.result() for one in heard} == {News("same", "")}
    assert len(looks) == 1


async def test_a_listener_hears_what_is_new_and_nothing_twice() -> None:
    script = iter([News("a", ""), News("a", ""), News("b", "")])
    closing = Event()
    heard: list[News | None] = []
    times = iter(range(1000))
    channel = Channel(lambda: next(script), between=0.0, clock=lambda: float(next(times)))
    async for news in channel.listen(closing):
        heard.append(news)
        if len(heard) == 2:
            closing.set()
    assert heard == [News("a", ""), News("b", "")]


async def test_a_long_silence_is_broken() -> None:
    closing = Event()
    times = iter(range(1000))
    channel = Channel(lambda: News("a", ""), between=0.0, clock=lambda: float(next(times)))
    heard: list[News | None] = []
    async for news in channel.listen(closing):
        heard.append(news)
        if news is None:
            closing.set()
    assert heard == [News("a", ""), None]
