"""From a configuration to all that a run needs but models: one set-up for train, eval and check."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from skillopt.config.load import LoadedConfig
from skillopt.config.schema import Config
from skillopt.config.validation import validate_section
from skillopt.data.splits import Splits, load_splits
from skillopt.environments.base import Environment, EnvironmentSettings
from skillopt.environments.foreign import foreign_code, shape_of
from skillopt.environments.load import load_environment
from skillopt.errors import ConfigError, EnvironmentLoadError
from skillopt.evaluation.acceptance import AcceptanceRule, load_acceptance
from skillopt.run.content_warnings import content_warnings
from skillopt.skill.document import Skill
from skillopt.types import Task


@dataclass(frozen=True)
class Setup:
    """Everything a run is made of, read and checked, before any model is asked.

    Attributes:
        loaded: The configuration with the origin of each value.
        splits: The tasks.
        environment: What they are.
        seed_skill: The skill that training starts with; empty where none is configured.
        warnings: What a person should know, a sentence each.
        acceptance: The rule that decides at the gate in place of the strict one, where one is configured.
    """

    loaded: LoadedConfig
    splits: Splits
    environment: Environment[EnvironmentSettings]
    seed_skill: Skill
    warnings: tuple[str, ...]
    acceptance: AcceptanceRule | None = None

    @property
    def config(self) -> Config:
        """The settings."""
        return self.loaded.config


def prepare(loaded: LoadedConfig) -> Setup:
    """Read the tasks, the environment and the seed skill.

    Raises:
        ConfigError: If a setting does not fit the data or the environment.
        DataError: If the data is wrong, or a task lacks what the environment needs.
        EnvironmentLoadError: If the environment or the acceptance rule cannot be loaded.
        SkillError: If the seed skill cannot be read.
    """
    config = loaded.config

    def validate(settings_class: type[EnvironmentSettings], values: Mapping[str, object]) -> EnvironmentSettings:
        return validate_section(settings_class, values, provenance=loaded.provenance)

    environment = load_environment(config.env, validate)
    splits = load_data(config)
    tasks = (*splits.train, *splits.val, *splits.test)
    skill = seed_skill(loaded)
    warnings = (*splits.warnings, *_checked(environment, tasks), *content_warnings(skill, tasks))
    rule = config.evaluation.acceptance
    acceptance = None if rule is None else load_acceptance(rule)
    return Setup(loaded, splits, environment, skill, warnings, acceptance)


def _checked(environment: Environment[EnvironmentSettings], tasks: Sequence[Task]) -> tuple[str, ...]:
    """Check every task and return the environment's warnings. The declared seam to what users write for both."""
    with foreign_code(
        f"environment {environment.name}: checking the tasks raised ",
        hint="Its check and warnings raise DataError for a task that lacks something, and nothing else.",
    ):
        for task in tasks:
            environment.check(task)
        given = cast("object", environment.warnings(tasks))
        warnings = tuple(cast("Iterable[object]", given)) if isinstance(given, Iterable) else None
    if warnings is None or isinstance(given, str) or not all(isinstance(warning, str) for warning in warnings):
        raise EnvironmentLoadError(
            f"environment {environment.name}: its warnings returned {shape_of(cast('object', given))}",
            hint="Return a tuple of sentences; () where there is nothing to say.",
        )
    return cast("tuple[str, ...]", warnings)


def load_data(config: Config) -> Splits:
    """Read the tasks and divide them; runs no code of the user's.

    Raises:
        ConfigError: If a setting does not fit the data.
        DataError: If the data is wrong.
    """
    return load_splits(
        config.env,
        train_size=config.train.train_size,
        sel_env_num=config.evaluation.sel_env_num,
        test_env_num=config.evaluation.test_env_num,
    )


def seed_skill(loaded: LoadedConfig) -> Skill:
    """Read the seed skill; an empty one where none is configured.

    Raises:
        ConfigError: If its file does not exist.
        SkillError: If it cannot be read.
    """
    path = loaded.config.env.skill_init
    if path is None:
        return Skill.parse("")
    if not os.path.lexists(path):
        raise ConfigError(
            f"{loaded.provenance['env.skill_init']}: env.skill_init is {path}, which does not exist",
            hint="Name the file of the seed skill, or leave the key out to start from an empty skill.",
        )
    return Skill.load(path)
