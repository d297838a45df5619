"""What a training draws of itself besides its records."""

from __future__ import annotations

from skillopt.config.section import Section


class ReportSettings(Section):
    """What is drawn at the end of a training; it changes nothing that is measured."""

    picture: bool = True
    """Write training_dashboard.png at the end: scores, edits and spending over the steps. `skillopt report` draws it in
    any case."""
