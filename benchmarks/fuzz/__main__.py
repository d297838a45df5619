"""Feeds the readers of replies, task files, skills and configurations with damaged input: `python -m benchmarks.fuzz`.

python -m benchmarks.fuzz                                  # each reader for a minute
python -m benchmarks.fuzz --minutes 10 --readers replies   # one of them, longer
python -m benchmarks.fuzz --seed 7                         # other inputs

For each reader: how many inputs were tried, how many of them did not end in a value or an error of ours, and the one
that took longest. Input N of a seed is the same everywhere. The exit code is 1 where anything was found.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import FrameType

from benchmarks.fuzz.inputs import damaged
from benchmarks.fuzz.readers import READERS, Reader

LONGEST = 10.0
"""Seconds of processor time after which an input counts as one that hangs."""
_SHOWN = 2000
_FRAMES = 12


class Hang(BaseException):
    """An input took longer than `LONGEST`; no seam to foreign code takes it for an error of that code."""


@dataclass
class Report:
    """What came of one reader.

    Attributes:
        tried: How many inputs.
        failures: For each kind of failure, how many inputs and the shortest of them.
        slowest: Seconds of processor time of the slowest input, and the input.
    """

    tried: int = 0
    failures: Counter[str] = field(default_factory=Counter[str])
    examples: dict[str, tuple[bytes, str]] = field(default_factory=dict[str, tuple[bytes, str]])
    slowest: tuple[float, bytes] = (0.0, b"")

    def add(self, data: bytes, error: BaseException) -> None:
        """Count a failure under its type and the place in the code that raised it."""
        frames = traceback.extract_tb(error.__traceback__)
        kind = f"{type(error).__name__} at {Path(frames[-1].filename).name}:{frames[-1].lineno}"
        self.failures[kind] += 1
        known = self.examples.get(kind)
        if known is None or len(data) < len(known[0]):
            self.examples[kind] = data, "".join(traceback.format_exception(error, limit=-_FRAMES))


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz", description=__doc__.split("\n")[0])
    names = [reader.name for reader in READERS]
    parser.add_argument("--minutes", type=float, default=1.0, help="for each reader")
    parser.add_argument("--readers", nargs="+", choices=names, default=names)
    parser.add_argument("--seed", type=int, default=1, help="which inputs")
    chosen = parser.parse_args(arguments)
    found = 0
    for reader in READERS:
        if reader.name in chosen.readers:
            report = fuzz(reader, seconds=60 * chosen.minutes, seed=chosen.seed)
            print(told(reader, report), flush=True)
            found += report.failures.total()
    return 1 if found else 0


def fuzz(reader: Reader, *, seconds: float, seed: int, most: int | None = None) -> Report:
    """Try inputs, one after the other, for some seconds or until there were `most`."""
    report = Report()
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder, _alarm():
        while time.monotonic() < end and report.tried != most:
            data = damaged(Random(f"{seed} {report.tried}"), seeds=reader.seeds, tokens=reader.tokens)
            report.tried += 1
            began = time.process_time()
            signal.setitimer(signal.ITIMER_PROF, LONGEST)
            try:
                reader.read(data, Path(folder))
            except (Exception, Hang) as error:  # noqa: BLE001 - whatever comes is what is looked for
                report.add(data, error)
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
            report.slowest = max(report.slowest, (time.process_time() - began, data))
    return report


def told(reader: Reader, report: Report) -> str:
    """Return a report in words."""
    seconds, data = report.slowest
    counts = f"{reader.name}: {report.tried} inputs, {report.failures.total()} failures"
    lines = [f"{counts}; the slowest took {seconds:.2f} s for {len(data)} bytes: {data[:60]!r}"]
    for kind, count in report.failures.most_common():
        example, trace = report.examples[kind]
        lines += [f"  {kind}: {count} inputs, the shortest {example[:_SHOWN]!r}", trace]
    return "\n".join(lines)


@contextmanager
def _alarm() -> Generator[None]:
    def ring(_number: int, _frame: FrameType | None) -> None:
        raise Hang(f"more than {LONGEST:g} s")

    before = signal.signal(signal.SIGPROF, ring)
    try:
        yield
    finally:
        signal.signal(signal.SIGPROF, before)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
