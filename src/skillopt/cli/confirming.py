"""The question before a large training that nothing limits: asked where a person can answer it, and nowhere else."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from skillopt.cli.streams import is_live

if TYPE_CHECKING:
    from skillopt.config.load import LoadedConfig


def confirmed(loaded: LoadedConfig) -> bool:
    """Whether a training may begin: small or limited, begun before, nobody to ask, or a person says yes.

    Raises:
        SkillOptError: If the settings do not fit the data, as a start would.
    """
    if not (is_live() and sys.stdin.isatty()):
        return True
    from datetime import UTC, datetime

    from skillopt.cli.terminal import say
    from skillopt.models.prices import Prices
    from skillopt.run.opening import run_directory
    from skillopt.run.plan import plan
    from skillopt.run.setup import prepare

    setup = prepare(loaded)
    large = plan(setup, Prices(setup.config.model, on=datetime.now(UTC).date())).large
    if not large or (run_directory(setup) / "evidence.sqlite").exists():
        return True
    say(f"{large[0].upper()}{large[1:]}. `skillopt train --dry-run` shows the plan, --yes begins without asking.")
    print("Begin? [y/N] ", end="", flush=True)  # noqa: T201
    if sys.stdin.readline().strip().lower() in ("y", "yes"):
        return True
    say("not begun; no model was asked")
    return False
