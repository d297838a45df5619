"""Bringing pinned weights into the cache: the first source that answers, trusted by content, never half a file.

A stopped fetch goes on where it was; several processes at once fetch once. Where files come from is
`weights_sources`' part.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from skillopt.errors import WeightsError
from skillopt.models.weights import Weights, file_digest, gigabytes
from skillopt.models.weights_sources import SOURCES, OnBytes, Source, SourceUnavailableError

HEADROOM = 300_000_000
"""Bytes of disk that must stay free beside the weights; the largest piece takes part of it while it is unzipped."""

WAIT_SECONDS = 0.2
"""How often a fetch looks whether another process has finished its own."""


@dataclass(frozen=True, slots=True)
class FetchProgress:
    """How far a fetch is.

    Attributes:
        source: Where the bytes come from, or "another process" while that one fetches the same weights.
        done: Bytes that are here.
        total: Bytes of the whole file.
    """

    source: str
    done: int
    total: int


OnProgress: TypeAlias = Callable[[FetchProgress], None]


def fetch(weights: Weights, *, cache: Path, progress: OnProgress, sources: Sequence[Source] = SOURCES) -> Path:
    """Bring weights into the cache, unless they are there already, and return their path.

    Blocks for as long as it takes. A file that is there but damaged is replaced.

    Args:
        weights: What to fetch.
        cache: Where weights are kept; made if missing.
        progress: Told how far it is.
        sources: Where to ask, in order.

    Raises:
        WeightsError: If no source brings the pinned file, the disk is too full, or the cache cannot be written.
    """
    path = cache / weights.file_name
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with _alone(cache / f".{weights.name}.lock", lambda: progress(_waiting(weights))):
            if not path.is_file() or file_digest(path) != weights.sha256:
                staging = cache / f".{weights.name}.partial"
                _require_space(weights, staging)
                _bring(weights, staging, progress=progress, sources=sources).replace(path)
                shutil.rmtree(staging)
    except (OSError, sqlite3.Error) as error:
        raise WeightsError(
            f"the weights of {weights.name} cannot be kept in {cache}: {getattr(error, 'strerror', None) or error}",
            hint="The environment variable SKILLOPT_CACHE names another directory.",
        ) from error
    return path


def _bring(weights: Weights, staging: Path, *, progress: OnProgress, sources: Sequence[Source]) -> Path:
    """Return the path of the checked file from the first source that has it."""
    reasons: list[str] = []
    for number, source in enumerate(sources):

        def on_bytes(done: int, name: str = source.name) -> None:
            progress(FetchProgress(name, done, weights.size))

        try:
            return _checked(weights, source, staging / str(number), on_bytes)
        except SourceUnavailableError as error:
            reasons.append(f"  {source.name}: {error}")
    raise WeightsError(
        "\n".join((f"no source has the weights of {weights.name}:", *reasons)),
        hint="What has come is kept: run the same command again to go on. On a machine without network, put the "
        f"official {weights.file_name} (sha256 {weights.sha256}) anywhere and name it as local:PATH.gguf.",
    )


def _checked(weights: Weights, source: Source, directory: Path, on_bytes: OnBytes) -> Path:
    resumed = directory.exists()
    directory.mkdir(parents=True, exist_ok=True)
    path = source.download(weights, directory, on_bytes)
    if file_digest(path) == weights.sha256:
        return path
    shutil.rmtree(directory)
    if resumed:  # The damage may lie in what an earlier call left.
        return _checked(weights, source, directory, on_bytes)
    raise SourceUnavailableError("what it sent is not the pinned file (its sha256 differs)")


def _require_space(weights: Weights, staging: Path) -> None:
    kept = sum(file.stat().st_size for file in staging.rglob("*") if file.is_file())
    needed = max(0, weights.size - kept) + HEADROOM
    free = shutil.disk_usage(staging.parent).free
    if free < needed:
        raise WeightsError(
            f"{weights.name} needs {gigabytes(needed)} of disk in {staging.parent}, where {gigabytes(free)} are free",
            hint="Make room, or name another directory in the environment variable SKILLOPT_CACHE.",
        )


def _waiting(weights: Weights) -> FetchProgress:
    return FetchProgress("another process", 0, weights.size)


@contextmanager
def _alone(path: Path, on_wait: Callable[[], None]) -> Generator[None]:
    """Keep other processes out for the length of the block; the system lets go when a process dies."""
    # The operating system's lock, by way of an empty SQLite file, which is the same on every system.
    with closing(sqlite3.connect(path, timeout=WAIT_SECONDS, isolation_level=None)) as connection:
        while not _hold(connection):
            on_wait()
        yield


def _hold(connection: sqlite3.Connection) -> bool:
    try:
        connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorname.startswith("SQLITE_BUSY"):
            return False
        raise
    return True
