"""The words of the simulated world."""

from __future__ import annotations

import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.simulation.records import KINDS, USELESS, WORDS, Kind, Occurrence, Rule, occurrences, plain, question

rules = st.builds(
    Rule,
    code=st.from_regex(r"[A-Z]{2}-[0-9]{2}", fullmatch=True).filter(str.isascii),
    kind=st.sampled_from(KINDS),
    word=st.sampled_from(WORDS),
    amount=st.integers(2, 89),
)


def squad(text: str) -> str:
    return "".join(text.lower().translate(str.maketrans("", "", string.punctuation)).split())


@given(rules, st.integers(100, 9999))
def test_a_mistaken_or_plain_record_differs_from_the_right_one_after_normalisation(rule: Rule, number: int) -> None:
    right = squad(rule.record(number))
    assert squad(rule.mistaken_record(number)) != right
    assert squad(str(number)) != right


@given(st.lists(st.tuples(rules, st.integers(0, 99_999)), min_size=1, max_size=4))
def test_a_question_names_what_it_asks_for(pairs: list[tuple[Rule, int]]) -> None:
    asked = question(tuple(rule for rule, _ in pairs), tuple(number for _, number in pairs))
    wanted = dict.fromkeys(Occurrence(rule.code, number) for rule, number in pairs)
    assert occurrences(f"Answer this.\n\n{asked}\nThank you.") == tuple(wanted)


@given(rules, st.integers(100, 9999))
def test_neither_rules_nor_records_read_as_questions(rule: Rule, number: int) -> None:
    assert occurrences(rule.sentence + " " + rule.record(number) + " " + rule.kind.harmful) == ()
    assert not re.search(r"\b[A-Z]{2}-[0-9]{2}\b", rule.record(number))


@pytest.mark.parametrize("sentence", [*USELESS, *(kind.harmful for kind in KINDS)])
def test_a_sentence_is_the_same_in_any_list_line_and_emphasis(sentence: str) -> None:
    first, second = sentence.split(" ", 1)
    for written in (f"- {sentence}", f"  * {first}\n    {second}", f"12. **{sentence}**", f"> {first}\r\n{second}"):
        assert plain(written) == sentence


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_the_rule_of_a_kind_holds_all_that_its_record_takes(kind: Kind) -> None:
    sentence = Rule("QX-31", kind, "ALDER", 17).sentence
    assert all(part in sentence for part in ("QX-31", "ALDER", "17"))


def test_records_follow_their_rules() -> None:
    found = {kind.name: Rule("QX-31", kind, "ALDER", 7).record(412) for kind in KINDS}
    assert found == {"gauge": "ALDER-419", "depot": "412-ALDER-7", "desk": "ALDER-2884", "bay": "7-214-ALDER"}
