"""Which trackers a configuration chooses."""

from __future__ import annotations

import subprocess
import sys

import pytest

from skillopt.config.tracker_settings import TrackerSettings
from skillopt.errors import MissingDependencyError
from skillopt.trackers.chosen import chosen, require_libraries
from skillopt.trackers.mlflow_tracker import MlflowTracker
from skillopt.trackers.tensorboard_tracker import TensorboardTracker
from skillopt.trackers.trackio_tracker import TrackioTracker
from skillopt.trackers.wandb_tracker import WandbTracker

ALL = TrackerSettings.model_validate({"mlflow": {}, "wandb": {}, "trackio": {}, "tensorboard": {}})
MODULES = {"mlflow": "mlflow", "wandb": "wandb", "trackio": "trackio", "tensorboard": "tensorboardX"}


def test_by_default_none_is_chosen() -> None:
    assert list(chosen(TrackerSettings())) == []


def test_those_are_chosen_whose_section_is_there() -> None:
    assert [(one.name, type(one.make())) for one in chosen(ALL)] == [
        ("mlflow", MlflowTracker),
        ("wandb", WandbTracker),
        ("trackio", TrackioTracker),
        ("tensorboard", TensorboardTracker),
    ]


@pytest.mark.parametrize("section", MODULES)
def test_skills_are_not_said_to_be_sent_where_they_are_not(section: str) -> None:
    said = [
        next(chosen(TrackerSettings.model_validate({section: {"artifacts": artifacts}}))).told
        for artifacts in (True, False)
    ]
    assert said == ["settings, scores, spending and skills", "settings, scores and spending"]


@pytest.mark.parametrize(
    ("section", "same", "other"),
    [
        ("mlflow", {"run_name": "x", "attach": False, "artifacts": False}, {"experiment": "x"}),
        ("mlflow", {}, {"tracking_uri": "http://127.0.0.1"}),
        ("wandb", {"run_name": "x", "log_dir": "x"}, {"project": "x"}),
        ("wandb", {}, {"mode": "offline"}),
        ("wandb", {}, {"entity": "x"}),
        ("trackio", {"run_name": "x"}, {"project": "x"}),
        ("tensorboard", {"artifacts": False}, {"log_dir": "x"}),
    ],
)
def test_a_place_is_another_one_where_the_runs_are_elsewhere(
    section: str, same: dict[str, object], other: dict[str, object]
) -> None:
    (before, equal, elsewhere) = (
        next(chosen(TrackerSettings.model_validate({section: settings}))).place for settings in ({}, same, other)
    )
    assert before == equal != elsewhere


@pytest.mark.parametrize("name", MODULES)
def test_a_library_that_is_missing_is_named_with_what_installs_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, MODULES[name], None)  # type: ignore[arg-type]
    with pytest.raises(MissingDependencyError) as caught:
        require_libraries(ALL)
    assert caught.value.message.startswith(f"trackers.{name} needs the package ")
    assert '-m pip install "skillopt[trackers]"' in str(caught.value)
    require_libraries(ALL.model_copy(update={name: None}))


IMPORTED = """
import sys
from skillopt.config.tracker_settings import TrackerSettings
from skillopt.trackers.chosen import chosen, require_libraries

settings = TrackerSettings.model_validate({"mlflow": {}, "wandb": {}, "trackio": {}, "tensorboard": {}})
require_libraries(settings)
for one in chosen(settings):
    one.make()
print(*{"mlflow", "wandb", "trackio", "tensorboardX"} & sys.modules.keys())
"""


def test_no_library_is_imported_before_a_run_is_opened() -> None:
    said = subprocess.run([sys.executable, "-c", IMPORTED], capture_output=True, text=True, check=True)
    assert said.stdout == "\n"
