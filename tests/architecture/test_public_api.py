"""The public face is a list; a name joins or leaves it on purpose."""

from __future__ import annotations

import skillopt

# fmt: off
PUBLIC = [
    "ChatModel", "ChatReply", "ChatRequest", "Config", "Decision", "Edit", "Environment", "EnvironmentSettings",
    "Message", "Patch", "Presentation", "Rollout", "Score", "Skill", "SkillOptError", "Task", "Trajectory", "evaluate",
    "load_config", "train",
]
# fmt: on


def test_the_public_names_are_the_list_and_sorted() -> None:
    assert skillopt.__all__ == PUBLIC == sorted(PUBLIC)


def test_every_public_name_can_be_had_and_says_what_it_is() -> None:
    for name in PUBLIC:
        assert getattr(skillopt, name).__doc__, name
    assert set(PUBLIC) <= set(dir(skillopt))


def test_the_version_is_that_of_the_installed_package() -> None:
    assert skillopt.__version__.count(".") == 2


def test_a_name_that_is_not_public_is_an_attribute_error() -> None:
    assert not hasattr(skillopt, "trian")
