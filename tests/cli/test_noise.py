"""`skillopt noise`: how much of a gain on the selection split would be luck."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from tests.support.commands import Command, at_server, write_tiny_run
from tests.support.runs import read_json

NOISY = "simulated:target?noise=0.3&seed=5&rules=4&tasks=32"


def test_the_seed_is_measured_twice_and_nothing_is_paid_again(command: Command, tmp_path: Path) -> None:
    """F18, F19: two passes of one skill differ, and the report says by how much."""
    config = write_tiny_run(tmp_path, env__limit=0, model__target__name=NOISY)
    code, said, err = command("noise", config, "--out", "out")
    assert code == 0
    assert err.splitlines()[-1] == "16/16 tasks"
    report = read_json(tmp_path / "out" / "noise.json")
    assert (report["tasks"], len(report["passes"]), report["unmeasured"]) == (8, 2, 0)
    assert 0 < report["changed"] <= 8
    assert report["flip_rate"] == report["changed"] / 8
    assert report["forecasts"][0]["calls"] == 8
    assert f"Noise floor: {report['changed']} of 8 tasks changed between passes" in said
    assert f"accepted with a chance of {100 * report['forecasts'][0]['accepted']:.1f} %" in said
    assert command("noise", config, "--out", "out")[1] == said


def test_a_training_goes_on_with_the_passes_that_were_measured(command: Command, tmp_path: Path) -> None:
    """In the run's own directory the first pass is the baseline."""
    config = write_tiny_run(tmp_path, model__target__name=NOISY)
    assert command("train", config)[0] in (0, 10, 11, 12)
    assert command("noise", config, "--out", tmp_path / "run")[0] == 0
    first = read_json(tmp_path / "run" / "history.json")[0]
    assert read_json(tmp_path / "run" / "noise.json")["passes"][0] == first["val_acc"]


def test_more_passes_than_two(command: Command, tmp_path: Path) -> None:
    config = write_tiny_run(tmp_path, model__target__name=NOISY)
    assert command("noise", config, "--passes", "4", "--out", "out")[0] == 0
    assert len(read_json(tmp_path / "out" / "noise.json")["passes"]) == 4


@pytest.mark.parametrize("words", [("--passes", "1"), ("--passes", "x")])
def test_fewer_than_two_passes_say_nothing_of_noise(command: Command, tmp_path: Path, words: Any) -> None:
    code, _, err = command("noise", write_tiny_run(tmp_path), *words)
    assert code == 2
    assert "--passes" in err


def test_a_target_that_does_not_answer_is_no_noise(command: Command, tmp_path: Path, httpserver: HTTPServer) -> None:
    """F2: exit code 13, and no numbers."""
    httpserver.expect_request("/v1/chat/completions").respond_with_data("no capacity left", status=503)
    config = write_tiny_run(tmp_path, **at_server(httpserver.url_for("/v1")))
    code, said, err = command("noise", config, "--out", "out")
    assert code == 13
    assert "no task was measured in all 2 passes" in err
    assert "Noise floor" not in said
