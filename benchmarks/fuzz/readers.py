"""The four readers of what others wrote, each as a function of bytes with the laws it must keep.

A law that is broken raises an error that is none of ours. Inputs made of several texts have `inputs.PART` between them.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.fuzz.inputs import PART
from skillopt.config.load import load_config
from skillopt.config.validation import validate_section
from skillopt.data.task_files import read_task_file
from skillopt.digests import canonical_json
from skillopt.environments.question_answering import QuestionAnsweringSettings
from skillopt.epoch.replies import MetaSkillReply, SlowUpdateReply
from skillopt.errors import SkillOptError
from skillopt.models.base import ChatReply
from skillopt.models.event_stream import EVENT_STREAM
from skillopt.models.failures import Reporter
from skillopt.models.providers import OPENED_ELSEWHERE, PROVIDERS, open_remote_model, parse_model_name
from skillopt.models.reply_text import read_json
from skillopt.models.structured import Answer, Reply, ask
from skillopt.models.wire import read_reply
from skillopt.run.models import role_settings
from skillopt.simulation.scripted import ScriptedModel
from skillopt.skill.appendix import add_note, notes_of, replace_notes
from skillopt.skill.document import Skill
from skillopt.skill.edits import apply_edits, nearest_lines, protected_parts, target_lines
from skillopt.skill.rewriting import apply_rewrite
from skillopt.step.appendix import ConsolidationReply
from skillopt.step.budget import BudgetReply
from skillopt.step.replies import EditsReply, MergeReply, RankingReply, read_edits
from skillopt.step.rewrite import RewriteReply
from skillopt.step.select import valid_indices
from skillopt.step.skill_aware import SkillAwareReply, read_notes
from skillopt.types import Edit, EditOperation, Message, Place, Rewrite

SCHEMAS: Sequence[type[Reply]] = (
    *(EditsReply, MergeReply, RankingReply, SkillAwareReply, RewriteReply, BudgetReply),
    *(ConsolidationReply, SlowUpdateReply, MetaSkillReply),
)
"""The forms that replies of the optimizer have."""

_REPORTER = Reporter("compatible:any", "http://localhost/v1", "KEY", ("sk-secret-0123456789",))
_ENVIRONMENT = {variable: "sk-0123456789" for provider in PROVIDERS.values() for variable in provider.key_variables}
_OPERATIONS = tuple(EditOperation)
_MOST_TOKENS = 8000
_MOST_PARTS = 12
"""Texts of one input that are tried on a skill; each is tried in many ways."""


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader of foreign bytes.

    Attributes:
        name: What it reads.
        seeds: Valid inputs.
        tokens: What its format is made of.
        read: Reads bytes, with a directory of its own for files. Returns for a value and for an error of ours; raises
            whatever else comes out.
    """

    name: str
    seeds: Sequence[bytes]
    tokens: Sequence[bytes]
    read: Callable[[bytes, Path], None]


def read_replies(data: bytes, _directory: Path) -> None:
    """Read bytes as a server's answer, then its text, or else the bytes, as every form of structured reply."""
    with contextlib.suppress(SkillOptError):
        read_reply(data, _REPORTER, content_type=EVENT_STREAM)
    try:
        reply = read_reply(data, _REPORTER, content_type="application/json")
    except SkillOptError as error:
        assert "sk-secret-" not in str(error)
        reply = ChatReply(data.decode("utf-8", "replace"))
    canonical = [reply.text, reply.reasoning, reply.finish_reason]
    assert all(isinstance(text, str) for text in canonical)
    schemas = SCHEMAS
    try:
        read_json(reply.text)
    except SkillOptError:
        schemas = SCHEMAS[:1]  # no form is looked at
    for schema in schemas:
        answer = _done(ask(ScriptedModel((reply, reply)), [Message("user", "?")], Place("fuzz"), schema))
        assert (answer.value is None) == bool(answer.dropped)
        _take_in(answer)


