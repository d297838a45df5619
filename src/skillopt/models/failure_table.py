"""What can become of a call, and what is done about it: the one table of it.

`failures.py` decides by it what a status means, docs/failures.md shows it, and the tests drive every row of it through
a real server. That a connection broke or that a reply holds nothing is found where it happens, and not here.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Treatment(StrEnum):
    """What is done about what became of a call."""

    AGAIN = "tried again"
    STOP = "the run stops"
    REPLY = "it is the reply"
    ASKED = "asked once more"


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that can become of a call.

    Attributes:
        happens: What it is, in words; no two rows share them.
        target: What is done about it where the target was asked.
        optimizer: The same for the optimizer.
        statuses: HTTP statuses that it is known by, if it is.
        halves: Whether half as many calls of the role may be in flight from then on.
        pauses: Whether no call of the role begins for as long as the provider asks.
        paid: Whether it counts as a paid call: its answer began as a success, so the provider may bill it.
    """

    happens: str
    target: Treatment
    optimizer: Treatment
    statuses: tuple[int, ...] = ()
    halves: bool = False
    pauses: bool = False
    paid: bool = False


def _both(happens: str, treatment: Treatment, *statuses: int, halves: bool = False, pauses: bool = False) -> Row:
    return Row(happens, treatment, treatment, statuses, halves, pauses)


def _began(happens: str, treatment: Treatment, optimizer: Treatment | None = None, *, halves: bool = False) -> Row:
    """Return the row of an answer that began as a success."""
    return Row(happens, treatment, optimizer or treatment, halves=halves, paid=True)


_EMPTY_ACCOUNT = _both("429 whose code says that the account is empty", Treatment.STOP)
_SERVER_FAILED = _both("5xx", Treatment.AGAIN, 500, 501, 502, 503, 504, 520, 522, 524, 529)
_REDIRECT = _both("3xx: a redirect, which is not followed", Treatment.STOP, 301, 302, 303, 307, 308)
_REFUSED = _both("400 and every other 4xx", Treatment.STOP, 400, 405, 406, 410, 413, 415, 422, 426, 451)

TABLE: tuple[Row, ...] = (
    _both("429", Treatment.AGAIN, 429, halves=True),
    _both("429 with Retry-After", Treatment.AGAIN, halves=True, pauses=True),
    _EMPTY_ACCOUNT,
    _SERVER_FAILED,
    _both("408, 409, 425", Treatment.AGAIN, 408, 409, 425),
    _both("408, 409, 425 or 5xx with Retry-After", Treatment.AGAIN, pauses=True),
    _both("401, 403: the key is wrong or may not do this", Treatment.STOP, 401, 403),
    _both("402: the account is empty", Treatment.STOP, 402),
    _both("404: no such model or address", Treatment.STOP, 404),
    _REFUSED,
    _REDIRECT,
    _both("no server at the address", Treatment.AGAIN),
    _both("a certificate that is not trusted", Treatment.STOP),
    _both("the connection breaks before the answer", Treatment.AGAIN),
    _began("the connection breaks within the answer", Treatment.AGAIN),
    _both("no answer within `timeout`", Treatment.AGAIN),
    _began("an answer that begins and is not whole within `timeout`", Treatment.AGAIN),
    _began("a slow answer, whole within `timeout`", Treatment.REPLY),
    _began("a whole answer under a wrong content type", Treatment.REPLY),
    _began("an answer larger than 16 MB, of which no more is read", Treatment.AGAIN),
    _began("an answer that is no JSON", Treatment.AGAIN),
    _began("an answer without choices or without a message", Treatment.AGAIN),
    _began("an answer whose generation broke off (finish reason `error` and the like)", Treatment.AGAIN),
    _began("200 with an error of an unknown or passing kind inside", Treatment.AGAIN),
    _began("200 with a rate limit's error inside", Treatment.AGAIN, halves=True),
    _began("200 with an error inside that will not pass", Treatment.STOP),
    _began("a reply without text", Treatment.AGAIN, Treatment.ASKED),
    _began("a reply of reasoning only", Treatment.AGAIN, Treatment.ASKED),
    _began("a reply that is cut at its token limit", Treatment.REPLY, Treatment.ASKED),
    _began("a reply that the content filter withholds", Treatment.REPLY, Treatment.ASKED),
    _began("a text that does not hold what was asked for", Treatment.REPLY, Treatment.ASKED),
)
"""Everything that can become of a call besides a reply that can be used."""

QUOTA_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached", "exceeded_current_quota_error"})
"""Words for an empty account. Providers send them with 429, but waiting does not fill an account."""

_BY_STATUS = {status: row for row in TABLE for status in row.statuses}


def row_of(status: int, *, code: str = "") -> Row:
    """Return the row of an answer that is an error.

    Args:
        status: Its HTTP status, or the one that the provider's own code amounts to.
        code: The provider's code for the failure; one for an empty account counts more than the status.
    """
    if code in QUOTA_CODES:
        return _EMPTY_ACCOUNT
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status >= 500:
        return _SERVER_FAILED
    return _REDIRECT if 300 <= status < 400 else _REFUSED
