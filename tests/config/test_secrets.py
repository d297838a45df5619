"""More 18: a secret is found in any spelling, refused, and never shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.config.load import load_config
from skillopt.config.schema import Config
from skillopt.config.secrets import (
    HIDDEN,
    dotted,
    found_secrets,
    is_secret_name,
    looks_secret,
    masked,
    shown,
    without_secrets,
)
from skillopt.errors import SkillOptError
from skillopt.types import JsonValue

HIDDEN_TEXT = "hunter2hunter2"
SPELLINGS = [
    "api_key", "apikey", "apiKey", "API-KEY", "openai_api_key", "azure_openai_key", "X-Api-Key", "OPENAIAPIKEY",
    "Ocp-Apim-Subscription-Key", "token", "access_token", "hfToken", "auth_tokens", "secret", "client_secret_value",
    "password", "passwd", "passphrase", "Authorization", "credentials", "private_key", "bearer", "search_auth",
]  # fmt: skip
FAIR = [
    "max_tokens", "trajectory_tokens", "token_budget", "tokens", "api_key_env", "search_auth_env", "question_key",
    "stop_token", "stop_token_ids", "pad_token", "keys", "keyword", "author", "monkey", "authority", "secretary",
]  # fmt: skip


@pytest.mark.parametrize("name", SPELLINGS)
def test_a_secret_is_known_by_its_name_in_any_spelling(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", FAIR)
def test_a_fair_word_is_no_secret(name: str) -> None:
    assert not is_secret_name(name)


def test_no_key_of_the_schema_looks_like_a_secret() -> None:
    from skillopt.config.describe import settings

    assert [path for path, _ in settings(Config) if is_secret_name(path[-1], section=path[0])] == []


@given(
    st.sampled_from(SPELLINGS),
    st.sampled_from(["model", "model.target", "model.target.extra_body.headers", "env", "env.a", ""]),
)
def test_no_message_shows_a_secret_wherever_it_stands(
    tmp_path_factory: pytest.TempPathFactory, name: str, section: str
) -> None:
    directory = tmp_path_factory.mktemp("c")
    text = "".join(f"{'  ' * depth}{part}:\n" for depth, part in enumerate(section.split(".")) if part)
    depth = len(section.split(".")) if section else 0
    (directory / "c.yaml").write_text(f"{text}{'  ' * depth}{name}: {HIDDEN_TEXT}\n", "utf-8")
    with pytest.raises(SkillOptError, match=r"line \d") as caught:
        load_config(directory / "c.yaml")
    assert HIDDEN_TEXT not in str(caught.value)
    assert name in str(caught.value)


@pytest.mark.parametrize(
    "override",
    [f"api_key={HIDDEN_TEXT}", f"model.target.api_key={HIDDEN_TEXT}", f"api_key:{HIDDEN_TEXT}",
     f"env.token=[{HIDDEN_TEXT}", "sk-abcdefghijklmnop1234", f"model.target.base_url=https://me:{HIDDEN_TEXT}@host/v1",
     f"model.target.api_key_env={HIDDEN_TEXT}-{HIDDEN_TEXT}", f"model.target.extra_body={{api_key: {HIDDEN_TEXT}}}",
     f"env.note=https://host/v1?key={HIDDEN_TEXT}", "env.note=Bearer hunter2hunter2",
     "train.seed=sk-abcdefghijklmnop1234"],
)  # fmt: skip
def test_no_message_shows_a_secret_of_the_command_line(tmp_path: Path, override: str) -> None:
    (tmp_path / "c.yaml").write_text("model: {optimizer: 'a:b', target: 'a:b'}\n", "utf-8")
    with pytest.raises(SkillOptError) as caught:
        load_config(tmp_path / "c.yaml", [override])
    assert HIDDEN_TEXT not in str(caught.value)
    assert "sk-abc" not in str(caught.value)


@pytest.mark.parametrize(
    "value",
    [
        "sk-proj-abcdefghijklmnopqrst",
        "ghp_abcdefghijklmnopqrstuvwx",
        "AKIAABCDEFGHIJKLMNOP",
        "https://u:p@h/v1",
        "https://u@h",
    ],
)
def test_a_secret_is_known_by_its_shape(value: str) -> None:
    assert list(found_secrets({"env": {"anything": ["x", value]}}))
    assert shown(("env", "anything"), value) == HIDDEN


@pytest.mark.parametrize(
    "value",
    [
        "openai:gpt-5.5",
        "http://localhost:8000/v1",
        "a@b.c",
        "simulated:target?seed=7&tasks=3",
        "task-list-of-questions-1",
    ],
)
def test_ordinary_text_is_no_secret(value: str) -> None:
    assert not list(found_secrets({"env": {"anything": value}}))


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "MY_KEY_2", "key"])
def test_the_name_of_a_variable_is_welcome(name: str) -> None:
    assert not list(found_secrets({"model": {"target": {"api_key_env": name}}}))


@pytest.mark.parametrize(
    "name", ["", "sk-abc", "8f3a9c", "a b", "0123456789abcdef0123456789abcdef", "abcdefabcdefabcdefabcdefabcdef12"]
)
def test_a_key_pasted_in_place_of_a_variable_is_refused(name: str) -> None:
    assert list(found_secrets({"model": {"target": {"api_key_env": name}}}))


@pytest.mark.parametrize(
    ("settings", "way"),
    [
        ({"trackers": {"mlflow": {"tracking_uri": "postgresql://me:pw@db/mlflow"}}}, "MLFLOW_TRACKING_URI"),
        ({"trackers": {"mlflow": {"tracking_uri": "http://h/?token=abcdefgh"}}}, "MLFLOW_TRACKING_URI"),
        ({"trackers": {"wandb": {"api_key": "x"}}}, "WANDB_API_KEY"),
        ({"model": {"target": {"base_url": "http://me:pw@h/v1"}}}, "name the variable in api_key_env"),
    ],
)
def test_who_wrote_a_key_is_told_where_it_belongs(settings: dict[str, JsonValue], way: str) -> None:
    ((_, reason),) = found_secrets(settings)
    assert way in reason
    assert ("api_key_env" in reason) == ("model" in settings), "trackers have no such setting"


def test_field_names_of_the_data_are_free() -> None:
    assert not list(found_secrets({"env": {"fields": {"token": "secret"}}}))


def test_a_secret_is_refused_even_where_another_layer_covers_it(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(f"env: {{note: 'Bearer {HIDDEN_TEXT}'}}", "utf-8")
    (tmp_path / "c.yaml").write_text("_base_: base.yaml\nmodel: {optimizer: 'a:b', target: 'a:b'}\n", "utf-8")
    with pytest.raises(SkillOptError, match=r"base.yaml, line 1: env.note is refused"):
        load_config(tmp_path / "c.yaml", ["env.note=fair"])


def test_a_long_value_is_cut_in_messages() -> None:
    assert len(shown(("env", "note"), "x" * 500)) < 70


PASTED = "sk-planted-4f9d0c7be1a2"
OPAQUE = "4f9d0c7be1a24f9d0c7be1a24f9d0c7b"


@pytest.mark.parametrize("key", [PASTED, OPAQUE, f"x_{PASTED}"])
@pytest.mark.parametrize(
    "text", ["{key}: 1", "model: {{{key}: 1}}", "env: {{fields: {{{key}: q}}}}", "{key}: 1\n{key}: 2"]
)
def test_a_key_that_stands_in_place_of_a_settings_name_is_refused_and_not_shown(
    tmp_path: Path, key: str, text: str
) -> None:
    """More 18: the message that names an unknown setting would show it."""
    (tmp_path / "c.yaml").write_text(text.format(key=key), "utf-8")
    with pytest.raises(SkillOptError, match=r"line \d") as caught:
        load_config(tmp_path / "c.yaml")
    assert key not in str(caught.value)
    assert HIDDEN in str(caught.value)


@pytest.mark.parametrize("override", [f"{PASTED}=1", f"env.{PASTED}=1", f"env.fields.{OPAQUE}=q", f"x.{OPAQUE}=[1"])
def test_a_key_that_stands_in_place_of_an_overrides_name_is_not_shown(tmp_path: Path, override: str) -> None:
    (tmp_path / "c.yaml").write_text("model: {optimizer: 'a:b', target: 'a:b'}\n", "utf-8")
    with pytest.raises(SkillOptError, match="a key or token stands there") as caught:
        load_config(tmp_path / "c.yaml", [override])
    assert PASTED not in str(caught.value)
    assert OPAQUE not in str(caught.value)


@pytest.mark.parametrize("name", ["key_field_of_answers", "sk_learn", "max_tokens", "my_answer_key_of_the_field"])
def test_the_fair_name_of_a_setting_is_shown(name: str) -> None:
    assert dotted(("env", name)) == f"env.{name}"


@pytest.mark.parametrize(
    "address",
    [
        "me:hunter2@host/v1",
        "//me:hunter2@host/v1",
        "http:/me:hunter2@host/v1",
        "https:\\\\me:hunter2@host",
        "https://host/v1?sig=hunter2",
        "https://host/v1?code=hunter2",
        f"https://host/v1?a=b&anything={OPAQUE}",
        f"https://host/{PASTED}/v1",
    ],
)
def test_an_address_with_credentials_is_refused_however_it_is_misspelt(address: str) -> None:
    assert list(found_secrets({"model": {"target": {"base_url": address}}}))
    assert shown(("model", "target", "base_url"), address) == HIDDEN


def test_an_ordinary_address_is_welcome() -> None:
    address = "https://r.openai.azure.com/openai/v1?api-version=2024-12-01-preview"
    assert not list(found_secrets({"model": {"target": {"base_url": address}}}))


@pytest.mark.parametrize("name", [f"openai:{PASTED}", f"mistral:{OPAQUE}", OPAQUE])
def test_a_key_in_place_of_a_models_name_is_refused(name: str) -> None:
    assert list(found_secrets({"model": {"target": name}}))
    assert list(found_secrets({"model": {"target": {"name": name}}}))


@pytest.mark.parametrize("name", ["vllm:qwen2.5-coder-1.5b-instruct-q4_k_m", "openrouter:qwen/qwen3-32b:free"])
def test_long_names_of_models_are_no_keys(name: str) -> None:
    assert not list(found_secrets({"model": {"target": name}}))


def test_a_message_that_leaves_the_program_holds_no_secret_of_the_environment() -> None:
    """Whatever worded it: values of variables named like secrets, passwords of proxies, what looks like a key."""
    environment = {"MY_KEY": "plain words 1", "https_proxy": "http://me:p%40ssword1@proxy:3128", "HOME": "some-where"}
    said = masked(f"plain words 1 p@ssword1 p%40ssword1 {PASTED} ftp://a:b@c some-where", environment)
    assert said == " ".join([*[HIDDEN] * 4, f"ftp://{HIDDEN}@c", "some-where"])


def test_a_short_value_of_the_environment_is_no_secret() -> None:
    """A server of one's own often has the key `EMPTY`."""
    assert masked("EMPTY reply", {"VLLM_API_KEY": "EMPTY"}) == "EMPTY reply"


def test_a_child_process_gets_no_secret() -> None:
    environment = {"OPENAI_API_KEY": "a", "HF_TOKEN": "b", "AWS_SECRET_ACCESS_KEY": "c", "MY_KEY": "d", "PATH": "e"}
    assert without_secrets(environment) == {"PATH": "e"}


def test_long_texts_are_judged_as_short_ones_are() -> None:
    for text in (
        PASTED,
        "Bearer 0123456789abcd",
        "-----BEGIN RSA PRIVATE KEY-----",
        "AKIAABCDEFGHIJKLMNOP",
        "xoxb-1" + "2" * 14,
    ):
        assert looks_secret(text)
        assert looks_secret(f"{'x ' * 300}{text}{' y' * 300}")
    assert not looks_secret("the basic rules of a task list " * 50)
