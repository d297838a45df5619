"""The lean client for every server that speaks OpenAI's chat completions: the hot path of a run.

One request, one answer, one HTTP session. What goes over the wire is `wire`'s part, which server is meant `providers`'
part, and trying again, waiting in line and counting are wrappers' parts.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping

import aiohttp
from yarl import URL

from skillopt.config.model_settings import RoleSettings
from skillopt.errors import ConfigError, ModelError
from skillopt.models.base import ChatModel, ChatReply, ChatRequest
from skillopt.models.failures import Reporter, asked_wait, paid_for, parse_json, provider_words, shown_address
from skillopt.models.proxies import find_proxy
from skillopt.models.token_counts import with_estimates
from skillopt.models.wire import Dialect, fixed_fields, model_identity, read_reply, request_body
from skillopt.types import JsonValue

CONNECT_SECONDS = 30.0
"""Most seconds that opening a connection may take; the whole call has the `timeout` of its settings."""

MOST_ANSWER_BYTES = 16 * 2**20
"""Bytes of an answer, unpacked, beyond which it is not read on: far above any reply, and no danger to the memory."""


class CompatibleClient(ChatModel):
    """A chat model behind an OpenAI-compatible address.

    It belongs to the event loop in which it is first asked. Redirects are not followed, so a key goes to no host but
    the configured one; cookies are not kept.

    Args:
        provider: The provider's name, as in `provider:model`.
        model: The model's name, as the server knows it.
        base_url: Address of the API up to and including `/v1`. User and password in it are sent as basic
            authentication if there is no key, and shown nowhere.
        settings: How the model is called; `timeout` reaches the socket.
        dialect: Where this server's API differs.
        key: The key, or None to send none. It appears in no message, no `repr` and not in `identity`.
        key_variable: Name of the environment variable that held the key, for messages.
        address: What `identity` calls the address, where `base_url` says nothing of the model, such as the port that a
            local server happens to get; by default `base_url` without credentials and query.

    Raises:
        ConfigError: If `base_url` or the system's proxy is no HTTP address, the key cannot be sent in a header, or the
            settings ask for what the dialect cannot say.
    """

    def __init__(
        self,
        provider: str,
        model: str,
        *,
        base_url: str,
        settings: RoleSettings,
        dialect: Dialect | None = None,
        key: str | None = None,
        key_variable: str = "",
        address: str = "",
    ) -> None:
        dialect = dialect or Dialect()
        base = _parse_address(base_url, provider)
        shown = shown_address(base)
        proxy = find_proxy(base)
        self._proxy = proxy.address
        # For an https address the proxy opens a tunnel and reads headers of its own, else those of the request.
        tunnel = base.scheme == "https"
        self._proxy_headers: Mapping[str, str] = proxy.headers if tunnel else dict[str, str]()
        secrets = (key, base.password, *base.query.values(), proxy.password)
        self._reporter = Reporter(f"{provider}:{model}", shown, key_variable, tuple(text for text in secrets if text))
        self._url = (base / "chat/completions").with_query(base.query).with_user(None)
        self._headers = _headers(key, base, key_variable) | ({} if tunnel else dict(proxy.headers))
        self._timeout = settings.timeout
        self._streams = dialect.streams
        self._fixed = fixed_fields(model, settings, dialect)
        self._constrain = dialect.constrains_schema if settings.schema_replies is None else settings.schema_replies
        self._session: aiohttp.ClientSession | None = None
        self._identity = model_identity(provider, model, address or shown, settings=settings, constrain=self._constrain)

    def __repr__(self) -> str:
        return f"CompatibleClient({self._reporter.model!r}, base_url={self._reporter.address!r})"

    @property
    def identity(self) -> Mapping[str, JsonValue]:
        """Provider, model, address and every setting that shapes a reply; unset ones as None."""
        return self._identity

    async def reply(self, request: ChatRequest) -> ChatReply:
        """Ask once.

        Raises:
            TransientModelError: If the connection or the server failed, or the answer is no whole reply.
            RateLimitError: If the server asks to wait.
            FatalModelError: If the server refused for good, redirects, or cannot be trusted.
        """
        body = request_body(request, self._fixed, constrain=self._constrain)
        session = self._session or self._open()
        succeeded = False
        try:
            async with session.post(
                self._url, data=body, headers=self._headers, proxy_headers=self._proxy_headers, allow_redirects=False
            ) as response:
                succeeded = 200 <= response.status < 300
                answer = await _read(response)
        except (aiohttp.ClientError, OSError) as error:  # TimeoutError is an OSError
            failure = self._connection_error(error)
            raise (paid_for(failure) if succeeded else failure) from error
        if not succeeded:
            raise self._refusal(response.status, response.headers, answer)
        if len(answer) > MOST_ANSWER_BYTES:
            said = f"larger than {MOST_ANSWER_BYTES // 2**20} MB; no reply is, so it was not read to its end"
            raise paid_for(self._reporter.transient(f"the answer is {said}"))
        reply = read_reply(answer, self._reporter, content_type=response.headers.get("Content-Type", ""))
        return with_estimates(reply, request)

    async def close(self) -> None:
        """Close the connections; safe to call twice."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _open(self) -> aiohttp.ClientSession:
        self._session = aiohttp.ClientSession(
            # The limiter decides how many calls are in flight; a second limit here would only hide waiting.
            # After a stream a server may close the connection just when the next call would take it.
            connector=aiohttp.TCPConnector(limit=0, force_close=self._streams),
            timeout=aiohttp.ClientTimeout(total=self._timeout, sock_connect=CONNECT_SECONDS),
            cookie_jar=aiohttp.DummyCookieJar(),
            proxy=self._proxy,
        )
        return self._session

    def _connection_error(self, error: Exception) -> ModelError:
        reporter = self._reporter
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            return reporter.fatal(
                f"the certificate of {reporter.address} is not trusted: {reporter.quote(str(error.certificate_error))}",
                hint="SSL_CERT_FILE can name the certificates to trust.",
            )
        if isinstance(error, TimeoutError) and not isinstance(error, aiohttp.ConnectionTimeoutError):
            return reporter.timeout(self._timeout)
        if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError):
            return reporter.transient(
                f"cannot connect to {reporter.address}: {reporter.quote(_why(error))}",
                hint="Is the server running, and is `base_url` its address?",
            )
        return reporter.transient(f"the connection broke: {type(error).__name__}: {reporter.quote(str(error))}")

    def _refusal(self, status: int, headers: Mapping[str, str], answer: bytes) -> ModelError:
        if 300 <= status < 400:
            target = headers.get("Location", "")
            return self._reporter.refusal(status, f"the server redirects to {target or 'another address'}")
        text = answer.decode("utf-8", "replace")
        words, code = provider_words(parse_json(answer))
        return self._reporter.refusal(status, words or text, code=code, wait=asked_wait(headers, now=time.time()))


