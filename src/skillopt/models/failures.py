"""From a provider's failure to one of our errors: the right kind, the provider's own words, and no secret.

Everything a server says is foreign text: before it enters a message it loses control characters, keys and whatever is
beyond a few hundred characters. Which status may pass and which is fatal stands in `failure_table.py`; nothing is tried
again here.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import cached_property, lru_cache
from html import escape
from typing import TypeVar, cast
from urllib.parse import quote, quote_plus

from yarl import URL

from skillopt.errors import FatalModelError, ModelError, ModelTimeoutError, RateLimitError, TransientModelError
from skillopt.models.failure_table import QUOTA_CODES, Treatment, row_of
from skillopt.types import Usage

ErrorT = TypeVar("ErrorT", bound=ModelError)

_URL_SAFE = str.maketrans("+/", "-_")

_CODE_STATUS = {
    "invalid_api_key": 401,
    "authentication_error": 401,
    "permission_error": 403,
    "model_not_found": 404,
    "not_found_error": 404,
    "invalid_request_error": 400,
    "rate_limit_exceeded": 429,
    "rate_limit_error": 429,
}
"""The HTTP statuses that providers' words amount to, for errors that come with status 200."""

_QUOTE_LIMIT = 300
_READ_LIMIT = 20_000
_RECOGNISABLE = 8
_HINTED = 3
_LONGEST_WAIT = 1e9
"""Seconds that stand for any longer wait, be it infinite; who waits shortens them much further."""
_MASKED_REST = r"[\w-]*(?:[*\u2022\u00b7\u2026]{2,}|\.{3}|\u2026|[xX]{4})[^\s\"'<>,;]*"
"""What follows the first characters of a key that a server has masked with stars, dots or the like."""
_UNMISTAKABLE = 16
"""Characters from which a key is taken out of a reply: a shorter one may be a word that the model means."""


@dataclass(frozen=True)
class Reporter:
    """Words the failures of one model.

    Attributes:
        model: The model as the configuration names it, `provider:model`.
        address: The API's address without credentials and query.
        key_variable: Environment variable that the key came from; "" where no key is sent.
        secrets: Texts that must appear in no message.
    """

    model: str
    address: str
    key_variable: str = ""
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @cached_property
    def _secret_pattern(self) -> re.Pattern[str] | None:
        forms = {form for secret in self.secrets if secret for form in _forms(secret)}
        # A server may echo a key half masked (`sk-proj-****wxyz`): the word around its first characters goes too.
        starts = {form[:_RECOGNISABLE] for form in forms if len(form) >= 2 * _RECOGNISABLE}
        # A very short key ("x", "EMPTY") is only taken for itself where it stands as a word.
        patterns = [re.escape(form) if len(form) >= _RECOGNISABLE else rf"\b{re.escape(form)}\b" for form in forms]
        patterns.sort(key=len, reverse=True)
        patterns += [re.escape(start) + r"[^\s\"'<>,;]*" for start in sorted(starts)]
        patterns += [re.escape(start[:_HINTED]) + _MASKED_REST for start in sorted(starts)]
        return re.compile("|".join(patterns), re.IGNORECASE) if patterns else None

    def quote(self, text: str) -> str:
        """Return foreign text fit for a message: one line, printable, without secrets, at most 300 characters."""
        cut = text[:_READ_LIMIT]
        line = " ".join("".join(character if character.isprintable() else " " for character in cut).split())
        if self._secret_pattern:
            line = self._secret_pattern.sub("[key]", line)
        if len(text) > _READ_LIMIT:  # the cut may have left the first half of a key at the end
            line = line[: -3 * max((len(secret) for secret in self.secrets), default=0) or None]
        return line if len(line) <= _QUOTE_LIMIT else line[: _QUOTE_LIMIT - 1] + "…"

    def name(self, said: object) -> str:
        """Return a name that comes with every answer, fit to be shown; "" for what is none, or too long for one."""
        return self._quoted_name(said) if isinstance(said, str) and len(said) <= _QUOTE_LIMIT else ""

    @cached_property
    def _quoted_name(self) -> Callable[[str], str]:
        # It is the same in all of them, and quoting it takes longer than to remember it.
        return lru_cache(maxsize=8)(self.quote)

    def without_secrets(self, text: str) -> str:
        """Return a reply's text without the keys that a server may have put into it; all else stays as it came."""
        for form in self._long_forms:
            text = text.replace(form, "[key]")
        return text

    @cached_property
    def _long_forms(self) -> tuple[str, ...]:
        forms = {form for secret in self.secrets if len(secret) >= _UNMISTAKABLE for form in _forms(secret)}
        return tuple(sorted(forms, key=len, reverse=True))

    def transient(self, message: str, *, hint: str = "", status: int | None = None) -> TransientModelError:
        """Return the error for what may pass; `message` is ours or quoted."""
        return TransientModelError(f"{self.model}: {message}", hint=hint, status=status)

    def timeout(self, seconds: float) -> ModelTimeoutError:
        """Return the error for a call that took longer than it may."""
        return ModelTimeoutError(f"{self.model}: no answer within {seconds:g} s, the `timeout` of this role")

    def fatal(self, message: str, *, hint: str = "", status: int | None = None) -> FatalModelError:
        """Return the error for what another attempt cannot mend; `message` is ours or quoted."""
        return FatalModelError(f"{self.model}: {message}", hint=hint, status=status)

    def refusal(
        self, status: int, words: str, *, code: str = "", wait: float | None = None, origin: str = ""
    ) -> ModelError:
        """Return the error for an answer that is an error.

        Args:
            status: HTTP status, or the status that the provider's own code amounts to.
            words: The provider's message, as it came.
            code: The provider's code for the failure, such as `insufficient_quota`.
            wait: Seconds the provider asked to wait, if it did.
            origin: Where the status is from, for the message; by default the HTTP status itself.
        """
        message = f"{self.quote(words) or 'no message'} ({origin or f'HTTP {status}'})"
        row = row_of(status, code=code)
        if row.target is Treatment.STOP:
            return self.fatal(message, hint=self._hint(402 if code in QUOTA_CODES else status), status=status)
        if row.halves or wait is not None:
            return RateLimitError(f"{self.model}: {message}", retry_after=wait, status=status)
        return self.transient(message, status=status)

    def _hint(self, status: int) -> str:
        if status in (401, 403):
            if self.key_variable:
                return f"The key was read from the environment variable {self.key_variable}."
            return "No key was sent; `api_key_env` names the environment variable that holds one."
        if status == 402:
            return "The account has no credit left with this provider."
        if status == 404:
            return f"Check the model's name and `base_url`, which is {self.address} and usually ends in /v1."
        if 300 <= status < 400:
            return "Redirects are not followed, since the key would go with them; set `base_url` to the final address."
        return ""


