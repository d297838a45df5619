"""What stands around every request: the Host header, the token, methods, and the headers of every answer."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some
from starlette.testclient import TestClient
from tests.dashboard.conftest import Visit

from skillopt.dashboard.app import ROUTES, application

TOKEN = "a-token-that-nobody-guesses"
REFUSED_METHODS = ("POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND")


def test_every_answer_forbids_what_is_not_needed(runs: Path, visit: Visit) -> None:
    page = visit(runs)
    for path in ("/", "/runs/first~run", "/static/htmx.min.js", "/nowhere", "/runs/none"):
        headers = page.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy, path
        assert "frame-ancestors 'none'" in policy, path
        assert "unsafe" not in policy, path
        assert headers["x-content-type-options"] == "nosniff", path
        assert headers["referrer-policy"] == "no-referrer", path
        assert headers["cross-origin-resource-policy"] == "same-origin", path
        assert "access-control-allow-origin" not in headers, path


def test_a_fault_of_ours_shows_no_traceback_and_forbids_as_much(
    runs: Path, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise ZeroDivisionError("secret of the house")

    monkeypatch.setattr("skillopt.dashboard.site.Site.entry", fails)
    answer = visit(runs).get("/runs/first~run")
    assert answer.status_code == 500
    assert "ZeroDivisionError" in answer.text
    assert "secret of the house" not in answer.text
    assert "Traceback" not in answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]


@pytest.mark.parametrize("method", REFUSED_METHODS)
def test_nothing_but_reading_is_possible(runs: Path, visit: Visit, method: str) -> None:
    for path in ("/", "/runs/first~run", "/nowhere"):
        answer = visit(runs).request(method, path)
        assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")


def test_every_route_is_for_reading() -> None:
    assert {method for route in ROUTES for method in route.methods or ()} == {"GET", "HEAD"}


@pytest.mark.parametrize(
    ("host", "status"),
    [("127.0.0.1:8000", 200), ("localhost", 200), ("LOCALHOST:1", 200), ("[::1]:8000", 200), ("evil.example", 421),
     ("127.0.0.1.evil.example", 421), ("localhost.evil.example:8000", 421), ("evil.example:127.0.0.1", 421),
     ("localhost@evil.example", 421), ("", 421), ("127.0.0.1:x", 421), ("[::1", 421)],
)  # fmt: skip
def test_without_a_token_only_names_of_this_machine_are_answered(
    runs: Path, visit: Visit, host: str, status: int
) -> None:
    assert visit(runs).get("/", headers={"host": host}).status_code == status


@pytest.fixture(scope="module")
def guarded(runs: Path) -> TestClient:
    """The live page that wants a token, which nobody has shown."""
    return TestClient(application(runs, token=TOKEN), base_url="http://127.0.0.1")


@given(host=some.text(some.characters(codec="latin-1", exclude_characters="\r\n\0"), max_size=40))
def test_no_other_name_is_answered_whatever_it_looks_like(pages: TestClient, host: str) -> None:
    own = re.fullmatch(r"(127\.0\.0\.1|localhost|\[::1\])(:[0-9]*)?", host, re.IGNORECASE)
    status = pages.get("/static/icon.svg", headers={"host": host.encode("latin-1")}).status_code  # type: ignore[dict-item]
    assert status == (200 if own else 421)


def test_with_a_token_nothing_is_shown_until_it_was_shown_once(runs: Path, visit: Visit) -> None:
    page = visit(runs, token=TOKEN)
    for path in ("/", "/runs/first~run", "/static/htmx.min.js", "/?token=", "/?token=wrong", f"/?token={TOKEN}x"):
        assert page.get(path).status_code == 401, path
    welcome = page.get(f"/runs/first~run?a=1&token={TOKEN}", follow_redirects=False)
    assert (welcome.status_code, welcome.headers["location"]) == (303, "/runs/first~run?a=1")
    cookie = welcome.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert TOKEN not in cookie
    assert page.get("/").status_code == 200
    assert page.get("/", headers={"host": "gpu.example", "cookie": cookie.partition(";")[0]}).status_code == 200


def test_the_token_is_in_no_page_that_follows(runs: Path, visit: Visit) -> None:
    page = visit(runs, token=TOKEN)
    first = page.get(f"/?token={TOKEN}")
    assert first.status_code == 200
    for path in ("/", "/runs/first~run", "/?page=2&state=x", "/nowhere"):
        answer = page.get(path)
        assert TOKEN not in answer.text
        assert TOKEN not in str(answer.headers)
    assert TOKEN not in first.text


@pytest.mark.parametrize("path", ["//evil.example/x", "/\\evil.example", "///evil.example"])
def test_the_token_sends_no_browser_elsewhere(runs: Path, path: str) -> None:
    client = TestClient(application(runs, token=TOKEN), base_url="http://127.0.0.1")
    answer = client.get(f"http://127.0.0.1{path}?token={TOKEN}", follow_redirects=False)
    assert re.match(r"/[^/\\]", answer.headers["location"])


@given(cookie=some.text(some.characters(codec="latin-1", exclude_characters="\r\n\0"), max_size=200))
def test_no_cookie_is_made_up(guarded: TestClient, cookie: str) -> None:
    headers: dict[str, str] = {"cookie": cookie.encode("latin-1")}  # type: ignore[dict-item]
    assert guarded.get("/", headers=headers).status_code == 401


@pytest.mark.parametrize(
    "other", ['prefs={"theme":"dark"}', "a[b]=c", "said=hello world", "name=d\xfcnn", "odd", "=", ';"', 'open="']
)
def test_what_other_programs_of_this_host_keep_as_cookies_shuts_nobody_out(
    runs: Path, visit: Visit, other: str
) -> None:
    page = visit(runs, token=TOKEN)
    ours = page.get(f"/?token={TOKEN}", follow_redirects=False).headers["set-cookie"].partition(";")[0]
    client = TestClient(application(runs, token=TOKEN), base_url="http://127.0.0.1")
    for line in (f"{other}; {ours}", f"{ours}; {other}", f"{other};{ours}"):
        headers: dict[str, str] = {"cookie": line.encode("latin-1")}  # type: ignore[dict-item]
        assert client.get("/", headers=headers).status_code == 200, line
