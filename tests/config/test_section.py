"""What all sections share."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from skillopt.config.section import Count, Section


class Portions(Section):
    size: Count = 1


@pytest.mark.parametrize("values", [{"sise": 1}, {"size": "1"}, {"size": -1}, {"size": 1.5}, {"size": True}])
def test_an_unknown_key_and_a_value_of_another_kind_are_errors(values: dict[str, object]) -> None:
    """F76: what would be dropped or guessed elsewhere is an error here."""
    with pytest.raises(ValidationError):
        Portions.model_validate(values)