def _forms(secret: str) -> set[str]:
    """Return how a secret may be echoed: as it is, in a URL, in JSON, in HTML, and in base64 at any offset."""
    in_json = json.dumps(secret)[1:-1]
    forms = {secret, quote(secret), quote(secret, safe=""), quote_plus(secret)}
    forms |= {in_json, in_json.replace("/", "\\/"), escape(secret), escape(secret, quote=False)}
    if len(secret) >= _RECOGNISABLE:
        for offset in range(3):
            coded = b64encode(b"\0" * offset + secret.encode("utf-8", "replace")).decode("ascii")
            # The characters at either end depend on what stands beside the secret.
            whole = coded[-(-8 * offset // 6) : len(coded) - (4 if coded.endswith("=") else 0)]
            forms |= {whole, whole.translate(_URL_SAFE)}
    return forms


def paid_for(error: ErrorT, usage: Usage | None = None) -> ErrorT:
    """Return the error of an answer that began as a success, with the tokens that it names; none where it does not."""
    usage = usage or Usage()
    error.paid = (usage.fresh_tokens, usage.cached_tokens, usage.output_tokens)
    return error


def shown_address(url: URL) -> str:
    """Return an address as it may be shown: without user, password, query and fragment."""
    return str(url.with_user(None).with_query(None).with_fragment(None)) if url.absolute else ""


def parse_json(body: bytes) -> object:
    """Return the JSON value that a body holds, or None where it holds none."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def as_mapping(value: object) -> Mapping[str, object]:
    """Return a JSON object as it is, and anything else as an empty one."""
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def first_item(value: object) -> object:
    """Return the first item of a JSON list, and None for an empty list or anything else."""
    items = cast("list[object]", value) if isinstance(value, list) else []
    return items[0] if items else None


def provider_words(payload: object) -> tuple[str, str]:
    """Find the message and the code in the error bodies that providers send; "" for what is not there."""
    outer = as_mapping(payload) or as_mapping(first_item(payload))  # some wrap their errors in a list
    error = outer.get("error")
    inner = as_mapping(error) or outer
    candidates = (inner.get("message"), error, outer.get("message"), outer.get("detail"))
    message = next((words for words in candidates if isinstance(words, str) and words.strip()), "")
    upstream = as_mapping(inner.get("metadata")).get("raw")  # OpenRouter: what the model's own host said
    if isinstance(upstream, str) and upstream.strip():
        message = f"{message}: {upstream}" if message else upstream
    codes = [str(inner[name]) for name in ("code", "type") if isinstance(inner.get(name), str | int)]
    return message, next((code for code in codes if code in QUOTA_CODES), codes[0] if codes else "")


def status_of(code: str) -> int:
    """Return the HTTP status that a provider's code for a failure amounts to; 500, which is transient, if unknown."""
    if re.fullmatch(r"[45]\d\d", code, re.ASCII):
        return int(code)
    return _CODE_STATUS.get(code, 500)


def asked_wait(headers: Mapping[str, str], *, now: float) -> float | None:
    """Return the seconds a server asks to wait, at least 0, or None where it does not say so legibly.

    Args:
        headers: Response headers; looked up as `retry-after-ms` and `Retry-After` (seconds or an HTTP date, RFC 9110
            section 10.2.3).
        now: The present, in seconds since 1970, to which a date is compared.
    """
    milliseconds = _seconds(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("Retry-After")
    seconds = _seconds(value)
    if seconds is not None or value is None:
        return seconds
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now)
    except (ValueError, OverflowError):
        return None


def _seconds(value: str | None) -> float | None:
    if value is None or not re.fullmatch(r"\s*(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\s*", value, re.ASCII):
        return None
    return min(float(value), _LONGEST_WAIT)
