"""Runs every benchmark and prints one line for each figure: `make bench`."""

import asyncio

from benchmarks import client, replay, start

print("All figures are ratios of two things measured in this run; lower is better.\n")
start.report()
asyncio.run(client.report())
asyncio.run(replay.report())
