"""What a training draws of itself; that the setting is obeyed is shown in `tests/test_api.py`."""

from __future__ import annotations

from skillopt.config.report_settings import ReportSettings


def test_a_picture_is_drawn_unless_it_is_not_wanted() -> None:
    assert ReportSettings().picture
    assert not ReportSettings(picture=False).picture
