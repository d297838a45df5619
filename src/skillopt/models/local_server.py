"""The process that runs an embedded model: `python -m skillopt.models.local_server WEIGHTS`, started by `local`.

A process of its own rather than a thread: the engine's threads need settings in their environment, a crash or a lack of
memory in it leaves the run standing, and it surely ends. It serves on a free loopback port behind a random key, says
so in one line of JSON on standard output, and ends as soon as its standard input does: when it is closed, or when the
process at the other end is gone, however that died.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import secrets
import signal
import sys
from collections.abc import Sequence
from typing import Any


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until standard input ends.

    Exits with a message on standard error if the engine cannot be loaded or cannot read the weights.
    """
    options = _read_arguments(arguments)
    # Ctrl-C reaches every process of a terminal; the parent decides when this one ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Standard output is for the announcement; whatever the engine prints there goes with its log.
    announcements = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    try:
        # Imported by name: it is compiled and ships no types.
        engine: Any = importlib.import_module("xllamacpp")
    except ImportError as error:
        sys.exit(f"the engine cannot be loaded: {error}")
    settings = engine.CommonParams()
    settings.model.path = options.weights
    settings.hostnames = ["127.0.0.1"]
    settings.port = 0
    key = secrets.token_hex(16)
    settings.api_keys = [key]
    settings.n_parallel = options.slots
    settings.n_ctx = options.slots * options.context
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = options.threads
    settings.cache_ram_mib = options.cached_prompts
    settings.verbosity = 1  # errors only
    settings.ui = False
    try:
        server = engine.Server(settings)  # returns when the weights are loaded
    except RuntimeError as error:
        sys.exit(str(error))
    announcement = {"address": server.listening_address, "key": key, "engine": f"xllamacpp {engine.__version__}"}
    print(json.dumps(announcement), file=announcements, flush=True)
    sys.stdin.buffer.read()
    # Nothing to save, and the engine would first finish what it is at.
    os._exit(0)


def _read_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m skillopt.models.local_server", description="Serve a local model.")
    parser.add_argument("weights", help="GGUF file")
    parser.add_argument("--slots", type=int, default=1, help="replies at once")
    parser.add_argument("--context", type=int, default=8192, help="tokens of one conversation, reply included")
    parser.add_argument("--threads", type=int, default=1, help="threads of the engine")
    parser.add_argument("--cached-prompts", type=int, default=512, help="MiB of memory for prompts seen before")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
