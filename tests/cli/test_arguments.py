"""How a configuration and its overrides are given."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.commands import write_tiny_run

from skillopt.cli.arguments import load
from skillopt.errors import ConfigError, UsageError


@pytest.fixture
def config(tmp_path: Path) -> str:
    """A configuration whose path has spaces and an equals sign."""
    return str(write_tiny_run(tmp_path / "a run = 1"))


def test_the_first_word_is_the_file_and_the_others_override_it(config: str) -> None:
    assert load(config, ["train.batch_size=3", "seed=7"], None).config.train.batch_size == 3


def test_with_the_option_every_word_is_an_override(config: str) -> None:
    """`skillopt-train --config PATH --cfg-options a.b=1 c.d=2`."""
    train = load("train.batch_size=3", ["train.seed=7"], config).config.train
    assert (train.batch_size, train.seed) == (3, 7)


@pytest.mark.parametrize("words", [(None, None), ("train.batch_size=3", None)])
def test_a_line_without_a_file_is_told_so(words: tuple[str | None, None]) -> None:
    with pytest.raises(UsageError, match="no configuration file is named"):
        load(*words, None)


@pytest.mark.parametrize(
    ("override", "kind", "message"),
    [
        ("train.batch=3", ConfigError, "did you mean train.batch_size"),
        ("train.batch_size=many", ConfigError, "command line: train.batch_size"),
        ("train.batch_size=0", ConfigError, "at least 1"),
        ("train.batch_size", UsageError, "section.key=value"),
        ("train.batch_size = 3", UsageError, "section.key=value"),
    ],
)
def test_a_bad_override_says_what_it_is(config: str, override: str, kind: type[Exception], message: str) -> None:
    """F7: an unknown key is never ignored."""
    with pytest.raises(kind, match=message):
        load(config, [override], None)


def test_of_a_directory_its_configuration_is_named(config: str, tmp_path: Path) -> None:
    directory = Path(config).parent
    with pytest.raises(ConfigError, match="is a directory and not a configuration file") as caught:
        load(None, None, str(directory))
    assert caught.value.hint == f"Name its config.yaml: {config}"
    with pytest.raises(ConfigError) as caught:
        load(None, None, str(tmp_path))
    assert caught.value.hint == "It has no config.yaml either."
