"""The sections of the trackers; what each setting does there is shown in `tests/trackers`."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.runs import write_run

from skillopt.config.load import load_config
from skillopt.errors import ConfigError


def test_none_is_told_anything_by_default(tmp_path: Path) -> None:
    trackers = load_config(write_run(tmp_path)).config.trackers
    assert (trackers.mlflow, trackers.wandb, trackers.trackio, trackers.tensorboard) == (None, None, None, None)


def test_an_empty_section_chooses_a_tracker_with_its_defaults(tmp_path: Path) -> None:
    loaded = load_config(write_run(tmp_path, settings={"trackers.mlflow": {}}), ["trackers.wandb.mode=offline"])
    trackers = loaded.config.trackers
    assert trackers.mlflow is not None and trackers.mlflow.experiment == "skillopt"
    assert trackers.wandb is not None and (trackers.wandb.project, trackers.wandb.mode) == ("skillopt", "offline")
    resolved = tmp_path / "resolved.yaml"
    resolved.write_text(loaded.to_yaml(), "utf-8")
    assert load_config(resolved).config == loaded.config


def test_a_directory_is_relative_to_the_file_that_names_it(tmp_path: Path) -> None:
    settings = {"trackers.tensorboard.log_dir": "boards", "trackers.wandb": {"log_dir": "../w", "entity": "./team"}}
    trackers = load_config(write_run(tmp_path / "a", settings=settings)).config.trackers
    assert trackers.tensorboard is not None and trackers.wandb is not None
    assert trackers.tensorboard.log_dir == str(tmp_path / "a" / "boards")
    assert (trackers.wandb.log_dir, trackers.wandb.entity) == (str(tmp_path / "w"), "./team")


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("trackers.mlfow={}", r"unknown key trackers\.mlfow; did you mean trackers\.mlflow\?"),
        ("trackers.mlflow.experimnt=x", r"did you mean trackers\.mlflow\.experiment\?"),
        ("trackers.wandb.mode=disabled", r"must be: one of online, offline"),
        ("trackers.wandb.project=''", r"trackers\.wandb\.project is \"\""),
        ("trackers.wait=-1", r"at least 0"),
        ("trackers.wandb.api_key=0123456789", r"trackers\.wandb\.api_key is refused and not shown"),
        ("trackers.mlflow.tracking_uri=https://me:pass@host", r"tracking_uri is refused and not shown"),
    ],
)
def test_what_is_wrong_is_said_and_no_secret_is_taken(tmp_path: Path, override: str, said: str) -> None:
    """F98, More 8, More 18"""
    with pytest.raises(ConfigError, match=said):
        load_config(write_run(tmp_path), [override])
