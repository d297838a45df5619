"""Loading a whole configuration: layers, overrides, references, and the file a run keeps."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field

from skillopt.config.describe import kind_of_field
from skillopt.config.describe import settings as schema_settings
from skillopt.config.dump import to_yaml
from skillopt.config.load import LoadedConfig, load_config
from skillopt.config.schema import Config
from skillopt.config.validation import validate_section
from skillopt.environments.base import EnvironmentSettings
from skillopt.errors import ConfigError, UsageError

MODELS = "model: {optimizer: 'openai:a', target: 'ollama:b'}\n"
SHIPPED = Path(__file__).parents[2] / "configs"


def load(directory: Path, text: str, *overrides: str) -> LoadedConfig:
    (directory / "config.yaml").write_text(text, "utf-8")
    return load_config("config.yaml", overrides, working_directory=directory)


def test_models_data_and_a_skill_are_enough(tmp_path: Path) -> None:
    config = load(tmp_path, MODELS + "env: {data_path: tasks.jsonl, skill_init: seed.md}").config
    assert config.model.target.name == "ollama:b"
    assert (config.train.num_epochs, config.train.batch_size, config.optimizer.learning_rate) == (4, 40, 8)


SWITCH_WORDS = ("off", "no", "on", "yes")


@pytest.mark.parametrize("word", ["off", "Off", '"off"'])
def test_a_word_that_yaml_reads_as_a_truth_value_is_the_word_where_a_setting_has_it(tmp_path: Path, word: str) -> None:
    in_file = load(tmp_path, MODELS + f"optimizer: {{rejection_memory: {word}}}\n").config
    overridden = load(tmp_path, MODELS, f"optimizer.rejection_memory={word}").config
    assert in_file.optimizer.rejection_memory == overridden.optimizer.rejection_memory == "off"
    (tmp_path / "written.yaml").write_text(to_yaml(in_file), "utf-8")
    assert load_config(tmp_path / "written.yaml").config == in_file, "and is written so that it reads back"


def test_every_choice_with_such_a_word_takes_it_from_a_file_and_from_the_command_line(tmp_path: Path) -> None:
    choices = {
        ".".join(path): word
        for path, field in schema_settings(Config)
        for word in kind_of_field(field).choices
        if word in SWITCH_WORDS
    }
    assert choices == {"optimizer.rejection_memory": "off"}, "a new one is tried by this test as well"
    for key, word in choices.items():
        section, _, name = key.rpartition(".")
        shown = {row.key: row.value for row in load(tmp_path, MODELS, f"{key}={word}").resolved_table()}
        assert shown[key].strip('"') == word
        shown = {
            row.key: row.value for row in load(tmp_path, MODELS + f"{section}: {{{name}: {word}}}").resolved_table()
        }
        assert shown[key].strip('"') == word


def test_a_switch_that_is_no_choice_stays_a_truth_value(tmp_path: Path) -> None:
    assert load(tmp_path, MODELS, "evaluation.use_gate=off").config.evaluation.use_gate is False
    with pytest.raises(ConfigError, match="rejection_memory is true; it must be: one of run, epoch, off"):
        load(tmp_path, MODELS, "optimizer.rejection_memory=on")


def test_the_last_layer_wins_and_each_value_knows_whence_it_came(tmp_path: Path) -> None:
    """F79: a value that a base file set can be overridden, and the table shows who won."""
    (tmp_path / "base.yaml").write_text(MODELS + "train:\n  batch_size: 10\n  num_epochs: 2\n  seed: 1\n", "utf-8")
    loaded = load(tmp_path, "_base_: base.yaml\ntrain:\n  num_epochs: 3\n  seed: 2\n", "train.seed=4", "train.seed=5")
    rows = {row.key: (row.value, str(row.origin)) for row in loaded.resolved_table()}
    assert rows["train.batch_size"] == ("10", f"{tmp_path / 'base.yaml'}, line 3")
    assert rows["train.num_epochs"] == ("3", f"{tmp_path / 'config.yaml'}, line 3")
    assert rows["train.seed"] == ("5", "command line")
    assert rows["train.train_size"] == ("0", "default")
    assert loaded.provenance["train.seed"].kind == "command line"


def test_a_model_given_as_text_replaces_the_whole_role(tmp_path: Path) -> None:
    """F79: nothing that belongs to another provider stays behind."""
    text = "model:\n  optimizer: openai:a\n  target: {name: ollama:b, base_url: 'http://x/v1', concurrency: 2}\n"
    target = load(tmp_path, text, "model.target=openai:c").config.model.target
    assert (target.name, target.base_url, target.concurrency) == ("openai:c", None, 16)
    target = load(tmp_path, text, "model.target.name=ollama:d").config.model.target
    assert (target.name, target.base_url, target.concurrency) == ("ollama:d", "http://x/v1", 2)


def test_all_problems_come_in_one_error_with_their_places(tmp_path: Path) -> None:
    text = MODELS + "modle: {sandbox: x}\ntrain:\n  batch_size: -1\n"
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text, "train.num_epochs=many")
    message = str(caught.value)
    assert "3 problems" in message
    assert "config.yaml, line 2: unknown key modle; did you mean model?" in message
    assert "config.yaml, line 4: train.batch_size is -1; it must be: whole number, at least 1" in message
    assert 'command line: train.num_epochs is "many"; it must be: whole number' in message


def test_an_override_without_its_form_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"section.key=value"):
        load(tmp_path, MODELS, "train.seed")


def test_a_home_directory_that_nobody_has_is_a_file_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="does not exist"):
        load_config("~nobody-of-this-name/c.yaml", working_directory=tmp_path)


def test_paths_with_spaces_and_scripts_work(tmp_path: Path) -> None:
    directory = tmp_path / "мой каталог (1)"
    directory.mkdir()
    config = load(directory, MODELS + "env: {data_path: 'my data/задачи.jsonl'}").config
    assert config.env.data_path == str(directory / "my data" / "задачи.jsonl")


def test_the_resolved_file_loads_back_as_the_same_configuration(tmp_path: Path) -> None:
    text = MODELS + "env: {data_path: d.jsonl, note: 'x \\${y}', own: {a.b: [1, 2.5, null, '2:1:7', 'yes']}}\n"
    loaded = load(tmp_path, text, "model.target.extra_body={top_k: 3}")
    assert (loaded.config.env.model_extra or {})["note"] == "x ${y}"
    run = tmp_path / "runs" / "one"
    run.mkdir(parents=True)
    (run / "config.yaml").write_text(loaded.to_yaml(), "utf-8")
    again = load_config(run / "config.yaml")
    assert again.config == loaded.config
    assert again.to_yaml() == loaded.to_yaml()


def test_the_resolved_file_can_name_the_directory_it_lies_in_wherever_that_is(tmp_path: Path) -> None:
    loaded = load(tmp_path, MODELS + "env: {out_root: runs/one}\n")
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    (moved / "config.yaml").write_text(loaded.to_yaml(out_root="."), "utf-8")
    assert load_config(moved / "config.yaml").config.env.out_root == str(moved)
    assert loaded.config.env.out_root == str(tmp_path / "runs" / "one")


@pytest.mark.parametrize("text", ["${x}", r"\${x}", r"\\${x}", r"a\\\${x} \y", "???", r"\???", "x\\"])
def test_what_looks_like_a_reference_survives_the_resolved_file(tmp_path: Path, text: str) -> None:
    config = load(tmp_path, MODELS).config
    config = config.model_copy(update={"env": config.env.model_copy(update={"note": text})})
    assert (load(tmp_path, to_yaml(config)).config.env.model_extra or {})["note"] == text


@settings(max_examples=30)
@given(
    st.text(
        st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]) | st.sampled_from("\n\\${}?:#'\""), max_size=30
    )
)
def test_any_text_survives_the_resolved_file(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    config = load(tmp_path_factory.mktemp("c"), MODELS).config
    config = config.model_copy(update={"env": config.env.model_copy(update={"note": text})})
    again = load(tmp_path_factory.mktemp("c"), to_yaml(config)).config
    is_path = text.startswith(("./", "../", "~/"))
    assert is_path or (again.env.model_extra or {})["note"] == text


def test_the_keys_of_an_environment_are_checked_like_all_others(tmp_path: Path) -> None:
    class Settings(EnvironmentSettings):
        scale: float = Field(1.0, ge=0.0)

    loaded = load(tmp_path, MODELS + "env:\n  scale: -1\n  scal: 2\n  split_rato: '1:1:1'\n")
    with pytest.raises(ConfigError) as caught:
        validate_section(Settings, loaded.config.env.model_extra or {}, provenance=loaded.provenance)
    message = str(caught.value)
    assert "line 3: env.scale is -1; it must be: number, at least 0" in message
    assert "line 4: unknown key env.scal; did you mean env.scale?" in message
    assert "line 5: unknown key env.split_rato; did you mean env.split_ratio?" in message


def test_the_shipped_configurations_mean_what_they_say() -> None:
    """More 2."""
    loaded = {path.stem: load_config(path).config for path in sorted(SHIPPED.glob("*.yaml"))}
    assert loaded["base"].model.optimizer.name == "openai:gpt-5.5"
    assert loaded["base"].env.data_path == str(SHIPPED / "tasks.jsonl")
    assert loaded["base"].env.skill_init == str(SHIPPED / "seed_skill.md")
    assert loaded["base"].evaluation.gate_metric == "hard"
    smoke = loaded["smoke"]
    assert (smoke.train.num_epochs, smoke.train.batch_size, smoke.env.limit) == (1, 5, 10)
    assert smoke.optimizer.lr_scheduler == "constant"
    assert (loaded["soft_gate"].evaluation.gate_metric, loaded["soft_gate"].evaluation.gate_mixed_weight) == (
        "soft",
        0.5,
    )
