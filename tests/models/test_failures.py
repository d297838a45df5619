"""Kinds of failure, the waits that servers ask for, and messages that hold no secret."""

import json
from base64 import b64encode, urlsafe_b64encode
from email.utils import formatdate
from html import escape
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from skillopt.errors import FatalModelError, RateLimitError, TransientModelError
from skillopt.models.failures import Reporter, asked_wait, provider_words, shown_address, status_of
from skillopt.models.retry import MAX_RETRY_AFTER, asked_pause

KEY = "sk-proj-0123456789abcdefghijklmnop/+=="
REPORTER = Reporter("openai:m", "http://h/v1", "OPENAI_API_KEY", (KEY,))
NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "0.5"}, 0.5),
        ({"Retry-After": formatdate(NOW + 90, usegmt=True)}, 90.0),
        ({"Retry-After": formatdate(NOW - 90, usegmt=True)}, 0.0),
        ({"retry-after-ms": "1500", "Retry-After": "2"}, 1.5),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "-3"}, None),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "1000000000"}, 1e9),
        ({"Retry-After": "9" * 400}, 1e9),
        ({"Retry-After": f"{'9' * 400}.5"}, 1e9),
        ({"Retry-After": "1e999"}, 1e9),
        ({"Retry-After": ".5"}, 0.5),
        ({"Retry-After": "inf"}, None),
        ({"retry-after-ms": "9" * 400}, 1e6),
        ({"Retry-After": ""}, None),
    ],
)
def test_the_wait_a_server_asks_for_is_read_in_every_form(headers: dict[str, str], seconds: float | None):
    assert asked_wait(headers, now=NOW) == seconds


@given(st.integers(min_value=300) | st.floats(min_value=300.0, allow_infinity=False))
def test_any_number_above_the_longest_wait_counts_as_the_longest(seconds: float):
    error = REPORTER.refusal(503, "busy", wait=asked_wait({"Retry-After": str(seconds)}, now=NOW))
    assert isinstance(error, TransientModelError)
    assert asked_pause(error) == MAX_RETRY_AFTER == 300.0


@given(st.text())
def test_no_header_breaks_the_reading(value: str):
    wait = asked_wait({"Retry-After": value}, now=NOW)
    assert wait is None or wait >= 0


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        ({"error": {"message": "m", "code": "c"}}, ("m", "c")),
        ({"error": {"message": "m", "type": "insufficient_quota", "code": None}}, ("m", "insufficient_quota")),
        ({"error": {"message": "m", "code": 429, "type": "insufficient_quota"}}, ("m", "insufficient_quota")),
        ({"error": "m"}, ("m", "")),
        ({"message": "m", "type": "t"}, ("m", "t")),
        ({"detail": "m"}, ("m", "")),
        ({"detail": [{"loc": ["body"]}]}, ("", "")),
        ([{"error": {"message": "m", "code": 400}}], ("m", "400")),
        ({"error": {"message": "m", "code": 429, "metadata": {"raw": "why"}}}, ("m: why", "429")),
        ("m", ("", "")),
        (None, ("", "")),
    ],
)
def test_the_providers_words_are_found_wherever_it_puts_them(payload: Any, words: tuple[str, str]):
    assert provider_words(payload) == words


def test_codes_that_come_without_a_status_have_one():
    assert [status_of(code) for code in ("401", "invalid_api_key", "rate_limit_error", "odd", "", "99", "4O1")] == [
        401,
        401,
        429,
        500,
        500,
        500,
        500,
    ]


def test_kinds_of_refusal():
    """F4: fatal classes end the run at once, transient ones do not."""
    assert type(REPORTER.refusal(429, "slow")) is RateLimitError
    assert type(REPORTER.refusal(503, "busy")) is TransientModelError
    assert type(REPORTER.refusal(503, "busy", wait=3.0)) is RateLimitError
    assert type(REPORTER.refusal(403, "no")) is FatalModelError
    assert type(REPORTER.refusal(307, "there")) is FatalModelError
    assert type(REPORTER.refusal(429, "empty", code="insufficient_quota")) is FatalModelError
    assert REPORTER.refusal(400, "").message == "openai:m: no message (HTTP 400)"


def test_a_refusal_says_what_to_do():
    assert "OPENAI_API_KEY" in REPORTER.refusal(401, "no").hint
    assert "api_key_env" in Reporter("compatible:m", "http://h").refusal(401, "no").hint
    assert "http://h/v1" in REPORTER.refusal(404, "no").hint
    assert "credit" in REPORTER.refusal(402, "no").hint


