"""Runs every benchmark and prints one line for each figure: `make bench`.

`python -m benchmarks kill` kills trainings instead, and compares them with those that nobody killed;
`python -m benchmarks dashboard` measures the live page over many runs and a large one.
"""

import asyncio
import sys


def main() -> int:
    if sys.argv[1:2] == ["kill"]:
        from benchmarks.kill import report

        return report.main(sys.argv[2:])
    if sys.argv[1:2] == ["dashboard"]:
        from benchmarks.dashboard import report

        return report.main(sys.argv[2:])
    from benchmarks import client, replay, spans, start

    print("All figures are ratios of two things measured in this run; lower is better.\n")
    start.report()
    asyncio.run(client.report())
    asyncio.run(replay.report())
    asyncio.run(spans.report())
    return 0


if __name__ == "__main__":  # processes that are started anew look into this module too
    sys.exit(main())
