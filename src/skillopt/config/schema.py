"""The whole configuration.

Every setting there is stands in one of the sections, with name, type, range, default and meaning; the documentation of
the settings is generated from them. Sections and keys keep the names that users of the method know. Every key has a
default except the two models; unknown keys are errors.
"""

from __future__ import annotations

from typing import Literal, Self, TypeAlias

from pydantic import model_validator

from skillopt.config.env_settings import EnvSettings
from skillopt.config.evaluation_settings import EvaluationSettings
from skillopt.config.limit_settings import LimitSettings
from skillopt.config.model_settings import ModelSettings
from skillopt.config.report_settings import ReportSettings
from skillopt.config.section import Section
from skillopt.config.tracker_settings import TrackerSettings
from skillopt.config.training_settings import GradientSettings, OptimizerSettings, SkillSettings, TrainSettings

Preset: TypeAlias = Literal["published", "standard", "fast", "careful"]
"""The names of the sets of settings in `presets.py`."""


class Config(Section):
    """The whole configuration of a run."""

    preset: Preset = "standard"
    """A set of settings to start from; whatever is set beside it wins."""

    model: ModelSettings
    """The two models."""
    train: TrainSettings = TrainSettings()
    """Epochs, batches, seed."""
    gradient: GradientSettings = GradientSettings()
    """Reflection and merging."""
    optimizer: OptimizerSettings = OptimizerSettings()
    """Edit budget and its schedule, slow update, meta skill."""
    skill: SkillSettings = SkillSettings()
    """Limits of the trained document."""
    evaluation: EvaluationSettings = EvaluationSettings()
    """Gate and final test."""
    limits: LimitSettings = LimitSettings()
    """What the run may use at most."""
    report: ReportSettings = ReportSettings()
    """What is drawn at the end."""
    trackers: TrackerSettings = TrackerSettings()
    """Which experiment trackers are told."""
    env: EnvSettings = EnvSettings()
    """Tasks and environment."""

    @property
    def vetted_tasks(self) -> int:
        """On how many tasks an edit is tried alone: `evaluation.vet`.

        None where the skill is rewritten instead, where every candidate is accepted, and where a rule of the user's
        decides: it may want what does no better.
        """
        own = not self.evaluation.use_gate or self.evaluation.acceptance is not None
        return 0 if own or self.optimizer.skill_update_mode != "patch" else self.evaluation.vet

    @model_validator(mode="after")
    def _redraws_need_rejections(self) -> Self:
        if self.optimizer.redraw and not self.evaluation.use_gate:
            raise ValueError(
                "evaluation.use_gate is false, so nothing is rejected; leave out optimizer.redraw, or use the gate"
            )
        return self
