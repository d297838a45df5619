r"""The scorer that compares numbers, exactly unless a tolerance is set.

What is read as a number: signs (also U+2212), decimals, thousands separated by commas, apostrophes or thin spaces
(`1,234.50`, `1'234`), the forms that can only be European (`1.234,50`, `1.234.567`), fractions (`3/4`, `1 1/2`, `½`,
`\frac{3}{4}`), powers of ten (`1.2e3`, `5 * 10^3`), with a currency sign ahead or a unit behind. Where an answer holds
several numbers, the last one counts. A percent sign is a unit: 50% is the number 50.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, TypeAlias

from skillopt.environments.scorers.base import Scorer, data_error, gold_texts, shown, verdict
from skillopt.types import Score, Task, Trajectory

DecimalMark: TypeAlias = Literal["point", "comma"]
Units: TypeAlias = Literal["ignore", "match", "convert"]
"""How units count: not at all, by name, or by factors to a common unit."""

LONGEST_SEARCHED = 10_000
"""Characters of an answer in which a number is looked for, counted from its end."""

_GROUPED = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d)"
_EUROPEAN = r"\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,}(?!\d)"
_FRACTION = r"(?<!\d/)(?:\d{1,9}\s+)?\d+/\d+(?![\d/])"
_PLAIN = r"\d+(?:\.\d+)?|\.\d+"
_NUMBER = re.compile(
    rf"""(?P<sign>(?<![A-Za-z0-9_)\]])[-+])?
    (?:(?P<currency>[$€£¥₹])\s?)?
    (?P<inner_sign>(?<![A-Za-z0-9_)\]])[-+])?
    (?<![A-Za-z0-9_])(?<!\d\.)
    (?P<body>{_FRACTION}|{_EUROPEAN}|{_GROUPED}|{_PLAIN})
    (?:[eE](?P<exponent>[-+]?\d{{1,3}})(?!\w))?
    \s?(?P<unit>%|°\s?[CF]?|[$€£¥₹]|[^\W\d_]+(?:[/^][^\W_]+|\d(?!\d))*)?""",
    re.VERBOSE,
)
_LONGEST_BODY = 400  # digits; more is no number a person wrote
_POWER_OF_TEN = re.compile(
    r"(?:(?P<times>(?<=\d)\s?[x\u00d7*·]\s?)|(?<![\w.]))10\s?(?:\^|\*\*)\s?\{?(?P<power>[-+]?\d{1,3})\}?(?!\d)"
)
_SAME_UNIT = {
    "percent": "%", "dollar": "$", "dollars": "$", "usd": "$", "euro": "€", "euros": "€", "eur": "€",
}  # fmt: skip
_SUPERSCRIPT = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number and the unit beside it.

    Attributes:
        value: The number, exact.
        unit: The unit as written, or its sign for percent, dollars and euros; "" where there is none.
    """

    value: Fraction
    unit: str = ""


def last_number(text: str, *, decimal_mark: DecimalMark = "point") -> Quantity | None:
    """Return the last number in a text, with its unit; None where there is none.

    Args:
        text: Any text.
        decimal_mark: "comma" reads `3,5` as three and a half and `1.234` as a thousand and more; "point" the reverse.
    """
    found: Quantity | None = None
    for match in _NUMBER.finditer(_plain(text[-LONGEST_SEARCHED:], decimal_mark)):
        found = _quantity(match) or found
    return found


def _quantity(match: re.Match[str]) -> Quantity | None:
    body = match["body"]
    if len(body) > _LONGEST_BODY:
        return None
    whole, _, fraction = body.rpartition(" ") if "/" in body else ("", "", body)
    if "," in fraction and "." in fraction and fraction.rindex(",") > fraction.rindex("."):
        fraction = fraction.replace(".", "").replace(",", ".")  # 1.234,50
    elif fraction.count(".") > 1:
        fraction = fraction.replace(".", "")  # 1.234.567
    try:
        value = Fraction(whole.strip() or 0) + Fraction(fraction.replace(",", ""))
    except ZeroDivisionError:
        return None
    if match["exponent"]:
        value *= Fraction(10) ** int(match["exponent"])
    if "-" in (match["sign"], match["inner_sign"]):
        value = -value
    return Quantity(value, _unit(match["currency"] or match["unit"] or ""))


def _plain(text: str, decimal_mark: DecimalMark) -> str:
    """Bring the ways to write a number down to a few."""
    text = re.sub(r"(?<=\d)(?=[¼½¾⅐-⅞])", " ", text)
    text = re.sub(r"(?<=10)[⁻⁺⁰¹²³⁴-⁹]+", lambda power: "^" + power[0].translate(_SUPERSCRIPT), text)
    text = re.sub(r"(?<=\d)(?:[\u00a0\u202f\u2009'\u2019_]|\\,)(?=\d{3}(?!\d))", "", text)
    text = unicodedata.normalize("NFKC", text).replace("\u2212", "-").replace("\u2044", "/").replace("{,}", ",")
    text = re.sub(r"(?<=\d)\\[dt]?frac(?=\{)", r" \\frac", text)
    text = re.sub(r"\\[dt]?frac\{(\d+)\}\{(\d+)\}", r"\1/\2", text)
    text = re.sub(r"\\(?:text|mathrm)\{\s*+([^{}]*+)\}", r"\1", text).replace("\\times", "*").replace("\\cdot", "*")
    text = text.replace("\\%", "%").replace("\\$", "$")
    text = _POWER_OF_TEN.sub(lambda found: f"{'' if found['times'] else '1'}e{found['power']}", text).replace("**", " ")
    if not text.isascii():
        text = "".join(str(unicodedata.decimal(character, character)) for character in text)
    if decimal_mark == "comma":
        text = re.sub(r"(?<=\d)[.,](?=\d)", lambda mark: "," if mark[0] == "." else ".", text)
    return text