def _why(error: OSError) -> str:
    """Return why there is no connection, once and without the address, which is said already."""
    numbers = [error.errno] if error.errno else [int(number) for number in re.findall(r"\[Errno (\d+)\]", str(error))]
    # Those of names that are not found are negative, and have words of their own.
    known = dict.fromkeys(os.strerror(number) for number in numbers if number > 0)
    return ", ".join(known) or error.strerror or str(error)


async def _read(response: aiohttp.ClientResponse) -> bytes:
    """Return the body, unpacked piece by piece; one that is too large is cut off after its first byte too many."""
    body = bytearray()
    # `response.read()` has no bound, and unpacks whatever came at once.
    async for piece in response.content.iter_any():
        body += piece
        if len(body) > MOST_ANSWER_BYTES:
            response.close()
            break
    return bytes(memoryview(body)[: MOST_ANSWER_BYTES + 1])


def _parse_address(base_url: str, provider: str) -> URL:
    try:
        url = URL(base_url.strip())
        usable = url.scheme in ("http", "https") and bool(url.host)
    except ValueError:
        usable, url = False, URL()
    if not usable:
        # The value itself is not shown: it may hold a password.
        raise ConfigError(
            f"the base_url of {provider} is no http:// or https:// address",
            hint="It is the API's address up to and including /v1, such as http://localhost:8000/v1.",
        )
    path = url.path.rstrip("/").removesuffix("/chat/completions")
    return url.with_path(path, keep_query=True)


def _headers(key: str | None, base: URL, key_variable: str) -> dict[str, str]:
    headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "skillopt"}
    if key:
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise ConfigError(
                f"the key{f' in {key_variable}' if key_variable else ''} holds a space, a line break or another "
                "character that no key has",
                hint="Set it again, without quotation marks or line breaks around it.",
            )
        headers["Authorization"] = f"Bearer {key}"
    elif base.user:
        headers["Authorization"] = aiohttp.encode_basic_auth(base.user, base.password or "")
    return headers