def _take_in(answer: Answer[Any]) -> None:
    reply = answer.value
    if isinstance(reply, EditsReply):
        edits, discarded = read_edits(reply.edits, source_type="failure", task_ids=("a", "b"))
        assert len(edits) + len(discarded) == len(reply.edits)
        read_notes(reply, source_type="failure", task_ids=("a", "b"))
        apply_edits(Skill("# A\n- r1\n"), edits, max_tokens=_MOST_TOKENS)
    elif isinstance(reply, RewriteReply):
        assert all(reply.changes)
        apply_rewrite(Skill("# A\n- r1\n"), Rewrite(reply.new_skill), max_tokens=_MOST_TOKENS)
    elif isinstance(reply, RankingReply):
        assert all(0 <= index < 5 for index in valid_indices(reply.selected_indices, 5))
    elif isinstance(reply, BudgetReply):
        assert reply.learning_rate >= 0
    if reply is not None:
        canonical_json(reply.model_dump(mode="json")).encode("utf-8")


def _done(coroutine: Coroutine[Any, Any, Answer[Any]]) -> Answer[Any]:
    """Return what a coroutine that waits for nothing returns; an event loop would take most of the time."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("the reader waits for something")


def read_tasks(data: bytes, directory: Path) -> None:
    """Read bytes behind the first as a task file; the first says which format, and whether fields are mapped."""
    kind = data[0] if data else 0
    path = directory / ("t.json", "t.jsonl", "t.csv", "t.tsv")[kind % 4]
    path.write_bytes(data[1:])
    fields = {"question": "q", "answer": "a.b"} if kind // 4 % 2 else None
    try:
        read = read_task_file(path, fields=fields)
    except SkillOptError as error:
        assert str(path) in str(error)
        return
    assert read.tasks
    assert len({task.id for task in read.tasks}) == len(read.tasks)
    for task in read.tasks:
        assert task.fields
        canonical_json(dict(task.fields)).encode("utf-8")


def read_document(data: bytes, directory: Path) -> None:
    """Read the first part as a skill, and the others as targets and contents of edits, notes and whole rewrites."""
    text, *others = data.split(PART)[:_MOST_PARTS]
    path = directory / "skill.md"
    path.write_bytes(text)
    try:
        skill = Skill.load(path)
    except SkillOptError as error:
        assert path.name in str(error)
        return
    assert skill.text.encode("utf-8") == text
    assert Skill.parse(skill.text) == skill
    words = [part.decode("utf-8", "surrogatepass" if number % 2 else "replace") for number, part in _decodable(others)]
    pairs = zip(words[::2], words[1::2], strict=False)
    edits = [
        Edit(_OPERATIONS[(len(target) + number) % len(_OPERATIONS)], target, content)
        for number, (target, content) in enumerate(pairs)
    ]
    result = apply_edits(skill, edits, max_tokens=_MOST_TOKENS)
    assert [outcome.edit for outcome in result.outcomes] == edits
    assert _guarded(result.skill) == _guarded(skill)
    assert Skill.parse(result.skill.text) == result.skill
    target_lines(skill)
    for word in words:
        nearest_lines(skill, word)
        candidate, _ = apply_rewrite(skill, Rewrite(word), max_tokens=_MOST_TOKENS)
        assert sorted(_guarded(candidate)) == sorted(_guarded(skill))
        noted = add_note(skill, word, max_tokens=_MOST_TOKENS)
        if isinstance(noted, Skill):
            assert notes_of(noted)
        for section in ("SLOW_UPDATE", "APPENDIX"):
            with contextlib.suppress(SkillOptError):
                assert Skill.parse(skill.with_section(section, word).text)
    replace_notes(skill, words)


def _decodable(parts: Sequence[bytes]) -> list[tuple[int, bytes]]:
    """Return the parts with their numbers; those that hold no text at all count as replaceable."""
    found: list[tuple[int, bytes]] = []
    for number, part in enumerate(parts):
        try:
            part.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            found.append((2 * number, part))
        else:
            found.append((2 * number + 1, part))
    return found


def _guarded(skill: Skill) -> tuple[str, ...]:
    return protected_parts(skill)


def read_configuration(data: bytes, directory: Path) -> None:
    """Read the first part as a file, the second as the file that `_base_: base.yaml` names, the others as overrides."""
    file, base, *overrides = [*data.split(PART), b""] if PART not in data else data.split(PART)
    path = directory / "c.yaml"
    path.write_bytes(file)
    (directory / "base.yaml").write_bytes(base)
    words = [part.decode("utf-8", "surrogateescape") for part in overrides]
    try:
        loaded = load_config(path, words, working_directory=directory)
    except SkillOptError:
        return
    written = loaded.to_yaml()
    (directory / "again.yaml").write_bytes(written.encode("utf-8", "surrogateescape"))
    again = load_config(directory / "again.yaml", working_directory=directory)
    assert again.config == loaded.config
    assert again.to_yaml() == written
    settings: QuestionAnsweringSettings | None = None
    with contextlib.suppress(SkillOptError):
        extra = loaded.config.env.model_extra or {}
        settings = validate_section(QuestionAnsweringSettings, extra, provenance=loaded.provenance)
    assert loaded.resolved_table(settings)
    for role in ("target", "optimizer"):
        with contextlib.suppress(SkillOptError):
            of_role = role_settings(loaded.config, role)
            provider = parse_model_name(of_role.name).provider
            if provider not in OPENED_ELSEWHERE and PROVIDERS[provider].client == "compatible":
                asyncio.run(open_remote_model(role, of_role, _ENVIRONMENT).close())


_EDITS = (
    b'{"reasoning": "r", "edits": [{"op": "append", "content": "- new"}, '
    b'{"op": "replace", "target": "- r1", "content": "x"}]}'
)
_NOTES = b'{"edits": [], "appendix_notes": ["- remember", "1.5"], "drop_all_reason": null}'
_COMPLETION = (
    b'{"choices": [{"index": 0, "message": {"role": "assistant", "content": %s}, "finish_reason": "stop"}], '
    b'"usage": {"prompt_tokens": 12, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 4}}}'
)
REPLIES = Reader(
    "replies",
    (
        *(_EDITS, b"<think>let me see {</think>\n```json\n" + _EDITS + b"\n```\n", _NOTES),
        *(b'{"patch": ' + _EDITS + b"}", b'[{"op": "delete", "target": "- r1", "sources": [0, 1]}]'),
        *(b'{"selected_indices": [1, 0, 2], "reasoning": "said \\"so\\""}', b'{"learning_rate": 3, "reasoning": ""}'),
        b'{"new_skill": "---\\nname: s\\n---\\n# A\\n\\n- r2\\n", "change_summary": ["added r2"]}',
        b'{"skill_candidates": [{"new_skill": "# B\\n"}]}',
        *(b'{"slow_update_content": "- hold on"}', b'{"meta_skill_content": "short edits help"}'),
        b'{"consolidated_notes": ["one", "two"]}',
        *(_COMPLETION % one for one in (b'"hi"', b'"{\\"edits\\": []}"', b'[{"type": "text", "text": "a"}]', b"null")),
        b'{"error": {"message": "bad key sk-secret-0123456789", "code": "invalid_api_key"}}',
        b'{"base_resp": {"status_code": 1002, "status_msg": "slow down"}}',
        b'data: {"choices": [{"delta": {"content": "{\\"edits\\": []}"}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n',
        b"{'edits': [{'op': 'append', 'content': 'a \"b\" c',},]}",
    ),
    (
        *(b"<think>", b"</think>", b"```json\n", b"\n```", b"~~~", b'"edits"', b'"op"', b'"target"', b'"content"'),
        *(b'"choices"', b'"message"', b'"usage"', b'"error"', b"data: ", b'{"a":', b"[[[[", b"{}", b"sk-secret-"),
        *(b'"reasoning_content"', b'"refusal"', b'"finish_reason"', b'"cached_tokens"', b"[1]", b"[0, 1)"),
    ),
    read_replies,
)
_ROW = b'{"id": "t1", "q": "What?", "a": {"b": ["x", 1.5, null, true]}, "category": "c"}'
TASKS = Reader(
    "tasks",
    (
        *(b"0[" + _ROW + b', {"id": 2, "q": "\\u00e9"}]', b'4{"data": [' + _ROW + b'], "name": "set"}'),
        *(b'0{"t1": {"q": "a"}, "t2": {"q": "b"}}', b"1" + _ROW + b'\n\n{"id": "t2", "q": "b"}\r\n'),
        *(b'5{"q": "a", "a": {"b": 1}}\n{"q": "b", "a": {"b": 2}}', b"1\xef\xbb\xbf" + _ROW),
        *(b'2id,q,answer\n1,"say ""hi"", you",x\n2,"two\nlines",y\n', b"3id\tq\tanswer\n1\ta b\tx\n2\tc\ty\n"),
        b"6id,q,a.b\r\n1,a,b\r\n",
    ),
    (b'"id"', b'"data"', b'"q"', b'"a"', b'""', b"id,q", b'{"', b"}\n{", b"[[", b'{"a":', b'{"id": 1}', b"1e5000"),
    read_tasks,
)
_SKILL = b"\n".join(
    (
        *(b"---", b"name: s", b"---", b"# A", b"", b"- r1", b"- rule  two", b""),
        *(b"<!-- SLOW_UPDATE_START -->", b"guide", b"- r1", b"<!-- SLOW_UPDATE_END -->", b""),
    )
)
_APPENDIX = (
    b"# A\r\n- r1\r\n<!-- APPENDIX_START -->\r\n## Execution Notes Appendix\r\n\r\n- one\r\n- two\r\n- three\r\n"
    b"<!-- APPENDIX_END -->"
)
DOCUMENT = Reader(
    "document",
    (
        PART.join((_SKILL, b"- r1", b"- r9", b"# A", b"- new\n- r1", b"rule two", b"x")),
        PART.join((_APPENDIX, b"- r1", b"- two more", b"one", b"", b"- three", b"short")),
        PART.join((b"", b"a", b"b", b"", b"# Title")),
        PART.join((b"\xef\xbb\xbf---\n- r1\n---", b"- r1", b"c", b"---", b"d")),
        PART.join(("- café “no”\n- cafe\u0301\n- use 1.5\n".encode(), "café".encode(), b"x", b'"no"', b"y")),
    ),
    (
        *(b"<!-- SLOW_UPDATE_START -->", b"<!-- SLOW_UPDATE_END -->", b"<!-- APPENDIX_START -->", b"---\n", b"```\n"),
        *(b"<!-- APPENDIX_END -->", b"<!--", b"-->", b"- r1", b"\n\n", b"## Execution Notes Appendix", b"1) ", b"  "),
    ),
    read_document,
)
_CONFIG = b"""model:
  optimizer: openai:gpt-5.5
  target: {name: "compatible:m", base_url: "http://localhost:8000/v1", extra_body: {top_k: 5}}
