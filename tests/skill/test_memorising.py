"""What a new text copies from tasks: rows of words, short texts whole, in any script."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.skill.memorising import find_copies
from skillopt.types import Copy, JsonValue, Task

WORDS = 8
LONG = "Please send twelve blue pens and two grey folders to the office in Oslo before Friday noon."

WORDS_OF_ALL_KINDS = ("blau", "grün", "漢字漢", "Straße", "12", "e\u0301te")


def task(identifier: str, **fields: JsonValue) -> Task:
    return Task(identifier, fields)


def copies(text: str, *tasks: Task, known: str = "", words: int = WORDS) -> tuple[Copy, ...]:
    return find_copies([text], known=known, tasks=tasks, words=words)[0]


def others() -> tuple[Task, ...]:
    return tuple(task(f"other-{number}", question=f"Count the items of order {number}.") for number in range(4))


def test_a_row_of_words_is_found_and_shown_as_it_stands_in_the_new_text() -> None:
    text = "For pens: `twelve BLUE pens,\n and two  grey folders to the` shelf."
    (copy,) = copies(text, *others(), task("a", question=LONG))
    assert copy == Copy("a", "twelve BLUE pens,\n and two  grey folders to the")


@pytest.mark.parametrize(("words", "found"), [(5, 1), (6, 0)])
def test_a_shorter_row_is_none(words: int, found: int) -> None:
    text = "two grey folders to the shelf: " + "x " * words
    assert len(copies(text, *others(), task("a", question=LONG), words=words)) == found


def test_rows_that_overlap_or_touch_are_one_copy_and_those_apart_are_two() -> None:
    tasks = (*others(), task("a", question=LONG))
    assert [copy.text for copy in copies(LONG, *tasks)] == [LONG.rstrip(".")]
    apart = f"{LONG[:50]} and something else in between {LONG[36:]}"
    assert len(copies(apart, *tasks)) == 2


def test_an_expected_answer_that_is_short_counts_where_it_is_copied_whole() -> None:
    tasks = (
        task("a", question="Amount: five euros", answer="EUR 5.00 net"),
        task("b", question="q", answer="12345678"),
    )
    assert copies("Write it so: eur 5.00 NET, and nothing else.", *tasks) == (Copy("a", "eur 5.00 NET"),)
    assert copies("Write EUR 5.00 gross.", *tasks) == ()
    assert copies("12345678 is it", *tasks) == (Copy("b", "12345678"),)
    assert copies("123456789 is not it", *tasks) == ()


def test_a_number_and_what_stands_in_lists_and_objects_are_texts_of_a_task() -> None:
    fields: dict[str, JsonValue] = {"answer": 31415926, "more": {"notes": ["Zanzibar", None, True]}}
    found = copies("Say 31415926 or Zanzibar or True.", task("a", **fields), *others())
    assert found == (Copy("a", "31415926"), Copy("a", "Zanzibar"))


@pytest.mark.parametrize("answer", ["M-UP", "yes", "42", ""])
def test_a_few_letters_are_hit_by_chance_and_are_no_copy(answer: str) -> None:
    assert copies(f"Answer {answer} if it is so.", task("a", answer=answer), *others()) == ()


def test_a_label_that_several_tasks_expect_belongs_to_their_kind() -> None:
    tasks = (task("a", answer="permission denied"), task("b", answer="Permission  denied"), *others())
    assert copies("Answer with permission denied.", *tasks) == ()
    assert copies("Answer with permission denied.", *tasks[1:]) == (Copy("b", "permission denied"),)


def test_what_about_every_task_has_is_their_frame_and_no_copy() -> None:
    frame = "Read the following record with care and answer in the form of the house"
    tasks = [task(str(number), question=f"{frame}: record {number}") for number in range(4)]
    assert copies(f"When told to {frame.lower()}, do so.", *tasks) == ()
    few = [*tasks[:1], *others()]
    assert [copy.task_id for copy in copies(frame, *few)] == ["0"]


def test_what_stood_in_the_skill_before_is_not_new() -> None:
    tasks = (*others(), task("a", question=LONG, answer="EUR 5.00 net"))
    known = f"- {LONG}\n- EUR 5.00 net\n"
    assert copies(f"{LONG} EUR 5.00 net", *tasks, known=known) == ()
    assert copies(f"{LONG} EUR 5.00 net", *tasks, known="- EUR 5.00 net") == (Copy("a", LONG.rstrip(".")),)


@pytest.mark.parametrize(
    ("question", "text", "copied"),
    [
        (
            "请把下面的句子翻译成英文 - 今天的天气非常好。",
            "说明 - 下面的句子翻译成英文 今天的天气非常糟",
            "下面的句子翻译成英文 今天的天气非常",
        ),
        (
            "東京から大阪まで新幹線で何時間かかりますか",
            "例 東京から大阪まで 新幹線で何時間か",
            "東京から大阪まで 新幹線で何時間か",
        ),
        (
            "Сколько стоит доставка двух коробок в город Осло до пятницы",
            "- стоит доставка двух коробок в город осло ДО",
            "стоит доставка двух коробок в город осло ДО",
        ),
        ("กรุณาส่งปากกาสีน้ำเงินสิบสองด้าม", "ส่งปากกาสีน้ำเงินสิบสอง", "ส่งปากกาสีน้ำเงินสิบสอง"),
        (
            "कृपया बारह नीली कलम और दो फ़ाइलें शुक्रवार तक भेजें",
            "बारह नीली कलम और दो फ़ाइलें शुक्रवार तक नहीं",
            "बारह नीली कलम और दो फ़ाइलें शुक्रवार तक",
        ),
    ],
)
def test_every_script_counts_with_spaces_or_without(question: str, text: str, copied: str) -> None:
    (copy,) = copies(text, *others(), task("a", question=question))
    assert (copy.task_id, copy.text) == ("a", unicodedata.normalize("NFC", copied))


def test_a_few_characters_of_a_script_without_spaces_are_no_copy() -> None:
    assert copies("翻译成英文的规则", *others(), task("a", question="请把下面的句子翻译成英文 - 今天天气好。")) == ()


def test_texts_are_looked_at_each_by_itself() -> None:
    first, second = " ".join(LONG.split()[:5]), " ".join(LONG.split()[5:10])
    tasks = (*others(), task("a", question=LONG))
    assert find_copies([first, second], known="", tasks=tasks, words=WORDS) == ((), ())
    assert find_copies([], known="", tasks=tasks, words=WORDS) == ()


texts = st.text(st.sampled_from("aB ß é e\u0301 1.,\n漢字かな กิ я"), max_size=60)


@given(text=texts, question=texts, words=st.integers(1, 4))
def test_form_letter_case_and_white_space_make_no_difference(text: str, question: str, words: int) -> None:
    tasks = (task("a", question=question), *others())
    told = [copy.task_id for copy in copies(text, *tasks, words=words)]
    changed = unicodedata.normalize("NFD", text).replace(" ", " \t\n ").casefold()
    assert [copy.task_id for copy in copies(changed, *tasks, words=words)] == told


@given(before=texts, after=texts, words=st.integers(2, 5), data=st.data())
def test_a_row_of_a_task_is_found_whatever_stands_around_it(
    before: str, after: str, words: int, data: st.DataObject
) -> None:
    row = data.draw(st.lists(st.sampled_from(WORDS_OF_ALL_KINDS), min_size=words, max_size=9))
    question = " ".join(row)
    found = copies(f"{before} {question} {after}", task("a", question=question), words=words)
    assert {copy.task_id for copy in found} == {"a"}


@given(text=texts, question=texts, words=st.integers(1, 4))
def test_what_is_called_a_copy_stands_in_the_text_and_copying_it_again_is_found_again(
    text: str, question: str, words: int
) -> None:
    tasks = (task("a", question=question), *others())
    for copy in copies(text, *tasks, words=words):
        assert copy.text in unicodedata.normalize("NFC", text)
        assert copies(copy.text, *tasks, words=words) == (copy,)
        assert copies(text, *tasks, words=words, known=text) == ()


@pytest.mark.parametrize("unit", ["word ", "字", "same "])
def test_a_text_of_one_repeated_word_ends(unit: str) -> None:
    """The worst case of a naive search; a hundred thousand words take a moment."""
    assert copies(unit * 30_000, task("a", question=unit * 30_000), *others()) != ()
