"""The live page at an address: streams that tell of a training as it goes, and an end at once."""

from __future__ import annotations

import http.client
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

import pytest
from tests.dashboard.test_following import write
from tests.support.records import committed, started

from skillopt.dashboard.serving import Dashboard
from skillopt.errors import RunDirectoryError, UsageError
from skillopt.events import RunEnded
from skillopt.run.lock import locked

TOKEN = "a-token-that-nobody-guesses"


class Served:
    """A live page that answers in a thread of its own, and connections to it."""

    def __init__(self, directory: Path, closing: ExitStack, **options: str) -> None:
        given = {"host": "127.0.0.1", "port": 0, "token": None, **options}
        self.dashboard = Dashboard(directory, **given)  # type: ignore[arg-type]
        self._closing = closing

    def ask(self, path: str, method: str = "GET") -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection(urlsplit(self.dashboard.url).netloc, timeout=30)
        self._closing.callback(connection.close)
        connection.request(method, path)
        return self._closing.enter_context(connection.getresponse())


@contextmanager
def served(directory: Path, **options: str) -> Generator[Served]:
    with ExitStack() as closing:
        found = Served(directory, closing, **options)
        thread = Thread(target=found.dashboard.serve)
        thread.start()
        try:
            yield found
        finally:
            found.dashboard.stop()
            thread.join(30)
            assert not thread.is_alive()


def messages(response: http.client.HTTPResponse) -> Iterator[str]:
    """Read a stream message by message, each with its lines."""
    lines: list[str] = []
    while line := response.readline().decode():
        if line == "\n":
            yield "".join(lines)
            lines = []
        else:
            lines.append(line)


def until(stream: Iterator[str], words: str) -> str:
    """Read on to a message that holds the words; a silence that the page fills by itself says that none will come."""
    for message in stream:
        if words in message:
            return message
        assert "still here" not in message, f"nothing came that holds {words!r}"
    pytest.fail(f"the stream ended before anything came that holds {words!r}")


def begun(page: Served, path: str) -> Iterator[str]:
    """Open a stream and read up to its first `changed`, which every stream tells; what comes after it is news."""
    stream = messages(page.ask(path))
    until(stream, "event: changed")
    return stream


def test_a_stream_tells_of_a_run_that_works_is_killed_starts_again_and_ends(tmp_path: Path) -> None:
    run = tmp_path / "run"
    write(run, started(), committed(0))
    with served(tmp_path) as page:
        response = page.ask("/runs/run/events")
        assert response.getheader("content-type", "").startswith("text/event-stream")
        stream = messages(response)
        assert "broken off" in until(stream, "badge")
        with locked(run, command="train"):
            write(run, started(), committed(0), committed(1))
            assert "Step 1 of 10 is done" in until(stream, "running")
        until(stream, "broken off")
        with locked(run, command="train"):
            write(run, started(total_steps=20))
            until(stream, "The run has begun.")
            write(run, committed(0), RunEnded("improved", "good", {}))
        until(stream, "Ended: improved.")
        (run / "history.json").write_text("[]", "utf-8")
        until(stream, "event: changed")
        shutil.rmtree(run)
        until(stream, "directory is gone")


def test_a_stream_tells_that_the_rest_has_changed_once_an_end_is_logged(runs: Path, tmp_path: Path) -> None:
    log = shutil.copytree(runs / "first/run", tmp_path / "run") / "events.jsonl"
    *lines, end = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines))
    with served(tmp_path) as page:
        stream = begun(page, "/runs/run/events")
        with log.open("ab") as file:
            file.write(end)
        until(stream, "event: changed")


def test_the_list_tells_that_it_has_changed(tmp_path: Path) -> None:
    with served(tmp_path) as page:
        stream = begun(page, "/events")
        write(tmp_path / "one", started())
        until(stream, "event: changed")
        with locked(tmp_path / "one", command="train"):
            until(stream, "event: changed")


def test_it_ends_at_once_with_open_streams(tmp_path: Path) -> None:
    write(tmp_path / "run", started())
    with served(tmp_path) as page:
        streams = [begun(page, "/runs/run/events") for _ in range(5)]
        page.dashboard.stop()
        assert [list(stream) for stream in streams] == [[]] * 5


def test_a_stream_is_not_opened_by_a_question_for_its_head(tmp_path: Path) -> None:
    with served(tmp_path) as page:
        response = page.ask("/events", "HEAD")
        assert (response.status, response.read()) == (200, b"")


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.7", "::", "example.org"])
def test_where_other_machines_can_ask_a_token_is_needed(tmp_path: Path, host: str) -> None:
    with pytest.raises(UsageError, match="there is no token"):
        Dashboard(tmp_path, host=host, port=0, token=None)


