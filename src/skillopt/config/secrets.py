"""Keys, tokens and passwords have no place in a configuration: they are found here, refused, and never shown.

A secret is known by the name it stands under, in any spelling, or by its own shape. Where the real ones come from is
the models' business: a setting `api_key_env` names an environment variable.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from urllib.parse import parse_qsl, urlsplit

from skillopt.config.provenance import KeyPath
from skillopt.types import JsonValue

HIDDEN = "(not shown)"
"""Stands in messages for a value that may be secret."""

_SECRET_NAME = re.compile(
    r"(api|access|private|subscription|account|auth|openai|azure|anthropic)_?key|secret(?!ar)|passw(or)?d|passphrase"
    r"|authorization|credential|bearer|(^|_)(token|auth)$|(access|auth|api|id|refresh|bearer)_?tokens?$"
)
_SECRET_NAME_OF_A_MODEL = re.compile(r"(?<!cache)(^|_)key$")
"""Besides, under `model` alone; elsewhere `question_key` and the like name fields of the data."""
_HARMLESS_NAME = re.compile(r"_env$|(^|_)(stop|eos|bos|pad|unk|mask|image|audio)_token$")
_SECRET_SHAPE = re.compile(
    r"\b(sk|pk|rk|xox[abprs]|gsk|key|r8|hf|ghp|gho|ghs|github_pat|glpat|nvapi|pplx|tgp|lin)[-_][A-Za-z0-9_\-]{14,}"
    r"|\bAIza[\w\-]{30,}|\bAKIA[0-9A-Z]{16}\b|\beyJ[\w\-]{8,}\.[\w\-]{8,}\.|(?i:\b(bearer|basic)\s+[\w\-./+=]{12,})"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY"
)
_USER_IN_URL = re.compile(r"(?<=[A-Za-z0-9+.\-])://[^/?#\s]*@")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}\Z")
_LONG_WORD = re.compile(r"[A-Za-z0-9]{24,}\Z")
"""More likely a key that was pasted than the name of a variable."""

_SHOWN_LENGTH = 60
_FREE_NAMES: KeyPath = ("env", "fields")
"""A mapping whose keys and values are names of data fields, where `token` is a fair word."""


def found_secrets(values: JsonValue, path: KeyPath = ()) -> Iterator[tuple[KeyPath, str]]:
    """Yield the key and the reason, never the value, of everything that is or holds a secret."""
    if isinstance(values, dict):
        for key, value in values.items():
            inner = (*path, key)
            if path != _FREE_NAMES and is_secret_name(key, section=inner[0]):
                yield inner, "keys and tokens are read from the environment only; name the variable in api_key_env"
            else:
                yield from found_secrets(value, inner)
    elif isinstance(values, list):
        for value in values:
            yield from found_secrets(value, path)
    elif isinstance(values, str):
        reason = _reason(path, values)
        if reason:
            yield path, reason


def is_secret_name(key: str, *, section: str = "") -> bool:
    """Tell whether a key's name says that its value is secret, however it is spelt."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key)
    name = re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_")
    if section == "model" and _SECRET_NAME_OF_A_MODEL.search(name):
        return True
    return bool(_SECRET_NAME.search(name)) and not _HARMLESS_NAME.search(name)


def shown(path: KeyPath, value: JsonValue) -> str:
    """Return a value as a message may show it: cut when long, hidden when it may be secret."""
    if any(is_secret_name(key, section=path[0]) for key in path) or any(found_secrets(value, path)):
        return HIDDEN
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN_LENGTH else text[: _SHOWN_LENGTH - 3] + "..."


def _reason(path: KeyPath, text: str) -> str:
    if path[-1:] == ("api_key_env",):
        if _VARIABLE.match(text) and not _SECRET_SHAPE.search(text) and not _LONG_WORD.match(text):
            return ""
        return "it must be the name of an environment variable, such as OPENAI_API_KEY, never the key itself"
    if _USER_IN_URL.search(text):
        return "an address must not hold a user name or password; name the key's variable in api_key_env"
    if _SECRET_SHAPE.search(text) or _secret_in_query(text):
        return "it looks like a key or token; those are read from the environment only, by api_key_env"
    return ""


def _secret_in_query(text: str) -> bool:
    if "://" not in text or "?" not in text:
        return False
    try:
        query = urlsplit(text).query
    except ValueError:
        return False
    return any(name == "key" or is_secret_name(name) for name, _ in parse_qsl(query))
