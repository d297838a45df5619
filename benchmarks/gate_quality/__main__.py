"""Trains in simulated worlds, thousands of times, and prints what each rule and knob is worth: `make gate-quality`.

python -m benchmarks.gate_quality            # the whole table: about 15 minutes on 2 cores
python -m benchmarks.gate_quality --quick    # a few seeds of a few rows: about a minute
python -m benchmarks.gate_quality --write    # puts the table into docs/gate_quality.md
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence

from benchmarks.gate_quality.rows import ABLATION, BASE, NULL_ROWS, ROWS, WHOLE, Overrides
from benchmarks.gate_quality.table import PAGE, Table, overview, page_with
from benchmarks.gate_quality.training import Job, Measures, run_all
from benchmarks.gate_quality.worlds import SETTINGS, Setting

SEEDS = 12
QUICK_SEEDS = 2
QUICK_ROWS = (BASE, "final_repeats 2", "rejection memory: off", "redraw 3", "constant 8")


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gate_quality", description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=SEEDS, help="trainings a row and world")
    parser.add_argument("--quick", action="store_true", help="a few seeds of a few rows and worlds")
    parser.add_argument("--rows", nargs="+", default=None, metavar="ROW", help="these rows only")
    parser.add_argument("--worlds", nargs="+", default=None, metavar="WORD", help="worlds with one of these words")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes; changes no number")
    parser.add_argument("--write", action="store_true", help=f"put the tables into docs/{PAGE.name}")
    chosen = parser.parse_args(arguments)
    settings = [
        setting for setting in SETTINGS if not chosen.worlds or any(word in setting.name for word in chosen.worlds)
    ]
    if chosen.quick and not chosen.worlds:
        settings = [setting for setting in settings if setting.name.endswith("noisy") and "200" not in setting.name]
    names = chosen.rows or (QUICK_ROWS if chosen.quick else None)
    seeds = QUICK_SEEDS if chosen.quick else chosen.seeds
    jobs = [Job(setting, seed, rows_of(setting, names)) for setting in settings for seed in range(1, seeds + 1)]
    part = report(jobs, [*run_all(jobs, workers=chosen.workers)])
    print(part)
    if chosen.write:
        PAGE.write_text(page_with(PAGE.read_text(encoding="utf-8"), part), encoding="utf-8", newline="\n")


def rows_of(setting: Setting, names: Sequence[str] | None) -> Mapping[str, Overrides]:
    """Return the rows that are trained in a world: those that are named, else those that say something there."""
    known = {**ROWS, **ABLATION}
    return {name: known[name] for name in names or (NULL_ROWS if setting.null else known)}


def report(jobs: Sequence[Job], found: Sequence[Mapping[str, Measures]]) -> str:
    """Return all tables: an overview, the ablation, and world by world."""
    by_world: dict[str, list[Mapping[str, Measures]]] = {}
    for job, measures in zip(jobs, found, strict=True):
        by_world.setdefault(job.setting.name, []).append(measures)
    whole = [
        Table(world, {name: [one[name] for one in measured] for name in measured[0]})
        for world, measured in by_world.items()
    ]
    tables = [table.of(ROWS, base=BASE) for table in whole]
    parts = ["### Against published, gain at the call limit", overview(tables), *map(Table.markdown, tables)]
    ablated = [table.of(ABLATION, base=WHOLE) for table in whole if WHOLE in table.measured]
    if ablated:
        parts += ["## What each part of the method adds", *map(Table.markdown, ablated)]
    return "\n\n".join(parts)


if __name__ == "__main__":
    main(sys.argv[1:])
