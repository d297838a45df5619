"""The long run finds what it looks for: any other end than a value or our own error, and inputs that hang."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest
from benchmarks.fuzz import __main__ as run
from benchmarks.fuzz.inputs import damaged
from benchmarks.fuzz.readers import READERS, Reader


def test_an_input_is_named_by_its_seed_and_number() -> None:
    reader = READERS[0]
    drawn = [
        [damaged(Random(f"3 {number}"), seeds=reader.seeds, tokens=reader.tokens) for number in range(20)]
        for _ in range(2)
    ]
    assert drawn[0] == drawn[1]
    assert len(set(drawn[0])) > 15


def test_what_is_found_is_counted_by_its_kind_with_the_shortest_input() -> None:
    def read(data: bytes, _directory: Path) -> None:
        if b"a" in data:
            raise ZeroDivisionError
        if b"b" in data:
            raise run.Hang("long")

    reader = Reader("letters", (b"aaaa", b"b", b"c"), (b"d",), read)
    report = run.fuzz(reader, seconds=60, seed=1, most=300)
    assert report.tried == 300
    assert {kind.split()[0] for kind in report.failures} == {"ZeroDivisionError", "Hang"}
    assert 0 < report.failures.total() < 300
    told = run.told(reader, report)
    assert re.match(r"letters: 300 inputs, \d+ failures; the slowest took", told)
    assert re.search(r"ZeroDivisionError at test_fuzz.py:\d+: \d+ inputs, the shortest b'a", told)


def test_the_exit_code_says_whether_anything_was_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main(["--minutes", "0.002", "--readers", "tasks", "document"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"^tasks: \d+ inputs, 0 failures", said, re.MULTILINE)
    assert re.search(r"^document: \d+ inputs, 0 failures", said, re.MULTILINE)
