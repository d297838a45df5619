"""What all sections of a configuration share: frozen, strict, no unknown keys, and the kinds of values."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

Share = Annotated[float, Field(ge=0.0, le=1.0)]
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]


def _three_parts(ratio: str) -> str:
    if not re.fullmatch(r"[1-9][0-9]{0,8}(:[1-9][0-9]{0,8}){2}", ratio):
        raise ValueError("it must be three whole numbers above 0, such as 2:1:7")
    return ratio


def _names_a_function(reference: str) -> str:
    if not re.fullmatch(r".+:[^\W\d]\w*", reference):
        raise ValueError("it must name a function, as module:function or file.py:function")
    return reference


FunctionName = Annotated[str, AfterValidator(_names_a_function)]
Ratio = Annotated[str, AfterValidator(_three_parts)]


class Section(BaseModel):
    """Base of every section: frozen, and an unknown key is an error."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False, use_attribute_docstrings=True
    )
