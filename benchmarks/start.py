"""How soon the command answers, against an empty Python process."""

import statistics
import subprocess
import sys
import time


def _seconds(*words: str) -> float:
    runs: list[float] = []
    for _ in range(5):
        began = time.perf_counter()
        subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)
        runs.append(time.perf_counter() - began)
    return statistics.median(runs)


def report() -> None:
    empty = _seconds("-c", "pass")
    for name, words in (
        ("skillopt --help", ("-c", "from skillopt.cli.main import run; run(['--help'])")),
        ("import skillopt", ("-c", "import skillopt")),
    ):
        ours = _seconds(*words)
        print(f"{name}: {ours / empty:.1f} times an empty Python process ({1000 * ours:.0f} / {1000 * empty:.0f} ms)")
