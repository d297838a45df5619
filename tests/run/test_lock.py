from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from skillopt.errors import RunDirectoryError
from skillopt.run.lock import LOCK_NAME, locked

HOLD = """
import sys
from pathlib import Path
from skillopt.run.lock import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_run_that_is_being_played_cannot_be_played_again(tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(RunDirectoryError, match="in use") as caught, locked(tmp_path):
        pass
    assert "env.out_root" in caught.value.hint


def test_a_directory_is_free_when_its_run_is_over_also_by_an_error(tmp_path: Path) -> None:
    with pytest.raises(KeyError), locked(tmp_path):
        raise KeyError
    with locked(tmp_path):
        pass
    assert (tmp_path / LOCK_NAME).stat().st_size == 0


def test_another_process_is_kept_out_until_it_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(RunDirectoryError, match="in use"), locked(tmp_path):
            pass
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    with locked(tmp_path):
        pass


def test_a_directory_that_is_not_there_is_an_error_for_a_person(tmp_path: Path) -> None:
    with pytest.raises(RunDirectoryError, match="cannot be opened"), locked(tmp_path / "nowhere"):
        pass
