"""What the commands have in common: how a configuration and its overrides are given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from skillopt.errors import UsageError

if TYPE_CHECKING:
    from skillopt.config.load import LoadedConfig

Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="CONFIG [SECTION.KEY=VALUE]...",
        help="The configuration file, then settings that override it, such as train.batch_size=8.",
        show_default=False,
    ),
]
ConfigOption = Annotated[
    str | None,
    typer.Option("--config", metavar="PATH", help="The configuration file, in place of the first word."),
]


def load(words: Sequence[str] | None, config: str | None) -> LoadedConfig:
    """Load the configuration that a command line names.

    Raises:
        UsageError: If none is named.
        ConfigError: If it is wrong.
    """
    from skillopt.config.load import load_config

    rest = list(words or ())
    if config is None:
        if not rest or ("=" in rest[0] and not rest[0].endswith((".yaml", ".yml"))):
            raise UsageError(
                "no configuration file is named", hint="Name it first: skillopt COMMAND CONFIG [SECTION.KEY=VALUE]..."
            )
        config = rest.pop(0)
    return load_config(config, rest)
