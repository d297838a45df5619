from __future__ import annotations

from skillopt.environments.base import Environment, EnvironmentSettings, Presentation
from skillopt.types import Message, Score, Task, Trajectory


class Loud(EnvironmentSettings):
    """Settings."""

    loud: bool = False


class Parrot(Environment[Loud]):
    name = "parrot"
    Settings = Loud

    def present(self, task: Task) -> Presentation:
        return Presentation((Message("user", str(task.fields["word"])),))

    def score(self, task: Task, trajectory: Trajectory) -> Score:
        return Score(int(trajectory.output == task.fields["word"]), 0.0)


class NewerParrot(Parrot):
    version = "2"


class OtherCode(Parrot):
    code = "0f" * 32


def test_identity_changes_with_name_version_settings_and_code() -> None:
    environments = [Parrot(Loud()), Parrot(Loud(loud=True)), NewerParrot(Loud()), OtherCode(Loud())]
    identities = [environment.identity for environment in environments]
    assert all(identities.count(identity) == 1 for identity in identities)
    assert Parrot(Loud()).identity == {"name": "parrot", "version": "1", "settings": {"loud": False}}


def test_check_warnings_and_purpose_are_optional() -> None:
    parrot = Parrot(Loud())
    parrot.check(Task("1", {}))
    assert parrot.warnings([Task("1", {})]) == ()
    assert parrot.purpose == ""
