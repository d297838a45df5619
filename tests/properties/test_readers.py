"""Laws of the four readers of what others wrote: a value or our own error comes out, whatever the bytes.

The same readers are tried for hours by `python -m benchmarks.fuzz`; here are a few hundred inputs of each kind.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from benchmarks.fuzz.inputs import PART, damaged
from benchmarks.fuzz.readers import READERS, Reader
from hypothesis import given, settings
from hypothesis import strategies as st

readers = pytest.mark.parametrize("reader", READERS, ids=[reader.name for reader in READERS])


@readers
@settings(max_examples=60)
@given(choices=st.randoms(use_true_random=False))
def test_damaged_input_is_a_value_or_our_own_error(
    reader: Reader, choices: Random, tmp_path_factory: pytest.TempPathFactory
) -> None:
    reader.read(damaged(choices, seeds=reader.seeds, tokens=reader.tokens), tmp_path_factory.getbasetemp())


@readers
@settings(max_examples=60)
@given(data=st.binary(max_size=200) | st.lists(st.binary(max_size=40), max_size=5).map(PART.join))
def test_any_bytes_are_a_value_or_our_own_error(
    reader: Reader, data: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    reader.read(data, tmp_path_factory.getbasetemp())


@readers
def test_every_seed_is_read(reader: Reader, tmp_path: Path) -> None:
    for seed in reader.seeds:
        reader.read(seed, tmp_path)


@readers
@pytest.mark.parametrize(
    "data",
    [
        *(
            b"",
            b"\0" * 3000,
            b"[" * 3000,
            b"0" + b"[" * 3000,
            b"{" * 3000,
            b'{"a":' * 3000,
            b"- " * 3000,
            b"a: " * 3000,
        ),
        *(
            b"\xff\xfe[\x00]\x00",
            b"&a [*a]",
            b"a: &b [*b, *b]",
            b"a: !!int ''",
            b"? ",
            b"%YAML 9.9\n---\n",
            b"--- a\n--- b",
        ),
        *(
            b"9" * 6000,
            b"1e999999",
            b"\xed\xa0\x80",
            b"<!-- SLOW_UPDATE_START -->" * 300,
            b"```" * 3000,
            b"<think>" * 3000,
        ),
    ],
)
def test_hostile_input_is_a_value_or_our_own_error(reader: Reader, data: bytes, tmp_path: Path) -> None:
    reader.read(data, tmp_path)
