"""The trackers that a configuration chooses, and what they need to be installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Final

from skillopt.config.tracker_settings import TrackerSettings
from skillopt.errors import MissingDependencyError, install_line
from skillopt.trackers.base import Tracker
from skillopt.trackers.mlflow_tracker import MlflowTracker
from skillopt.trackers.tensorboard_tracker import TensorboardTracker
from skillopt.trackers.trackio_tracker import TrackioTracker
from skillopt.trackers.wandb_tracker import WandbTracker

_LIBRARIES: Final[Mapping[str, tuple[str, str]]] = {
    "mlflow": ("mlflow", "mlflow-skinny"),
    "wandb": ("wandb", "wandb"),
    "trackio": ("trackio", "trackio"),
    "tensorboard": ("tensorboardX", "tensorboardX"),
}
"""For each tracker the module that it needs and the package that has it."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A tracker that the configuration chooses.

    Attributes:
        name: Its section's.
        place: What the settings say of where its runs are.
        shown: The same in words, for a person who asks what a training would tell whom.
        make: Makes it; called on the training's own thread, so that it sees which run the program has open there.
        artifacts: Whether it is sent the skills.
    """

    name: str
    place: str
    shown: str
    make: Callable[[], Tracker]
    artifacts: bool = True

    @property
    def told(self) -> str:
        """What it is told, in words."""
        return "settings, scores, spending and skills" if self.artifacts else "settings, scores and spending"


def chosen(settings: TrackerSettings) -> Iterator[Chosen]:
    """Return the trackers that are chosen."""
    if (mlflow := settings.mlflow) is not None:
        at = mlflow.tracking_uri or "the address in MLFLOW_TRACKING_URI, or a store on this machine"
        place = f"{mlflow.tracking_uri or ''} {mlflow.experiment}".strip()
        yield Chosen(
            "mlflow",
            place,
            f"experiment {mlflow.experiment} at {at}",
            lambda: MlflowTracker(mlflow),
            artifacts=mlflow.artifacts,
        )
    if (wandb := settings.wandb) is not None:
        project = f"{wandb.entity}/{wandb.project}" if wandb.entity else wandb.project
        at = "at Weights & Biases" if wandb.mode == "online" else "in files on this machine"
        shown = f"project {project} {at}"
        yield Chosen(
            "wandb",
            f"{project} {wandb.mode}",
            shown,
            lambda: WandbTracker(wandb, wait=settings.wait),
            artifacts=wandb.artifacts,
        )
    if (trackio := settings.trackio) is not None:
        shown = f"project {trackio.project} on this machine"
        yield Chosen("trackio", trackio.project, shown, lambda: TrackioTracker(trackio), artifacts=trackio.artifacts)
    if (tensorboard := settings.tensorboard) is not None:
        shown = f"files in {tensorboard.log_dir or 'the run directory'}"
        yield Chosen(
            "tensorboard",
            tensorboard.log_dir or "",
            shown,
            lambda: TensorboardTracker(tensorboard),
            artifacts=tensorboard.artifacts,
        )


def require_libraries(settings: TrackerSettings) -> None:
    """Make sure that the library of every tracker that is chosen is installed, without importing it.

    Raises:
        MissingDependencyError: If one is not.
    """
    for one in chosen(settings):
        module, package = _LIBRARIES[one.name]
        if find_spec(module) is None:
            raise MissingDependencyError(
                f"trackers.{one.name} needs the package {package}, which is not installed",
                hint=f"{install_line('trackers')}\nOr leave the section out.",
            )
