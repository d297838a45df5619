"""What the real trackers have in their local stores, read back by their own formats."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from skillopt.trackers.told import End, Point, Start, Status

PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452000000020000000108020000007b40e8dd")
"""The beginning of a picture, two pixels wide and one high."""


def a_start(directory: Path, **settings: Any) -> Start:
    """What is known at the start of a run in a directory that is called run."""
    return Start("run", directory, {"train.seed": 7, "env.fields": {}, **settings}, simulated=True)


POINTS = (
    Point(0, {"scores/best": 0.25, "spend/target_tokens": 100.0}),
    Point(1, {"scores/best": 0.5, "spend/target_tokens": 250.0, "scores/train": 0.0}),
)


def an_end_with_files(directory: Path) -> End:
    """An end at step 1 with two skills and a picture."""
    texts = {"skills/skill_v0000.md": "# Seed\n", "best_skill.md": "# Best\n\n| a | b |\n"}
    for name, text in texts.items():
        (directory / name).parent.mkdir(exist_ok=True)
        (directory / name).write_text(text, "utf-8")
    (directory / "training_dashboard.png").write_bytes(PNG)
    files = {name: directory / name for name in (*texts, "training_dashboard.png")}
    return End(1, Status.FINISHED, {"state": "improved", "test.best": "6/8 (75.0 %)"}, {"final/test_best": 0.75}, files)


def keep_apart(monkeypatch: pytest.MonkeyPatch, directory: Path) -> None:
    """Keep what the trackers' libraries write outside of a run in a directory of the test's own."""
    import trackio  # noqa: F401 - so that its modules are there

    for name, module in list(sys.modules.items()):
        if name.split(".")[0] == "trackio" and hasattr(module, "TRACKIO_DIR"):
            monkeypatch.setattr(module, "TRACKIO_DIR", directory / "trackio")
    for kind in ("CACHE", "CONFIG", "DATA"):
        monkeypatch.setenv(f"WANDB_{kind}_DIR", str(directory / f"wandb_{kind.lower()}"))


@dataclass
class Found:
    """What a run has in a tracker.

    Attributes:
        steps: For each number the steps and values it was told, in their order.
        words: Tags, summary or texts.
    """

    steps: dict[str, list[tuple[int, float]]] = field(default_factory=dict[str, list[tuple[int, float]]])
    words: dict[str, Any] = field(default_factory=dict[str, Any])

    def add(self, name: str, step: int, value: float) -> None:
        self.steps.setdefault(name, []).append((step, value))


def in_tensorboard(directory: Path) -> Found:
    """What a reader of event files has after all of a directory, in the order of their names."""
    from tensorboardX.proto.event_pb2 import Event

    found = Found()
    for file in sorted(directory.glob("events.out.tfevents.*")):
        for data in _tf_records(file.read_bytes()):
            event = Event.FromString(data)
            if event.HasField("session_log"):
                kept = {name: [one for one in all_ if one[0] < event.step] for name, all_ in found.steps.items()}
                found.steps = {name: all_ for name, all_ in kept.items() if all_}
            for value in event.summary.value:
                if value.HasField("simple_value"):
                    found.add(value.tag, event.step, value.simple_value)
                elif value.HasField("image"):
                    found.words[value.tag] = (value.image.width, value.image.height, value.image.encoded_image_string)
                else:
                    found.words[f"{value.tag.removesuffix('/text_summary')} {event.step}"] = value.tensor.string_val[
                        0
                    ].decode()
    return found


def _tf_records(raw: bytes) -> Iterator[bytes]:
    at = 0
    while at + 16 <= len(raw):
        (length,) = struct.unpack("<Q", raw[at : at + 8])
        if at + 16 + length > len(raw):  # A full disk, or a kill: a reader goes on with the next file.
            return
        yield raw[at + 12 : at + 12 + length]
        at += 16 + length


def in_wandb(directory: Path) -> Found:
    """What the files of one offline run say, all of its starts together."""
    import wandb
    from wandb.proto.wandb_internal_pb2 import Record

    wandb.teardown()  # A run that is finished is written within moments; now it is written.
    found = Found()
    for file in sorted(directory.glob("wandb/offline-run-*/*.wandb")):
        for data in _log_records(file.read_bytes()):
            record = Record.FromString(data)
            match record.WhichOneof("record_type"):
                case "history":
                    row = {item.nested_key[0]: json.loads(item.value_json) for item in record.history.item}
                    step = row.pop("skillopt_step")
                    for name, value in row.items():
                        if not name.startswith("_"):
                            found.add(name, step, value)
                case "summary":
                    found.words |= {one.key: json.loads(one.value_json) for one in record.summary.update if one.key}
                case "run":
                    found.words |= {f"config {one.key}": json.loads(one.value_json) for one in record.run.config.update}
                    found.words |= {"name": record.run.display_name, "project": record.run.project}
                    found.words |= {"tags": list(record.run.tags), "host": record.run.host}
                case "artifact":
                    found.words["files"] = [entry.path for entry in record.artifact.manifest.contents]
                case "exit":
                    found.words["exit"] = record.exit.exit_code
                case _:
                    pass
    return found


def _log_records(raw: bytes) -> Iterator[bytes]:
    """The records of a file in LevelDB's log format, behind seven bytes of its own."""
    at, part = 7, b""
    while at + 7 <= len(raw):
        left = 32768 - at % 32768
        if left < 7:
            at += left
            continue
        length, kind = struct.unpack("<HB", raw[at + 4 : at + 7])
        part += raw[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):  # Whole, or the last part.
            yield part
            part = b""


