"""Limits that do not bind, or that leave too little, are told before anything is paid."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from tests.support.runs import write_run

from skillopt.config.load import load_config
from skillopt.models.prices import Prices
from skillopt.run.limit_warnings import LARGE_CALLS, large_and_unlimited, limit_warnings
from skillopt.run.plan import plan
from skillopt.run.setup import prepare

PRICED = {f"model.{role}.price": {"input": 1.0, "output": 1.0} for role in ("target", "optimizer")}


def warnings(directory: Path, **settings: Any) -> tuple[str, ...]:
    config = write_run(directory, settings={key.replace("__", "."): value for key, value in settings.items()})
    setup = prepare(load_config(config))
    prices = Prices(setup.config.model, on=date(2026, 1, 1))
    found = plan(setup, prices)
    told = limit_warnings(setup.config, found.stages, steps=found.steps, prices=prices)
    assert set(told) <= set(found.warnings)
    return told


@pytest.mark.parametrize("amount", ["calls", "tokens", "dollars"])
@pytest.mark.parametrize("scope", ["limits", "limits__target", "limits__optimizer"])
def test_a_limit_below_three_proposals_is_told_and_one_above_is_not(tmp_path: Path, amount: str, scope: str) -> None:
    low, high = {"calls": (3, 10_000), "tokens": (300, 10**8), "dollars": (0.0001, 1000.0)}[amount]
    key = f"{scope}__{amount}"
    (told,) = warnings(tmp_path / "low", **{**PRICED, key: low})
    assert told.startswith(f"{key.replace('__', '.')} {low:g} may end the training before 3 proposals")
    assert warnings(tmp_path / "high", **{**PRICED, key: high}) == ()


def test_a_limit_of_dollars_that_cannot_bind_is_told_with_the_way_out(tmp_path: Path) -> None:
    unknown = {"name": "compatible:nobody-knows", "base_url": "http://localhost:9/v1"}
    told = warnings(tmp_path, **{"limits.dollars": 5.0, "model.target": unknown})
    assert any("price of compatible:nobody-knows is not known" in one and "model.target.price" in one for one in told)
    assert not any("no limit of dollars binds the optimizer" in one for one in told)


def large(directory: Path, **settings: Any) -> str:
    setup = prepare(load_config(write_run(directory, settings=settings)))
    found = plan(setup, Prices(setup.config.model, on=date(2026, 1, 1)))
    told = large_and_unlimited(setup.config, found.stages)
    assert (told in found.warnings) == bool(told)
    assert found.large == told
    return told


def test_what_may_cost_much_and_is_not_limited_is_told(tmp_path: Path) -> None:
    """F115."""
    dear = {f"model.{role}.price": {"input": 1000.0, "output": 1000.0} for role in ("target", "optimizer")}
    assert large(tmp_path, **dear).startswith("the training may cost up to $")
    assert large(tmp_path, **dear, **{"limits.tokens": 10**9}) == ""
    assert large(tmp_path, **dear, **{"limits.minutes": 5.0}) != "", "minutes say nothing of the bill"
    assert large(tmp_path, **dear, **{"limits.target.calls": 10**6}) != "", "the optimizer is not limited"
    assert large(tmp_path, **PRICED) == ""


def test_so_are_many_calls_whose_price_is_not_known(tmp_path: Path) -> None:
    unknown = {"name": "compatible:nobody-knows", "base_url": "http://localhost:9/v1"}
    assert large(tmp_path, **{"model.target": unknown}) == ""
    many = {"train.num_epochs": LARGE_CALLS, "model.target": unknown}
    assert "calls may be paid whose price is not known" in large(tmp_path, **many)
