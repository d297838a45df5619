"""Keys, tokens and passwords have no place in a configuration: they are found here, refused, and never shown.

A secret is known by the name it stands under, in any spelling, by its own shape, or because it is the value of an
environment variable with such a name. Where the real ones come from is the models' business: a setting `api_key_env`
names an environment variable.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from urllib.parse import parse_qsl, unquote, urlsplit

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
_OTHER_SHAPES = (
    r"\bAIza[\w\-]{30,}|\b(AKIA|ASIA)[0-9A-Z]{16}\b|\bya29\.[\w\-]{20,}|\beyJ[\w\-]{8,400}\.[\w\-]{8,}\."
    r"|(?i:\b(bearer|basic)\s+[\w\-./+=]{12,})|-----BEGIN [A-Z ]*PRIVATE KEY"
)
_PREFIXES = r"sk|xox[abprs]|gsk|r8|hf|ghp|gho|ghs|github_pat|glpat|nvapi|pplx|tgp|xai|fw|csk|tvly|lsv2"
_SECRET_SHAPE = re.compile(
    rf"(?:(?<![A-Za-z0-9])(?:{_PREFIXES})|\b(?:pk|rk|key|lin))[-_][A-Za-z0-9_\-]{{14,}}|{_OTHER_SHAPES}"
)
_OPAQUE = r"(?=(?:\D{0,20}\d){6})(?=(?:[^A-Za-z]{0,20}[A-Za-z]){6})[A-Za-z0-9]{32,}"
"""A word such as keys without a beginning of their own are: letters and digits, several of both."""
_SECRET_SHAPE_OF_A_NAME = re.compile(
    rf"(?<![A-Za-z0-9])({_PREFIXES})[-_](?=[A-Za-z_\-]{{0,60}}\d)[A-Za-z0-9_\-]{{14,}}|{_OTHER_SHAPES}|^{_OPAQUE}$"
)
"""The name of a setting may well begin with `key_`."""
_HINTS = (
    *(
        f"{prefix}{mark}"
        for prefix in re.sub(r"xox\[abprs\]", "xoxa|xoxb|xoxp|xoxr|xoxs", _PREFIXES).split("|")
        for mark in "-_"
    ),
    *("AIza", "AKIA", "ASIA", "ya29.", "eyJ", "PRIVATE KEY"),
)
"""One of them stands in every text that looks secret, but for names of schemes: to look for them takes no time."""
_SCHEMES = re.compile(r"(?i:bearer|basic)\s")
_OPAQUE_MODEL = re.compile(rf"(^|:)\s*{_OPAQUE}\s*$")
_USER_IN_URL = re.compile(r"(?<![A-Za-z0-9+.\-])[A-Za-z][A-Za-z0-9+.\-]{0,30}:[/\\]{2}[^/\\?#\s]*@")
_USER_IN_ADDRESS = re.compile(r"\s*(?:[A-Za-z][A-Za-z0-9+.\-]*:)?[/\\]*[^/\\?#\s]*@")
"""For `base_url`, also where the scheme is missing or misspelt."""
_SECRET_QUERY = frozenset({"key", "sig", "signature", "code", "pass", "pwd"})
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}\Z")
_LONG_WORD = re.compile(r"[A-Za-z0-9]{24,}\Z")
"""More likely a key that was pasted than the name of a variable."""

_SHOWN_LENGTH = 60
_LONG = 200
"""Characters from which a text is looked through twice, the first time fast."""
_KNOWABLE = 8
"""Characters from which the value of an environment variable is taken for itself wherever it stands."""
_FREE_NAMES: KeyPath = ("env", "fields")
"""A mapping whose keys and values are names of data fields, where `token` is a fair word."""


def found_secrets(values: JsonValue, path: KeyPath = ()) -> Iterator[tuple[KeyPath, str]]:
    """Yield the key and the reason, never the value, of everything that is or holds a secret.

    A key that is a secret itself is yielded too: show keys by `dotted` only.
    """
    if isinstance(values, dict):
        for key, value in values.items():
            inner = (*path, key)
            if looks_secret(key):
                yield inner, "a key or token stands where the name of a setting is meant"
            elif path != _FREE_NAMES and is_secret_name(key, section=inner[0]):
                yield inner, f"keys and tokens are read from the environment only; {_way(inner)}"
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


def dotted(path: KeyPath) -> str:
    """Return a full key as a message may show it: a part that looks like a secret is hidden."""
    told = ".".join(HIDDEN if looks_secret(part) else part for part in path)
    return HIDDEN if looks_secret(told) else told


def masked(text: str, environment: Mapping[str, str]) -> str:
    """Return a message of any origin without what looks like a secret and without the secrets of the environment.

    The last resort, for what leaves the program by its standard error: whoever words a message shows no secret in the
    first place.

    Args:
        text: The message.
        environment: Whose variables with a secret's name, and passwords in addresses, must not be shown.
    """
    for secret in sorted(_secrets_of(environment), key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    text = _USER_IN_URL.sub(lambda found: f"{found[0].partition(':')[0]}://{HIDDEN}@", text)
    return _SECRET_SHAPE_OF_A_NAME.sub(HIDDEN, text)


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without the variables whose names say that they hold a secret, for a child process."""
    return {name: value for name, value in environment.items() if not is_secret_name(name, section="model")}


def looks_secret(text: str) -> bool:
    """Tell whether a text, such as a line of a skill, holds what looks like a key or token."""
    if len(text) > _LONG and not (any(hint in text for hint in _HINTS) or _SCHEMES.search(text)):
        return False
    return _SECRET_SHAPE_OF_A_NAME.search(text) is not None


def _secrets_of(environment: Mapping[str, str]) -> set[str]:
    found = {value for name, value in environment.items() if is_secret_name(name, section="model")}
    for value in environment.values():
        if user := _USER_IN_URL.match(value):
            password = user[0].partition("//")[2].rpartition("@")[0].partition(":")[2]
            found |= {password, unquote(password)}
    return {secret.strip() for secret in found if len(secret.strip()) >= _KNOWABLE}


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
    if _USER_IN_URL.search(text) or (path[-1:] == ("base_url",) and _USER_IN_ADDRESS.match(text)):
        return f"an address must not hold a user name or password; {_way(path)}"
    opaque = path[:1] == ("model",) and _OPAQUE_MODEL.search(text) is not None
    if _SECRET_SHAPE.search(text) or opaque or _secret_in_query(text):
        return f"it looks like a key or token; those are read from the environment only; {_way(path)}"
    return ""


def _way(path: KeyPath) -> str:
    """Return how a key comes from the environment: a tracker's library reads variables of its own."""
    if path[:1] == ("trackers",):
        return "set the tracker's own variables, such as MLFLOW_TRACKING_URI, MLFLOW_TRACKING_USERNAME or WANDB_API_KEY"
    return "name the variable in api_key_env"


def _secret_in_query(text: str) -> bool:
    if "://" not in text or "?" not in text:
        return False
    try:
        query = urlsplit(text).query
    except ValueError:
        return False
    return any(
        name.lower() in _SECRET_QUERY or is_secret_name(name) or _LONG_WORD.match(value)
        for name, value in parse_qsl(query)
    )
