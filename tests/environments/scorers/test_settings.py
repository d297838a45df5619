from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from skillopt.environments.base import EnvironmentSettings
from skillopt.environments.scorers.choice import Choice
from skillopt.environments.scorers.json_fields import JsonFields
from skillopt.environments.scorers.number import Number
from skillopt.environments.scorers.pattern import Pattern
from skillopt.environments.scorers.settings import OPTIONS, SCORERS, ScorerSettings, build_scorer
from skillopt.environments.scorers.text import Anls, Exact, TokenF1


@pytest.mark.parametrize(
    ("settings", "scorer"),
    [
        ({}, Exact("squad")),
        ({"normalise": "none"}, Exact("none")),
        ({"scorer": "f1"}, TokenF1()),
        ({"scorer": "anls"}, Anls()),
        ({"scorer": "choice"}, Choice()),
        ({"scorer": "number", "tolerance": 1, "units": "match"}, Number(tolerance=1.0, units="match")),
        ({"scorer": "number", "relative_tolerance": 0.1, "units": "convert", "unit_factors": {"m": 1},
             "decimal_mark": "comma"},
         Number(relative_tolerance=0.1, units="convert", unit_factors={"m": 1.0}, decimal_mark="comma")),
        ({"scorer": "pattern", "pattern": "x", "pattern_match": "search"}, Pattern("x", "search")),
        ({"scorer": "json", "json_fields": ["a"], "extra_fields": "allow"}, JsonFields(("a",), "allow")),
    ],
)  # fmt: skip
def test_every_option_reaches_its_scorer(settings: dict[str, Any], scorer: object) -> None:
    assert build_scorer(ScorerSettings(**settings)) == scorer


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tolerance": 0.1}, "tolerance is an option of scorer number, and the scorer is exact"),
        ({"scorer": "number", "normalise": "none"}, "normalise is an option of scorer exact"),
        ({"scorer": "f1", "normalise": "none"}, "normalise is an option of scorer exact"),
        ({"scorer": "json", "pattern": "x"}, "pattern is an option of scorer pattern"),
        ({"scorer": "a.py:f", "units": "match"}, "units is an option of scorer number"),
        ({"scorer": "numbr"}, "did you mean 'number'"),
        ({"scorer": "my file"}, "there is no scorer"),
        ({"scorer": "a.py:not a name"}, "there is no scorer"),
        ({"scorer": "pattern", "pattern": "("}, "no regular expression"),
        ({"scorer": "number", "tolerance": -1}, "tolerance"),
        ({"scorer": "number", "tolerance": float("nan")}, "tolerance"),
        ({"scorer": "number", "tolerance": True}, "tolerance"),
        ({"scorer": "number", "units": "convert", "unit_factors": {"m": 0}}, "unit_factors"),
        ({"scorer": "number", "units": "convert"}, "unit_factors go together"),
        ({"scorer": "number", "unit_factors": {"m": 1}}, "units is ignore"),
        ({"normalise": "squat"}, "normalise"),
        ({"case_sensitive": True}, "case_sensitive"),
    ],
)
def test_an_option_in_vain_or_out_of_range_is_an_error(settings: dict[str, Any], message: str) -> None:
    """More 8: no misspelt mode and no option without effect."""
    with pytest.raises(ValidationError, match=message):
        ScorerSettings(**settings)


def test_every_option_belongs_to_one_scorer_and_has_a_meaning() -> None:
    own = set(ScorerSettings.model_fields) - set(EnvironmentSettings.model_fields) - {"scorer"}
    listed = [option for options in OPTIONS.values() for option in options]
    assert sorted(listed) == sorted(own)
    assert set(OPTIONS) <= set(SCORERS)
    assert all(field.description for field in ScorerSettings.model_fields.values())


@pytest.mark.parametrize("name", SCORERS)
def test_every_scorer_says_its_rule(name: str) -> None:
    rule = build_scorer(ScorerSettings(scorer=name)).rule
    assert rule
    assert not rule.endswith(".")
