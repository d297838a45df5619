"""Trains in simulated worlds, thousands of times, and prints what each rule and knob is worth: `make gate-quality`.

python -m benchmarks.gate_quality            # the whole table: about 15 minutes on 2 cores
python -m benchmarks.gate_quality --quick    # a few seeds of a few rows: about a minute
python -m benchmarks.gate_quality --write    # puts the table into docs/gate_quality.md
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from benchmarks.gate_quality.rows import BASE, ROWS
from benchmarks.gate_quality.table import PAGE, Table, overview, page_with
from benchmarks.gate_quality.training import Job, run_all
from benchmarks.gate_quality.worlds import SETTINGS, Setting

SEEDS = 16
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
    names = chosen.rows or (QUICK_ROWS if chosen.quick else ROWS)
    settings = [
        setting for setting in SETTINGS if not chosen.worlds or any(word in setting.name for word in chosen.worlds)
    ]
    if chosen.quick and not chosen.worlds:
        settings = [setting for setting in settings if setting.name.endswith("noisy") and "200" not in setting.name]
    seeds = QUICK_SEEDS if chosen.quick else chosen.seeds
    tables = measure_all(settings, names, seeds=seeds, workers=chosen.workers)
    part = "\n\n".join([overview(tables), *(table.markdown() for table in tables)])
    print(part)
    if chosen.write:
        PAGE.write_text(page_with(PAGE.read_text(encoding="utf-8"), part), encoding="utf-8", newline="\n")


def measure_all(settings: Sequence[Setting], names: Sequence[str], *, seeds: int, workers: int) -> list[Table]:
    """Train all rows in all worlds with the same seeds."""
    rows = {name: ROWS[name] for name in names}
    jobs = [Job(setting, seed, rows) for setting in settings for seed in range(1, seeds + 1)]
    found = [*run_all(jobs, workers=workers)]
    return [
        Table(
            setting.name,
            {name: [measures[name] for measures in found[start : start + seeds]] for name in {BASE: {}, **rows}},
        )
        for setting, start in zip(settings, range(0, len(found), seeds), strict=True)
    ]


if __name__ == "__main__":
    main(sys.argv[1:])