@given(st.text(), st.text(), st.sampled_from([KEY, KEY.upper(), KEY.replace("/", "%2F"), "sk-proj-********mnop"]))
def test_no_text_brings_a_key_into_a_message(before: str, after: str, echo: str):
    """More 18: whole, in other case, percent-encoded or half masked."""
    line = REPORTER.quote(f"{before} {echo} {after}")
    assert "sk-proj-" not in line.lower()
    assert "bcdefgh" not in line.lower()
    assert line.isprintable()
    assert len(line) <= 300


def test_a_key_at_the_edge_of_a_huge_text_is_not_cut_into_view():
    """More 18"""
    for start in range(19_900, 20_010):
        line = REPORTER.quote(" " * start + KEY + "x" * 500)
        assert "sk-" not in line


def test_a_key_that_is_a_common_word_leaves_other_words_alone():
    quoted = Reporter("ollama:m", "", "", ("ollama",)).quote("ollama: no model qwen-ollama2 in ollamas")
    assert quoted == "[key]: no model qwen-ollama2 in ollamas"


def test_foreign_text_becomes_one_printable_line():
    assert REPORTER.quote("a\r\nb\x00\x1b[2Jc\u2028d\u202e  e") == "a b [2Jc d e"
    assert REPORTER.quote("x" * 999) == "x" * 299 + "…"


def test_secrets_are_not_in_the_repr_of_a_reporter():
    """More 18"""
    assert KEY not in repr(REPORTER)


def test_an_address_is_shown_without_what_may_be_secret():
    """More 18"""
    assert shown_address(URL("https://me:pw@h:8/v1?token=t#f")) == "https://h:8/v1"
    assert shown_address(URL("")) == ""


AWKWARD = 'sk-a/b+c"d&e0123456789'


@pytest.mark.parametrize("secret", [KEY, AWKWARD, "correct horse battery"])
@pytest.mark.parametrize("ahead", ["", "u:", "me:", "Bearer "])
def test_a_secret_is_taken_out_in_every_form_in_which_a_server_may_echo_it(secret: str, ahead: str):
    """More 18: as it is, in a URL, in JSON, in HTML, and in base64 wherever it stands in it."""
    reporter = Reporter("openai:m", "http://h/v1", "K", (secret,))
    coded = b64encode(f"{ahead}{secret}".encode()).decode()
    forms = [
        *(secret, secret.upper(), quote(secret), quote(secret, safe=""), escape(secret), escape(secret, quote=False)),
        *(json.dumps(secret), json.dumps(secret).replace("/", "\\/"), coded),
        urlsafe_b64encode(f"{ahead}{secret}".encode()).decode(),
    ]
    for form in forms:
        said = reporter.quote(f"bad: {form} (end)")
        assert "[key]" in said, form
        assert secret[8:] not in said
        assert len(said) < len("bad: [key] (end)") + 20, said
        kept = reporter.without_secrets(f"bad: {form} (end)") if form != secret.upper() else ""
        assert secret[8:] not in kept


@pytest.mark.parametrize("rest", ["********wxyz", "...wxyz", "…", "••••••wxyz", "xxxxxxxxwxyz", "o****z", "oj-01**"])
def test_a_half_masked_key_is_taken_out_whole(rest: str):
    assert REPORTER.quote(f"Incorrect API key provided: sk-pr{rest}. Bye") in (
        "Incorrect API key provided: [key] Bye",
        "Incorrect API key provided: [key]. Bye",
    )


@pytest.mark.parametrize("word", ["sk-learn", "skill", "sk-...", "task*list"])
def test_words_that_begin_as_the_key_does_stay_where_nothing_is_masked(word: str):
    assert word in Reporter("m", "", "K", ("sk-proj-0123456789",)).quote(f"a {word} b") or "..." in word


def test_a_reply_keeps_the_words_that_are_somebodys_short_key():
    """A server of one's own often has the key `EMPTY`; what the target said must not change by it."""
    assert Reporter("vllm:m", "", "K", ("EMPTY",)).without_secrets("EMPTY cells") == "EMPTY cells"


def test_a_name_that_comes_with_every_answer_holds_no_key_and_is_quoted_once(monkeypatch: pytest.MonkeyPatch):
    quoted = list[str]()
    real = Reporter.quote
    monkeypatch.setattr(Reporter, "quote", lambda self, text: quoted.append(text) or real(self, text))
    reporter = Reporter("m", "", "K", (KEY,))
    assert [reporter.name(f"gpt {KEY}") for _ in range(3)] == ["gpt [key]"] * 3
    assert quoted == [f"gpt {KEY}"]
    assert reporter.name("other") == "other"
    assert reporter.name(KEY * 20) == reporter.name(None) == reporter.name([KEY]) == ""
