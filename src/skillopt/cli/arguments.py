"""What the commands have in common: how a configuration and its overrides are given."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skillopt.cli.streams import stay_open
from skillopt.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from skillopt.config.load import LoadedConfig

ConfigWord = Annotated[
    str | None, typer.Argument(metavar="CONFIG", help="The configuration file, YAML.", show_default=False)
]
Overrides = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SECTION.KEY=VALUE",
        help="Settings that override those of the file, such as train.batch_size=8. They may stand behind the word "
        "--cfg-options, which changes nothing.",
        show_default=False,
    ),
]
ConfigOption = Annotated[
    str | None,
    typer.Option("--config", metavar="PATH", help="The configuration file, in place of the first word."),
]


def load(word: str | None, overrides: Sequence[str] | None, option: str | None) -> LoadedConfig:
    """Load the configuration that a command line names.

    Args:
        word: The first word, if there is one: the file, or the first override where the file is given by the option.
        overrides: The words after it.
        option: What `--config` names.

    Raises:
        UsageError: If no file is named.
        ConfigError: If it is wrong.
    """
    from skillopt.config.load import load_config
    from skillopt.user_files import is_directory

    # From here on, code that the configuration names may run.
    stay_open()
    words = [*([] if word is None else [word]), *(overrides or ())]
    if option is None:
        if not words or ("=" in words[0] and not words[0].endswith((".yaml", ".yml"))):
            raise UsageError(
                "no configuration file is named",
                hint="Name it ahead of the settings, such as: skillopt train config.yaml train.num_epochs=2",
            )
        option = words.pop(0)
    if is_directory(Path(option).expanduser()):
        # Such as the run directory, which keeps its configuration.
        inside = Path(option) / "config.yaml"
        raise ConfigError(
            f"{option} is a directory and not a configuration file",
            hint=f"Name its config.yaml: {inside}"
            if inside.expanduser().is_file()
            else "It has no config.yaml either.",
        )
    return load_config(option, words)