@dataclass(frozen=True)
class Number(Scorer):
    """Solved if the last number of the answer is an expected one; no partial credit.

    Attributes:
        tolerance: Largest absolute difference that is still equal, in the gold answer's unit.
        relative_tolerance: Largest difference as a share of the expected number; the wider of the two counts.
        units: "ignore"; "match": a unit beside the expected number must be beside the answer's; "convert": both numbers
            are multiplied by the factors of their units.
        unit_factors: For "convert", by unit. A missing unit has the factor 1; an unlisted one must be in both.
        decimal_mark: How digits are grouped.
    """

    tolerance: float = 0.0
    relative_tolerance: float = 0.0
    units: Units = "ignore"
    unit_factors: Mapping[str, float] = field(default_factory=dict[str, float])
    decimal_mark: DecimalMark = "point"

    @property
    def rule(self) -> str:
        """The last number, and how near it must be."""
        near = [f"{self.tolerance:g}"] if self.tolerance else []
        near += [f"{self.relative_tolerance:.3g} of it"] if self.relative_tolerance else []
        within = f" within {' or '.join(near)}" if near else ""
        unit = "" if self.units == "ignore" else ", with its unit"
        return f"its last number equals the expected one{within}{unit}"

    def check(self, task: Task) -> None:
        """Every accepted answer must hold a number."""
        self._golds(task)

    def score(self, predicted: str, task: Task, trajectory: Trajectory) -> Score:
        """Compare the last number of the answer with each accepted one."""
        texts = gold_texts(task)
        answer = last_number(predicted, decimal_mark=self.decimal_mark)
        if answer is None:
            return verdict(texts, predicted, soft=0.0, hard=False, note="it holds no number" if predicted else "")
        faults = [self._fault(answer, gold) for gold in self._golds(task)]
        solved = "" in faults
        read = _written(answer)
        notes = [] if read == predicted else [f"read as {read}"]
        notes += [] if solved else [fault for fault in faults[:1] if fault != "another number"]
        return verdict(texts, predicted, soft=float(solved), hard=solved, note="; ".join(notes))

    def _golds(self, task: Task) -> tuple[Quantity, ...]:
        golds: list[Quantity] = []
        for text in gold_texts(task):
            gold = last_number(text, decimal_mark=self.decimal_mark)
            if gold is None:
                raise data_error(task, f"the answer '{shown(text)}' holds no number, and the scorer is number")
            golds.append(gold)
        return tuple(golds)

    def _fault(self, answer: Quantity, gold: Quantity) -> str:
        """Return what keeps an answer from being this one; "" if nothing does."""
        value, wanted, factor = answer.value, gold.value, Fraction(1)
        if self.units == "convert":
            ours, theirs = self._factor(answer.unit), self._factor(gold.unit)
            if (ours is None or theirs is None) and answer.unit != gold.unit:
                return _other_unit(answer, gold)
            factor = theirs or factor
            value, wanted = value * (ours or 1), wanted * factor
        elif self.units == "match" and gold.unit and answer.unit != gold.unit:
            return _other_unit(answer, gold)
        allowed = max(_fraction(self.tolerance) * abs(factor), _fraction(self.relative_tolerance) * abs(wanted))
        return "" if abs(value - wanted) <= allowed else "another number"

    def _factor(self, unit: str) -> Fraction | None:
        if not unit:
            return Fraction(1)
        by_unit = {_unit(name): factor for name, factor in self.unit_factors.items()}
        return _fraction(by_unit[unit]) if unit in by_unit else None


def _fraction(number: float) -> Fraction:
    return Fraction(repr(number))  # 0.1 is a tenth, as it was written


def _other_unit(answer: Quantity, gold: Quantity) -> str:
    return f"the unit is {answer.unit!r}, not {gold.unit!r}" if answer.unit else f"the unit {gold.unit!r} is missing"


def _unit(written: str) -> str:
    unit = unicodedata.normalize("NFKC", written).replace(" ", "")
    return _SAME_UNIT.get(unit.lower(), unit)


def _written(quantity: Quantity) -> str:
    value = quantity.value
    try:
        number = str(value) if value.denominator == 1 and abs(value) < 10**12 else f"{float(value):.10g}"
    except OverflowError:
        number = "a number beyond 1e308"
    return f"{number} {quantity.unit}".strip()