train: {num_epochs: 2, batch_size: 8}
evaluation: {gate_metric: mixed, acceptance: "rules.py:rule"}
env:
  data_path: ./tasks.jsonl
  split_ratio: 2:1:7
  fields: {question: q}
  note: "${train.batch_size} of them"
"""
CONFIGURATION = Reader(
    "configuration",
    (
        PART.join((_CONFIG, b"")),
        PART.join((b"_base_: base.yaml\ntrain: {seed: 7}\n", _CONFIG, b"train.batch_size=3", b"target=ollama:qwen3")),
        PART.join((_CONFIG, b"", b"env.limit=4", b"model.target.extra_body={a: [1, 2]}", b"preset=fast")),
        PART.join((b"preset: careful\nmodel: {optimizer: 'a:b', target: 'a:b'}\n", b"", b"out_root=~/x")),
    ),
    (
        *(b"model:", b"  target:", b"_base_: ", b"base.yaml", b"c.yaml", b"preset: ", b"env:", b"${", b"${env.note}"),
        *(
            b"${oc.env:HOME}",
            b"???",
            b"&a ",
            b"*a",
            b"!!python/name:os.system",
            b"!!int ",
            b"<<: ",
            b"? ",
            b"- ",
            b"|\n",
        ),
        *(
            b"{a: {a: {a: ",
            b"[[[[[[",
            b"limits:",
            b"evaluation:",
            b"on",
            b".inf",
            b"train.",
            b"=",
            b"~nobody/x",
            b"../",
        ),
        *(
            b"${..a}",
            b"\\${",
            b"http://[::1",
            b"https://u:p@h/v1?key=x#f",
            b"api_key: x",
            b"local:",
            b"simulated:x?seed=",
        ),
    ),
    read_configuration,
)
READERS: Sequence[Reader] = (REPLIES, TASKS, DOCUMENT, CONFIGURATION)
