"""`skillopt train`: what is shown and kept, what a mistake says, and what an interruption leaves."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from tests.cli.conftest import Finished
from tests.cli.pseudo_terminal import on_a_terminal
from tests.support.commands import (
    SKILLOPT,
    TINY,
    Command,
    at_server,
    clean_environment,
    in_a_process,
    write_tiny_run,
)
from tests.support.runs import SMALL, read_json, views, write_run

from skillopt.cli.main import run
from skillopt.simulation.server import SimulatedServer
from skillopt.simulation.weather import Call
from skillopt.wording import simulated_notice


def test_a_finished_training_says_how_it_went(finished: Finished) -> None:
    code, said, error = finished.said
    assert (code, error) == (0, "")
    lines = said.splitlines()
    assert lines[0] == simulated_notice()
    assert lines[1] == "Training in 'run': 8 steps; tasks: train 16, val 8, test 8"
    history = read_json(finished.directory / "history.json")
    assert [int(line.split()[1]) for line in lines if line.startswith("step ")] == [
        record["step"] for record in history[1:]
    ]
    first = history[1]
    assert (
        f"step 1 (epoch 1): train {first['rollout_solved']}/{first['rollout_n']}, selection {first['val_solved']}/8 "
        f"({100 * first['val_acc']:.1f} %), skill {first['skill_tokens']} tokens: {first['action']}, {first['reason']}"
    ) in lines
    (last,) = read_json(finished.directory / "summary.json")["epoch_stats"][-1:]
    grown = f"{last['skill_tokens_at_epoch_end']} after epoch {last['epoch']} ({last['skill_tokens_growth']:+d})"
    assert f"tokens (estimated): {history[0]['skill_tokens']} at the start, " in " ".join(said.split())
    assert grown in " ".join(said.split())
    assert f"\nimproved: {read_json(finished.directory / 'summary.json')['message']}\n" in said


def test_a_stage_is_told_with_its_last_call_counted(finished: Finished) -> None:
    """The baseline asks one call for each of the 8 selection tasks."""
    assert re.search(
        r"^  baseline 8/8  8 calls used, 8 paid now, [\d,]+ tokens, \$0\.00$", finished.said[1], re.MULTILINE
    )


def test_the_same_command_again_pays_nothing(command: Command, tmp_path: Path) -> None:
    config = write_tiny_run(tmp_path)
    first = command("train", config)
    again = command("train", config)
    assert first[0] == again[0] == 0
    assert " 0 paid now" not in first[1]
    assert set(re.findall(r" (\d+) paid now", again[1])) == {"0"}
    ending = "improved: "
    assert first[1][first[1].index(ending) :] == again[1][again[1].index(ending) :]


def test_other_settings_on_a_run_directory_are_refused_with_the_differences(command: Command, tmp_path: Path) -> None:
    """F87: the run is not gone on with under other settings without a word."""
    config = write_tiny_run(tmp_path)
    assert command("train", config)[0] == 0
    before = views(tmp_path / "run")
    code, said, error = command("train", config, "train.seed=7", "evaluation.gate_metric=soft")
    assert (code, said) == (1, "")
    assert "train.seed: 42 -> 7" in error and 'evaluation.gate_metric: "hard" -> "soft"' in error
    assert "env.out_root" in error
    assert views(tmp_path / "run") == before


def test_a_dry_run_shows_the_plan_and_asks_nobody(command: Command, tmp_path: Path, httpserver: HTTPServer) -> None:
    config = write_tiny_run(tmp_path, **at_server(httpserver.url_for("/v1")))
    code, said, _ = command("train", config, "--dry-run")
    assert (code, httpserver.log) == (0, [])
    assert "Plan: 1 step" in said
    assert not (tmp_path / "run").exists()


def test_the_end_that_is_not_an_improvement_has_its_code_and_advice(command: Command, tmp_path: Path) -> None:
    """F10, F143: nothing was proposed, and the report says what to look at."""
    config = write_tiny_run(tmp_path)
    code, said, _ = command("train", config, "optimizer.learning_rate=0", "optimizer.min_learning_rate=0")
    assert code == 11
    assert "no_candidates: No step made a skill that differs from the seed." in said
    assert "+++" not in said and "Held out" not in said


def test_a_model_that_never_answers_ends_the_training_in_its_own_words(
    command: Command, tmp_path: Path, httpserver: HTTPServer
) -> None:
    """F2: 401 on the baseline ends the run at once; no score is written."""
    httpserver.expect_request("/v1/chat/completions").respond_with_json({"error": "bad key"}, status=401)
    code, _, error = command("train", write_tiny_run(tmp_path, **at_server(httpserver.url_for("/v1"))))
    assert code == 13
    assert "401" in error and "bad key" in error and "Traceback" not in error
    assert not (tmp_path / "run" / "history.json").exists()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["nope.yaml"], 1, "nope.yaml"),
        (["."], 1, "is a directory and not a configuration file"),
        ([], 2, "no configuration file is named"),
        (["config.yaml", "train.batch=1"], 1, "did you mean train.batch_size"),
        (["config.yaml", "env.out_root=config.yaml"], 1, "config.yaml"),
        (["config.yaml", "model.target=openai:gpt-5.5"], 1, "OPENAI_API_KEY is not set"),
    ],
)
def test_a_mistake_is_one_message_and_no_traceback(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], code: int, message: str
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    write_tiny_run(tmp_path)
    result, _, error = command("train", *words)
    assert result == code
    assert error.startswith("error: ") and message in error


def test_json_events_are_utf_8_lines_and_nothing_else(tmp_path: Path) -> None:
    """Also on a terminal that knows ASCII alone: what reads JSON must get JSON."""
    config = write_tiny_run(tmp_path / "työ", env__out_root="käynti")
    code, said, error = in_a_process("train", config, "--json", cwd=tmp_path, environment={"PYTHONIOENCODING": "ascii"})
    events = [json.loads(line) for line in said.splitlines()]
    assert (code, error) == (0, "")
    assert events[0]["event"] == "RunStarted" and events[0]["run_directory"] == "käynti"
    assert events[-1]["event"] == "RunEnded" and events[-1]["state"] == "improved"
    assert [event["sequence"] for event in events] == list(range(len(events)))


def test_a_reader_that_goes_away_does_not_end_the_training(tmp_path: Path) -> None:
    config = write_tiny_run(tmp_path)
    process = subprocess.Popen(
        [*SKILLOPT, "train", str(config)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path
    )
    assert process.stdout and process.stderr
    process.stdout.readline()
    process.stdout.close()
    error = process.stderr.read()
    process.stderr.close()
    assert (process.wait(), error) == (0, b"")
    assert (tmp_path / "run" / "summary.json").is_file()


@pytest.mark.parametrize(("columns", "no_colour"), [(24, {"NO_COLOR": "1"}), (100, {})])
def test_the_live_view_fits_its_window(tmp_path: Path, columns: int, no_colour: dict[str, str]) -> None:
    config = write_tiny_run(tmp_path)
    code, said = on_a_terminal("train", config, columns=columns, cwd=tmp_path, environment=no_colour)
    assert code == 0
    assert bool(re.search(r"\x1b\[[0-9;]*3\d[0-9;]*m", said)) == (not no_colour)
    shown = " ".join(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", said).split())
    assert "baseline: selection 0/4 (0.0 %)" in shown
    assert "step 1/1 (epoch 1)" in shown
    assert "improved: Read best_skill.md" in shown
    assert "Traceback" not in said


def test_a_terminal_that_cannot_be_written_over_gets_lines(tmp_path: Path) -> None:
    code, said = on_a_terminal(
        "train", write_tiny_run(tmp_path), columns=80, cwd=tmp_path, environment={"TERM": "dumb"}
    )
    assert code == 0
    assert "\x1b[" not in said
    assert "  rollout 4/4" in said


@contextmanager
def training(config: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A training in a process of its own, which does not outlive the block."""
    process = subprocess.Popen(
        [*SKILLOPT, "train", str(config)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_environment()
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.skipif(os.name != "posix", reason="a signal that only POSIX has")
async def test_ctrl_c_is_a_message_and_130_and_the_run_goes_on(tmp_path: Path) -> None:
    """The process stops in the middle of step 1; the finished run is the one that was never stopped."""
    at_work, go_on = asyncio.Event(), asyncio.Event()

    async def hold_the_seventh(call: Call) -> None:
        if call.number == 6 and not go_on.is_set():
            at_work.set()
            await go_on.wait()

    def comparable(directory: Path) -> dict[str, Any]:
        return {name: held for name, held in views(directory).items() if name != "split_manifest.json"}

    async with SimulatedServer(SMALL, delay=hold_the_seventh) as server:
        settings = {**TINY, "env.workers": 1}
        stopped, whole = (write_run(tmp_path / name, server=server, settings=settings) for name in ("stopped", "whole"))
        with training(stopped) as process:
            await at_work.wait()
            process.send_signal(signal.SIGINT)
            _, error = await asyncio.to_thread(process.communicate)
        assert process.returncode == 130
        assert error.decode() == (
            "interrupted (SIGINT)\nWhat was recorded is kept: run the same command again to go on.\n"
        )
        go_on.set()
        assert await asyncio.to_thread(run, ["train", str(stopped)]) == 0
        in_all = len(server.calls) - 1  # the one that was held was asked again
        assert await asyncio.to_thread(run, ["train", str(whole)]) == 0
        assert len(server.calls) - 1 - in_all == in_all
    assert comparable(stopped.parent / "run") == comparable(whole.parent / "run")


def test_a_plan_has_no_events(command: Command, tmp_path: Path) -> None:
    code, said, error = command("train", write_tiny_run(tmp_path), "--dry-run", "--json")
    assert (code, said) == (2, "")
    assert "--dry-run and --json do not go together" in error


def test_a_dry_run_of_a_fork_checks_the_fork_as_a_start_does(command: Command, tmp_path: Path) -> None:
    config = write_tiny_run(tmp_path)
    code, _, error = command("train", config, "--dry-run", "--fork", tmp_path / "fork")
    assert code == 1 and "is no run directory: it has no evidence.sqlite" in error
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "stranger").touch()
    code, _, error = command("train", config, "--dry-run", "--fork", tmp_path / "full")
    assert code == 1 and "is not empty (stranger)" in error