def in_trackio(project: str, run: str) -> Found:
    """What a run has in trackio's database."""
    from trackio.sqlite_storage import SQLiteStorage

    found = Found()
    for row in SQLiteStorage.get_logs(project, None, run_id=run):
        for name, value in row.items():
            if isinstance(value, int | float) and name not in ("step",):
                found.add(name, row["step"], value)
    found.words = dict(SQLiteStorage.get_run_config(project, None, run_id=run) or {})
    return found


def in_mlflow(uri: str, run: str) -> Found:
    """What a run has in MLflow's store; parameters and tags are its words."""
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=uri)
    data = client.get_run(run).data
    found = Found(words={**data.params, **data.tags})
    for name in data.metrics:
        for metric in client.get_metric_history(run, name):
            found.add(name, metric.step, metric.value)
    return found


def mlflow_store(directory: Path, experiment: str = "skillopt") -> str:
    """A store of MLflow in a directory, artifacts and all; return its address."""
    from mlflow import MlflowClient

    uri = f"sqlite:///{directory / 'mlflow.db'}"
    MlflowClient(tracking_uri=uri).create_experiment(experiment, artifact_location=(directory / "artifacts").as_uri())
    return uri


def asked_beyond_this_machine(tracker: str, run: Path) -> list[str]:
    """Return whom a process of its own looks up or connects to while it tells a tracker of a run, but for this machine.

    Libraries keep quiet to those who make them where they find that they are tested, so nothing says so there.

    Args:
        tracker: An expression that makes it, of the names that the script below knows.
        run: The run directory; the home directory is its parent.
    """
    environment = {name: value for name, value in os.environ.items() if name not in ("CI", "PYTEST_CURRENT_TEST")}
    environment |= {"HOME": str(run.parent), "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-W", "ignore", "-c", _WATCHED, str(run), tracker]
    told = subprocess.run(command, env=environment, cwd=run.parent, check=True, capture_output=True, text=True)
    return told.stdout.splitlines()


_WATCHED = """
import sys
from pathlib import Path

def watch(event, arguments):
    if event == "socket.getaddrinfo":
        print(arguments[0], flush=True)
    elif event == "socket.connect" and isinstance(arguments[1], tuple):
        print(arguments[1][0], flush=True)

sys.addaudithook(watch)
from tests.support.tracked import POINTS, a_start, an_end_with_files
from skillopt.config.tracker_settings import MlflowSettings, WandbSettings
from skillopt.trackers.mlflow_tracker import MlflowTracker
from skillopt.trackers.told import Status
from skillopt.trackers.wandb_tracker import WandbTracker

run, tracker = Path(sys.argv[1]), eval(sys.argv[2])
tracker.open(a_start(run), None, told=0)
for point in POINTS:
    tracker.log(point)
tracker.end(an_end_with_files(run))
tracker.close(Status.FINISHED)
"""
