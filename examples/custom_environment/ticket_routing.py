"""A custom environment: route a support ticket to a team and give it a priority, with half the credit for each."""

from __future__ import annotations

import re

from skillopt import Environment, EnvironmentSettings, Message, Presentation, Score, Task, Trajectory
from skillopt.errors import DataError


class TicketSettings(EnvironmentSettings):
    """The keys this environment adds to the `env` section."""

    teams: tuple[str, ...] = ("ACC", "BIL", "DEL", "TEC")
    """Codes of the teams a ticket may go to."""
    show_plan: bool = True
    """Whether the customer's plan is shown with the ticket."""


class TicketRouting(Environment[TicketSettings]):
    """Tickets with the fields `subject`, `body` and `plan`, and the expected `team` and `priority`."""

    name = "ticket_routing"
    version = "1"
    Settings = TicketSettings

    @property
    def purpose(self) -> str:
        return (
            "The skill is the system message of a model that reads one support ticket and replies TEAM/PRIORITY, with "
            f"a team of {', '.join(self.settings.teams)} and a priority of 1, 2 or 3. Half the score is for the team "
            "and half for the priority. The skill cannot change the tickets or the scoring."
        )

    def check(self, task: Task) -> None:
        missing = [name for name in ("subject", "body", "plan", "team", "priority") if not task.fields.get(name)]
        if missing:
            raise DataError(f"{task.location}: ticket {task.id!r} has no {missing[0]}")
        if task.fields["team"] not in self.settings.teams:
            raise DataError(
                f"{task.location}: ticket {task.id!r} expects team {task.fields['team']!r}, not in env.teams"
            )

    def present(self, task: Task) -> Presentation:
        plan = f"Plan: {task.fields['plan']}\n" if self.settings.show_plan else ""
        ticket = f"{plan}Subject: {task.fields['subject']}\n\n{task.fields['body']}"
        return Presentation((Message("user", f"{ticket}\n\nReply with TEAM/PRIORITY."),))

    def score(self, task: Task, trajectory: Trajectory) -> Score:
        expected = f"{task.fields['team']}/{task.fields['priority']}"
        codes = "|".join(map(re.escape, self.settings.teams))
        routes = re.findall(rf"\b({codes})\s*/\s*([123])\b", trajectory.output)
        if not routes:
            said = trajectory.output.strip()[:80]
            return Score(0, 0.0, f"Expected {expected}; the reply '{said}' holds no TEAM/PRIORITY.")
        team, priority = routes[-1]
        right = (team == task.fields["team"]) + (priority == str(task.fields["priority"]))
        return Score(
            int(right == 2), right / 2, f"Expected {expected}; the reply was {team}/{priority}.", f"{team}/{priority}"
        )
