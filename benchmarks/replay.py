"""A finished run played again from its evidence, against the run that made it."""

import tempfile
import time
from pathlib import Path

from skillopt.api import train

CONFIG = Path(__file__).parent.parent / "examples" / "simulated" / "config.yaml"


async def report() -> None:
    with tempfile.TemporaryDirectory() as folder:
        seconds: list[float] = []
        for _ in range(2):
            began = time.process_time()
            await train(CONFIG, [f"env.out_root={folder}/run", "train.num_epochs=1", "report.picture=false"])
            seconds.append(time.process_time() - began)
    first, again = seconds
    print(
        f"replay of a simulated run: {again / first:.2f} times the first play ({again:.2f} / {first:.2f} s processor)"
    )
