"""`python -m benchmarks kill`: so many killed runs, and whether each of them ended as if nobody had killed it."""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.kill.child import KINDS
from benchmarks.kill.harness import Trial, trials


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks kill", description=__doc__)
    parser.add_argument("--points", type=int, default=200, metavar="N", help="killed runs, each 1 to 5 times")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where the runs that differ are kept")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        directory = given.keep or Path(folder)
        directory.mkdir(parents=True, exist_ok=True)
        results = asyncio.run(trials(given.points, seed=given.seed, directory=directory, watch=_show))
    print("\n\n" + "\n".join(report(results)))
    return int(any(trial.differences for trial in results))


def _show(trial: Trial) -> None:
    print("".join(f"\n{line}" for line in _differing(trial)) if trial.differences else ".", end="", flush=True)


def _differing(trial: Trial) -> list[str]:
    told = [f"DIFFERS: {dict(trial.settings)}", *(f"  {shot}" for shot in trial.shots)]
    return [
        *told,
        *(f"  {kill}" for kill in trial.kills),
        *(f"  {difference}" for difference in trial.differences[:20]),
    ]


def report(results: Sequence[Trial]) -> list[str]:
    """Return what came of it, in lines."""
    equal = sum(not trial.differences for trial in results)
    kills = [kill for trial in results for kill in trial.kills]
    lines = [
        f"runs equal {equal}/{len(results)}, recorded calls asked again: {sum(trial.asked_again for trial in results)}",
        f"{len(kills)} kills; {sum(trial.lost for trial in results)} calls were in flight at one and were asked again",
        "",
    ]
    by_kind, by_stage = Counter(kill.kind for kill in kills), Counter(kill.stage for kill in kills)
    lines += [f"{by_kind[kind]:6} {kind}" for kind in KINDS]
    lines += ["", *(f"{number:6} in {stage}" for stage, number in by_stage.most_common())]
    for trial in results:
        lines += ["", *_differing(trial)] if trial.differences else []
    return lines
