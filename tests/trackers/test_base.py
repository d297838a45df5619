"""What a tracker is to the package; that the four are such is shown in their own tests."""

from __future__ import annotations

import sys

import skillopt
from skillopt.trackers.base import Opened, loaded


def test_only_what_the_program_has_imported_is_looked_at() -> None:
    assert loaded("skillopt") is skillopt
    assert loaded("antigravity") is None
    assert "antigravity" not in sys.modules


def test_a_run_does_not_say_how_many_steps_it_has_unless_it_can() -> None:
    assert Opened("1", known=True).steps is None
