"""Which experiment trackers a training tells how it goes: those whose section stands in the configuration, be it `{}`.

Keys and logins are the trackers' own, from the environment or from where their tools keep them; none stands here.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from skillopt.config.section import Section

Name = Annotated[str, Field(min_length=1, max_length=128)]


class TrackerSection(Section):
    """What the trackers have in common that know runs by name."""

    run_name: Name | None = None
    """What the run is called there; by default the name of the run directory."""
    attach: bool = True
    """Log into the run that the program has open there already, and leave it open; false: always a run of its own."""
    artifacts: bool = True
    """Send the skills and the picture at the end."""


class MlflowSettings(TrackerSection):
    """MLflow."""

    tracking_uri: str | None = None
    """The server or store, such as http://127.0.0.1:5000 or sqlite:////data/mlflow.db; by default MLflow's own choice
    (MLFLOW_TRACKING_URI)."""
    experiment: Name = "skillopt"
    """The experiment; made where missing."""


class WandbSettings(TrackerSection):
    """Weights & Biases."""

    project: Name = "skillopt"
    """The project."""
    entity: Name | None = None
    """The user or team; by default that of the login."""
    mode: Literal["online", "offline"] = "online"
    """Offline keeps all of it in files, which `wandb sync` sends later."""
    log_dir: str | None = None
    """Where its files lie, in a directory `wandb`; by default in the run directory."""


class TrackioSettings(TrackerSection):
    """trackio, in its directory on this machine (TRACKIO_DIR)."""

    project: Name = "skillopt"
    """The project."""


class TensorboardSettings(Section):
    """TensorBoard."""

    log_dir: str | None = None
    """Where the event files lie, in a directory named like the run's; by default `tensorboard` in the run directory."""
    artifacts: bool = True
    """Write the skills and the picture too."""


class TrackerSettings(Section):
    """Where a training tells how it goes; it changes nothing that is measured."""

    wait: Annotated[float, Field(ge=0.0)] = 30.0
    """Seconds that the end of a training waits at most for trackers that have not taken everything yet."""
    mlflow: MlflowSettings | None = None
    """Tell MLflow."""
    wandb: WandbSettings | None = None
    """Tell Weights & Biases."""
    trackio: TrackioSettings | None = None
    """Tell trackio."""
    tensorboard: TensorboardSettings | None = None
    """Write event files for TensorBoard."""
