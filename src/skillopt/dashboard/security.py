"""What stands around every request: who may ask, what may be asked, and what a browser may do with the answer.

Without a token only this machine may ask, and only by a name of its own, so that a page elsewhere whose name was bent
to this machine (DNS rebinding) gets nothing. With a token, a browser shows it once in the address and then keeps a
cookie. Nothing is logged here, and no answer holds the token.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import MutableMapping
from typing import Any, Final
from urllib.parse import parse_qsl, quote, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

OWN_NAMES: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
"""The names by which this machine is asked while no token is wanted."""

SHORTEST_TOKEN: Final = 16
"""Characters; a shorter one could be guessed."""

_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
_READING: Final = frozenset({"GET", "HEAD"})
_NO_TOKEN: Final = (
    "This page wants a token. Open the address with ?token=... behind it once; whoever started the dashboard has it."
)


class Guard:
    """Refuses what may not be asked, and tells browsers what they may do with the answers.

    Args:
        app: What answers.
        token: What has to be shown; None where this machine alone can ask.
    """

    def __init__(self, app: ASGIApp, *, token: str | None) -> None:
        self._app = app
        self._token = token
        # The cookie is made of the token and does not hold it. Cookies of all ports of a host lie together, so that its
        # name keeps two dashboards apart.
        self._cookie = "" if token is None else _made_of(token, "cookie")
        self._cookie_name = (
            "skillopt_dashboard" if token is None else f"skillopt_dashboard_{_made_of(token, 'name')[:8]}"
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                secure(MutableHeaders(scope=message))
            await send(message)

        await (self._refusal(scope) or self._app)(scope, receive, send_guarded)

    def _refusal(self, scope: MutableMapping[str, Any]) -> Response | None:
        headers = Headers(scope=scope)
        if scope["method"] not in _READING:
            return PlainTextResponse("Only reading is possible here.", 405, {"Allow": "GET, HEAD"})
        if self._token is None:
            asked = headers.getlist("host")
            if len(asked) == 1 and _host(asked[0]) in OWN_NAMES:
                return None
            return PlainTextResponse("This page answers to 127.0.0.1 and localhost alone.", 421)
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        shown = [value for key, value in query if key == "token"]
        if shown:
            return self._welcome(scope, query) if _same(shown[-1], self._token) else PlainTextResponse(_NO_TOKEN, 401)
        return None if _same(self._cookie_of(headers), self._cookie) else PlainTextResponse(_NO_TOKEN, 401)

    def _welcome(self, scope: MutableMapping[str, Any], query: list[tuple[str, str]]) -> Response:
        """Give a cookie, and send the browser to the same address without the token, for its history to keep."""
        rest = urlencode([(key, value) for key, value in query if key != "token"])
        # One slash alone: an address that begins with two names another host.
        path = "/" + quote(scope["path"].lstrip("/\\"))
        answer = RedirectResponse(f"{path}?{rest}" if rest else path, 303, {"Cache-Control": "no-store"})
        answer.set_cookie(self._cookie_name, self._cookie, httponly=True, samesite="strict", path="/")
        return answer

    def _cookie_of(self, headers: Headers) -> str:
        """Return our cookie; what other programs of this host left beside it may be anything, and hides it not."""
        for line in headers.getlist("cookie"):
            for pair in line.split(";"):
                name, _, value = pair.partition("=")
                if name.strip() == self._cookie_name:
                    return value.strip()
        return ""


def secure(headers: MutableHeaders) -> None:
    """Add to an answer's headers what a browser may do with it; pages are not kept by it."""
    for name, value in _HEADERS.items():
        headers[name] = value
    headers.setdefault("Cache-Control", "no-store")


def _host(header: str) -> str:
    """Return the name in a Host header, without its port."""
    name, colon, port = header.rpartition(":")
    if not colon or header.endswith("]"):
        name, port = header, ""
    return name.lower() if not port or (port.isascii() and port.isdecimal()) else ""


def _made_of(token: str, purpose: str) -> str:
    return hmac.new(token.encode(), purpose.encode(), hashlib.sha256).hexdigest()


def _same(shown: str, wanted: str) -> bool:
    """Compare two texts in a time that says nothing of them."""
    one, two = (hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in (shown, wanted))
    return hmac.compare_digest(one, two)
