"""The settings of the built-in scorers, and the one place that turns them into a scorer.

An environment of your own gets all of them by making `ScorerSettings` the base of its settings and calling
`build_scorer`. An option that the chosen scorer does not read is an error, so that none is set in vain.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import Annotated, Self

from pydantic import ConfigDict, Field, field_validator, model_validator

from skillopt.environments.base import EnvironmentSettings
from skillopt.environments.patterns import check_pattern
from skillopt.environments.python_code import FUNCTION
from skillopt.environments.scorers.base import Scorer
from skillopt.environments.scorers.choice import Choice
from skillopt.environments.scorers.json_fields import ExtraFields, JsonFields
from skillopt.environments.scorers.number import DecimalMark, Number, Units
from skillopt.environments.scorers.pattern import Pattern, PatternMatch
from skillopt.environments.scorers.python_function import load_function
from skillopt.environments.scorers.text import Anls, Exact, Normalise, TokenF1


class ScorerSettings(EnvironmentSettings):
    """Which scorer compares an answer with the field `answer`, and its options."""

    model_config = ConfigDict(strict=True)

    scorer: str = "exact"
    """exact, f1, anls, number, choice, pattern, json, or a Python function: module:function or file.py:function."""
    normalise: Normalise = "squad"
    """exact: what two texts may differ in and be equal. squad: case, punctuation, articles and spacing; case: case and
    spacing; spaces: spacing; none: nothing."""
    tolerance: Annotated[float, Field(ge=0.0, allow_inf_nan=False)] = 0.0
    """number: largest absolute difference that is still right."""
    relative_tolerance: Annotated[float, Field(ge=0.0, allow_inf_nan=False)] = 0.0
    """number: largest difference that is still right, as a share of the expected number."""
    units: Units = "ignore"
    """number: ignore units; match: the expected answer's unit must be there; convert: by unit_factors."""
    unit_factors: dict[str, Annotated[float, Field(gt=0.0, allow_inf_nan=False)]] = Field(default_factory=dict)
    """number: for units convert, the factor of each unit to a common one, such as {m: 1, km: 1000}."""
    decimal_mark: DecimalMark = "point"
    """number: point reads 1,234.5 and comma reads 1.234,5."""
    pattern: str = ""
    """pattern: one regular expression for all tasks; {answer} in it stands for the task's answer, taken literally.
    By default each task's answer is itself an expression."""
    pattern_match: PatternMatch = "full"
    """pattern: full if the whole answer must match, search if a part is enough."""
    json_fields: Annotated[tuple[str, ...], Field(strict=False)] = ()
    """json: names of the fields to compare; empty compares all of the expected object."""
    extra_fields: ExtraFields = "forbid"
    """json: whether an answer may hold fields that were not expected, where all fields are compared."""

    @field_validator("scorer")
    @classmethod
    def _known_scorer(cls, scorer: str) -> str:
        if scorer in SCORERS or FUNCTION.fullmatch(scorer):
            return scorer
        close = difflib.get_close_matches(scorer, SCORERS, n=1)
        raise ValueError(
            f"there is no scorer {scorer!r}; "
            + (f"did you mean {close[0]!r}? " if close else "")
            + f"known: {', '.join(SCORERS)}, module:function, file.py:function"
        )

    # An environment that extends these settings may bring a pattern of its own.
    @field_validator("pattern", "answer_pattern", check_fields=False)
    @classmethod
    def _compiles(cls, pattern: str) -> str:
        try:
            check_pattern(pattern)
        except ValueError as error:
            raise ValueError(f"{pattern!r} is no regular expression: {error}") from error
        return pattern

    @model_validator(mode="after")
    def _options_belong_to_the_scorer(self) -> Self:
        for scorer, options in OPTIONS.items():
            for option in options:
                default = ScorerSettings.model_fields[option].get_default(call_default_factory=True)
                if scorer != self.scorer and getattr(self, option) != default:
                    raise ValueError(f"{option} is an option of scorer {scorer}, and the scorer is {self.scorer}")
        if (self.units == "convert") != bool(self.unit_factors):
            raise ValueError(f"units convert and unit_factors go together, and units is {self.units}")
        return self


OPTIONS: Mapping[str, tuple[str, ...]] = {
    "exact": ("normalise",),
    "number": ("tolerance", "relative_tolerance", "units", "unit_factors", "decimal_mark"),
    "pattern": ("pattern", "pattern_match"),
    "json": ("json_fields", "extra_fields"),
}
"""The options that a scorer reads, by scorer."""

SCORERS: Mapping[str, Callable[[ScorerSettings], Scorer]] = {
    "exact": lambda settings: Exact(settings.normalise),
    "f1": lambda _: TokenF1(),
    "anls": lambda _: Anls(),
    "number": lambda settings: Number(
        settings.tolerance, settings.relative_tolerance, settings.units, settings.unit_factors, settings.decimal_mark
    ),
    "choice": lambda _: Choice(),
    "pattern": lambda settings: Pattern(settings.pattern, settings.pattern_match),
    "json": lambda settings: JsonFields(settings.json_fields, settings.extra_fields),
}
"""How each built-in scorer is made from the settings."""


def build_scorer(settings: ScorerSettings) -> Scorer:
    """Return the scorer that the settings name.

    Raises:
        EnvironmentLoadError: If it is a Python function that cannot be loaded.
    """
    make = SCORERS.get(settings.scorer)
    return make(settings) if make else load_function(settings.scorer)
