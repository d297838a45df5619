"""What passes of the seed skill say of a configuration's selection split."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.runs import write_run
from tests.support.values import rollout, unmeasured

from skillopt.config.load import load_config
from skillopt.errors import MeasurementError
from skillopt.run.noise import noise_report
from skillopt.run.setup import Setup, prepare
from skillopt.types import Rollout, Usage


def set_up(directory: Path, **settings: Any) -> Setup:
    """A configuration with eight selection tasks."""
    given = {name.replace("__", "."): value for name, value in settings.items()}
    return prepare(load_config(write_run(directory, settings=given)))


def one_pass(*scores: int | None) -> list[Rollout]:
    return [unmeasured(number) if hard is None else rollout(number, hard) for number, hard in enumerate(scores)]


def using(usage: Usage, *scores: int) -> list[Rollout]:
    """A pass each of whose rollouts used so many tokens."""
    return [replace(one, trajectory=replace(one.trajectory, usage=usage)) for one in one_pass(*scores)]  # type: ignore[type-var]


def test_the_configured_shape_comes_first_then_more_passes_then_more_tasks(tmp_path: Path) -> None:
    passes = [one_pass(1, 0, 1, 0, 0, 0, 0, 0), one_pass(1, 1, 0, 0, 0, 0, 0, 0)]
    report = noise_report(set_up(tmp_path, evaluation__repeats=2), passes)
    assert [(one.tasks, one.repeats) for one in report.forecasts] == [(8, 2), (8, 4), (8, 8), (16, 2), (32, 2)]
    assert (report.noise.changed, report.noise.flip_rate, report.unmeasured) == (2, 0.25, 0)
    assert report.with_confidence is None


def test_the_price_is_that_of_the_rollouts_that_were_seen(tmp_path: Path) -> None:
    """F23: the price tag of a cure stands beside it."""
    setup = set_up(tmp_path, model__target__price={"input": 1.0, "output": 2.0})
    usage = Usage(1, fresh_tokens=1_000_000, output_tokens=500_000)
    report = noise_report(setup, [using(usage, 1, 0)] * 2)
    assert report.dollars == pytest.approx(2.0)
    assert [report.price(one) for one in report.forecasts[:2]] == [pytest.approx(4.0), pytest.approx(8.0)]


def test_a_price_that_nobody_knows_stays_unknown(tmp_path: Path) -> None:
    """F11: no invented number, and no zero."""
    setup = set_up(tmp_path, model__target__name="openai:no-such-model-there-is")
    report = noise_report(setup, [using(Usage(1, fresh_tokens=9), 1, 0)] * 2)
    assert (report.dollars, report.price(report.forecasts[0])) == (None, None)


def test_tasks_that_not_every_pass_measured_are_left_out(tmp_path: Path) -> None:
    """F14: an outage is no flip."""
    report = noise_report(set_up(tmp_path), [one_pass(1, None, 0), one_pass(1, 1, 0)])
    assert (report.noise.tasks, report.noise.changed, report.unmeasured) == (2, 0, 1)
    assert report.forecasts[0].tasks == 3
    with pytest.raises(MeasurementError, match=r"no task was measured in all 2 passes \(outage\)"):
        noise_report(set_up(tmp_path), [one_pass(None), one_pass(1)])


def test_the_metric_of_the_gate_decides_what_is_noise(tmp_path: Path) -> None:
    """F39: partial credit wavers where no task flips."""
    passes = [[rollout(0, 0, 0.5)], [rollout(0, 0, 0.55)]]
    changed = [
        noise_report(set_up(tmp_path, evaluation__gate_metric=metric), passes).noise.changed
        for metric in ("hard", "soft")
    ]
    assert changed == [0, 1]


def test_a_configured_confidence_is_told_with_its_chance(tmp_path: Path) -> None:
    """F19: it stays under the stated level."""
    passes = [one_pass(1, 0, 1, 0, 0, 1, 0, 0), one_pass(0, 1, 0, 0, 0, 0, 0, 0)]
    report = noise_report(set_up(tmp_path, evaluation__confidence=0.75), passes)
    assert report.with_confidence is not None
    assert 0 < report.with_confidence <= 0.25 < report.forecasts[0].accepted
