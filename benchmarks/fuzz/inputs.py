"""Inputs of two kinds: arbitrary bytes, and valid inputs that were damaged in a few places.

All choices are drawn from a `random.Random`, so that a seed and a number name an input, and so that hypothesis, which
brings a generator of its own, can make a failing input smaller.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

PART = b"\n%%%\n"
"""Stands between the parts of an input that is made of several texts."""

_TOKENS = (
    *(bytes([one]) for one in b"{}[]()<>:,.\"'\\`~/|&*!%@#?$=+- \t\n\r\0"),
    *("\u201c", "\u2028", "\x85", "\ufeff", "\u202e", "e\u0301", "\u00e9", "\U0001f600", "\u0130", "\ufdfa"),
    *(b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xff\xfe", b"\x1b[2J", b"\\ud800", b"\\u0000", b"\\", b"\r\n"),
    *("NaN", "-Infinity", "1e999", "9" * 5000, "0x10", "1_0", "-0", "null", "true", "~", "1.5", "0" * 30),
    PART,
)
TOKENS: Sequence[bytes] = tuple(one.encode() if isinstance(one, str) else one for one in _TOKENS)
"""What readers of text stumble over, whatever the format."""

_REPEATS = (*[2, 3, 5, 10, 70] * 8, 300, 3000)
"""How often a piece is repeated; rarely so often that it shows how work grows with length."""
_LARGEST = 200_000
"""Bytes beyond which an input is not made larger."""


def damaged(random: Random, *, seeds: Sequence[bytes], tokens: Sequence[bytes]) -> bytes:
    """Return one of the seeds with one to eight damages, or now and then bytes that are no seed at all.

    Args:
        random: Where choices are drawn from.
        seeds: Valid inputs.
        tokens: What the format at hand is made of, besides `TOKENS`.
    """
    words = (*TOKENS, *tokens, *tokens)
    if random.random() < 0.05:
        return b"".join(random.choice(words) for _ in range(random.randint(0, 40)))
    data = random.choice(seeds)
    for _ in range(random.choice((1, 1, 2, 2, 3, 5, 8))):
        data = _damage(random, data, words=words, seeds=seeds)
    return data


def _damage(random: Random, data: bytes, *, words: Sequence[bytes], seeds: Sequence[bytes]) -> bytes:
    start = random.randint(0, len(data))
    end = min(len(data), start + random.choice((0, 1, 1, 2, 5, 20, 100)))
    piece = data[start:end]
    match random.randrange(8):
        case 0:
            return data[:start] + data[end:]
        case 1:
            return data[:start]
        case 2:
            return data[:start] + bytes([random.randrange(256)]) + data[start + 1 :]
        case 3:
            other = random.choice(seeds)
            cut = random.randint(0, len(other))
            return data[:start] + other[cut:]
        case 4 | 5:
            return data[:start] + random.choice(words) + data[end if random.randrange(2) else start :]
        case 6:
            times = random.choice(_REPEATS)
            return data[:end] + (piece or random.choice(words)) * min(times, _LARGEST // 100) + data[end:]
        case _:
            to = random.randint(0, len(data))
            return data[:to] + piece + data[to:]
