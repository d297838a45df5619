"""Simulated models by name."""

from __future__ import annotations

import pytest

from skillopt.errors import ConfigError
from skillopt.simulation.opening import open_simulated
from skillopt.simulation.optimizer import SimulatedOptimizer
from skillopt.simulation.target import SimulatedTarget
from skillopt.simulation.world import World


@pytest.mark.parametrize("prefix", ["", "simulated:"])
def test_a_name_with_parameters_opens_that_model(prefix: str) -> None:
    target = open_simulated(f"{prefix}target?seed=7&noise=0.1&lapse=0.3&rules=6&tasks=30&rules_per_task=2")
    wanted = SimulatedTarget(World(7, rules=6, tasks=30, rules_per_task=2), noise=0.1, lapse=0.3)
    assert target.identity == wanted.identity
    optimizer = open_simulated(f"{prefix}optimizer?useful=1&useless=0&harmful=0&malformed=0.5&most_edits=2")
    assert (
        optimizer.identity
        == SimulatedOptimizer(World(), useful=1.0, useless=0.0, harmful=0.0, malformed=0.5, most_edits=2).identity
    )


def test_a_bare_name_takes_every_default() -> None:
    assert open_simulated("target").identity == SimulatedTarget(World()).identity
    assert open_simulated("optimizer").identity == SimulatedOptimizer(World()).identity


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("simulated:targt", "Did you mean simulated:target?"),
        ("simulated:", "There are: simulated:target, simulated:optimizer."),
        ("target?nois=0.1", "Did you mean noise?"),
        ("target?useful=0.1", "no parameter 'useful'"),
        ("target?seed=7&seed=8", "stands there twice"),
        ("target?seed=x", "seed is 'x'; it must be a whole number"),
        ("target?seed=1.5", "seed is '1.5'; it must be a whole number"),
        ("target?noise=", "noise is ''; it must be a number"),
        ("target?lapse=2", "lapse is 2.0; it must be a number from 0 to 1"),
        ("target?noise=nan", "noise is nan; it must be a number from 0 to 1"),
        ("target?noise", "NAME=VALUE"),
        ("target?rules=0", "rules is 0"),
        ("optimizer?most_edits=0", "most_edits is 0"),
        ("optimizer?useful=0&useless=0&harmful=0", "all 0"),
    ],
)
def test_a_wrong_name_or_value_is_an_error_that_says_what_to_write(name: str, says: str) -> None:
    with pytest.raises(ConfigError) as raised:
        open_simulated(name)
    assert says in str(raised.value)
