"""The schema holds to its own rules."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from skillopt.config.schema import Config

MODELS = {"optimizer": {"name": "a:b"}, "target": {"name": "a:b"}}


def test_every_key_but_the_models_has_a_default() -> None:
    assert Config.model_validate({"model": MODELS}).train.seed == 42


def test_a_configuration_cannot_be_changed() -> None:
    config = Config.model_validate({"model": MODELS})
    with pytest.raises(ValidationError, match="frozen"):
        config.train.seed = 1  # pyright: ignore[reportAttributeAccessIssue]


def test_a_redraw_needs_a_gate_that_rejects() -> None:
    values = {"model": MODELS, "optimizer": {"redraw": 1}}
    with pytest.raises(ValidationError, match="use_gate is false, so nothing is rejected; leave out optimizer"):
        Config.model_validate({**values, "evaluation": {"use_gate": False}})
    assert Config.model_validate(values).optimizer.redraw == 1
