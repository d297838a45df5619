"""Names for content: what two things must share to count as the same thing.

Evidence is kept under these digests, so they depend on content alone: never on position, file name, time or `hash()`.
"""

from __future__ import annotations

import hashlib
import json
import random
from typing import Any


def canonical_json(value: Any) -> str:
    """Return the one JSON text of a value: sorted keys, no spare white space, Unicode as it is.

    Raises:
        ValueError: For NaN or an infinity, which have no JSON form.
        TypeError: For a value that JSON cannot hold.
    """
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def digest(value: Any) -> str:
    """Return the SHA-256 of a JSON value's canonical form, as 64 hexadecimal digits."""
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()


def text_digest(text: str) -> str:
    """Return the SHA-256 of a text's UTF-8 bytes, as 64 hexadecimal digits.

    The first 16 digits are the short form that users of the public SkillOpt know as `candidate_hash`.
    """
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def generator(seed: int, name: str, *place: int) -> random.Random:
    """Return the random generator of one named choice; equal names at equal places give equal choices.

    Args:
        seed: The run's seed (`train.seed`).
        name: What is chosen, such as "reflect.failures"; two choices never share a generator.
        *place: Epoch, step or whatever else tells two such choices apart.
    """
    return random.Random(digest([seed, name, *place]))