def test_a_short_token_is_refused_and_not_shown(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has 6 characters") as error:
        Dashboard(tmp_path, host="0.0.0.0", port=0, token="secret")
    assert "secret" not in str(error.value).replace("import secrets", "").replace("secrets.token_urlsafe", "")


def test_a_token_that_no_address_can_hold_is_refused_before_anything_answers(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no UTF-8 text"):
        Dashboard(tmp_path, host="127.0.0.1", port=0, token="a-token-that-nobody-\udcff-guesses")


def test_a_port_in_use_and_an_address_of_another_machine_are_said_in_words(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(UsageError, match=rf"127\.0\.0\.1, port {port}: Address already in use"):
            Dashboard(tmp_path, host="127.0.0.1", port=port, token=None)
    with pytest.raises(UsageError, match=r"nothing can answer at 192\.0\.2\.7"):
        Dashboard(tmp_path, host="192.0.2.7", port=0, token=TOKEN)


@pytest.mark.parametrize(
    "host", ["", "127.0.0.1\0", "\0", "::1\0", "\udcff", "::\udcff", "\u00e4" * 70, "a..b", "[::1]", "999.1.1.1"]
)
def test_a_host_that_can_be_no_address_is_said_in_words(tmp_path: Path, host: str) -> None:
    with pytest.raises(UsageError, match="--host") as error:
        Dashboard(tmp_path, host=host, port=0, token=TOKEN)
    assert error.value.hint


@pytest.fixture
def few_files() -> Generator[Callable[[int], None]]:
    """Lowers how many files this process may open, beyond those that are open, until the end of the test."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)

    def more(count: int) -> None:
        with ExitStack() as opened:
            highest = -1
            for _ in range(count):
                highest = os.open(os.devnull, os.O_RDONLY)
                opened.callback(os.close, highest)
        resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1, before[1]))

    yield more
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize("files", [1, 2, 8, 40])
def test_too_few_files_are_said_before_anything_answers(
    tmp_path: Path, few_files: Callable[[int], None], files: int
) -> None:
    few_files(files)
    with pytest.raises(UsageError, match="too few files") as error:
        Dashboard(tmp_path, host="127.0.0.1", port=0, token=None)
    assert "ulimit -n" in str(error.value.hint) and "model" not in str(error.value.hint)


def test_more_streams_than_there_are_files_for_are_refused_and_the_others_go_on(
    tmp_path: Path, few_files: Callable[[int], None], capfd: pytest.CaptureFixture[str]
) -> None:
    """What fills the page's own process up is what it opens itself: the browsers' ends are in another one."""
    write(tmp_path / "run", started())
    few_files(60)
    dashboard = Dashboard(tmp_path, host="127.0.0.1", port=0, token=None)
    port = urlsplit(dashboard.url).port
    browsers = subprocess.Popen(
        [sys.executable, "-c", _BROWSERS, str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with browsers:
        thread = Thread(target=dashboard.serve)
        thread.start()
        said, _ = browsers.communicate(timeout=60)
        dashboard.stop()
        thread.join(30)
    assert not thread.is_alive()
    opened, page = said.split()
    assert 16 <= int(opened) < 80, "as many as there is room for, and no more"
    assert page == "200", "the list, the first page that was ever made there, once a stream has ended"
    assert "".join(capfd.readouterr()) == ""


_BROWSERS = """
import http.client, resource, sys

hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

def ask(path):
    connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=30)
    connection.request("GET", path)
    return connection.getresponse()

streams = [ask("/events") for _ in range(80)]
opened = [stream for stream in streams if stream.status == 200]
print(len(opened))
opened[0].close()
while (page := ask("/runs/run")).status == 503:
    pass
print(page.status)
"""


def test_a_place_that_is_no_directory_is_said_in_words(tmp_path: Path) -> None:
    with pytest.raises(RunDirectoryError, match="is no directory"):
        Dashboard(tmp_path / "none", host="127.0.0.1", port=0, token=None)


def test_with_a_token_the_address_answers_once_it_was_shown(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with served(tmp_path, token=TOKEN) as page:
        assert TOKEN not in page.dashboard.url
        assert page.ask("/").status == 401
        welcome = page.ask(f"/?token={TOKEN}")
        assert (welcome.status, welcome.getheader("location")) == (303, "/")
        assert page.ask(f"/nowhere?token={TOKEN}x").status == 401
    printed = "".join(capfd.readouterr())
    assert TOKEN not in printed
    assert not re.search(r"GET|token", printed)
