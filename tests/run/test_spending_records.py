"""What was used of both models, by step, role and stage."""

from __future__ import annotations

from skillopt.models.meter import MeterRow
from skillopt.run.spending_records import by_role, by_role_and_stage, spending
from skillopt.types import Usage


def test_an_unknown_price_makes_a_total_unknown_and_no_other_one() -> None:
    """F11: null, not 0."""
    rows = [
        MeterRow("target", "gate", 1, 1, Usage(2, 10, 5, 3), 0.25),
        MeterRow("target", "rollout", 1, 2, Usage(1, 7, 0, 1), 0.5),
        MeterRow("optimizer", "reflect", 1, 2, Usage(1, 7, 0, 1), None),
    ]
    assert by_role(rows)["target"]["dollars"] == 0.75
    assert by_role(rows)["optimizer"]["dollars"] is None
    spent = spending(rows, step=1)
    assert spent["total_usage"]["optimizer"]["dollars"] == 0.0
    assert spent["usage"] == {
        "target.gate": {"calls": 2, "fresh_tokens": 10, "cached_tokens": 5, "output_tokens": 3, "dollars": 0.25}
    }
    assert spent["tokens"] == {"gate": {"calls": 2, "prompt_tokens": 15, "completion_tokens": 3}}


def test_each_role_and_stage_is_summed_over_epochs_and_steps() -> None:
    rows = [MeterRow("target", "gate", epoch, epoch, Usage(2, 10, 5, 3), 0.25) for epoch in (1, 2)]
    assert by_role_and_stage(rows)["target.gate"]["calls"] == 4
    assert by_role_and_stage(rows)["target.gate"]["dollars"] == 0.5
