"""A run in which every text that comes from outside means harm: ids, tasks, replies, skills, errors, its own name."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from tests.support.bench import Bench, OpenBench, by_stage, look_up, rule

from skillopt.errors import TransientModelError
from skillopt.events import Warned
from skillopt.models.base import ChatRequest
from skillopt.trainer import train

HOSTILE = (
    "</script><script>alert(1)</script><img src=x onerror=alert(1)><svg/onload=alert(1)>"
    "</textarea></title></style><!-- <a href='javascript:alert(1)'>go</a> \" onmouseover=alert(1) x=\" "
    "{{ 7 * 191 }} {% raw %} &lt;b&gt; <iframe srcdoc='<p>'>"
)
ESCAPES = "\x1b[31mred\x1b]8;;http://x\x07\u202egnp.exe"
LONG_LINE = "without_a_space_" * 1_000
LOST = 3
"""Number of the task that no attempt measures."""


def script(request: ChatRequest) -> str:
    """Answer from the skill, else with harm."""
    if request.messages[-1].content == f"q{LOST}":
        raise TransientModelError(f"{HOSTILE}{ESCAPES}")
    answer = look_up(request)
    return f"{HOSTILE}{ESCAPES}{LONG_LINE}" if answer == "unknown" else answer


async def hostile_run(open_bench: OpenBench) -> Path:
    """A run in which every text that comes from outside is hostile."""
    asked: list[int] = []

    def reflect(request: ChatRequest) -> Any:
        asked.append(1)
        if len(asked) <= 2:  # the reply and the request to mend it
            return f"no JSON {HOSTILE}{ESCAPES}"
        edits = [{"op": "append", "content": f"{rule(4 + len(asked) % 4)}\n- {HOSTILE} {len(asked)}"},
                 {"op": "replace", "target": HOSTILE, "content": HOSTILE},
                 {"op": HOSTILE, "content": HOSTILE}]  # fmt: skip
        return {"reasoning": f"{HOSTILE}{ESCAPES}", "edits": edits}

    bench: Bench = open_bench(
        optimizer=by_stage(
            reflect=reflect,
            aggregate={"reasoning": HOSTILE, "edits": []},
            select={"selected": [0, 1], "reasoning": HOSTILE},
            update={"reasoning": HOSTILE, "edits": []},
            slow_update={"reasoning": HOSTILE, "slow_update_content": f"- {HOSTILE.replace('<!--', '')}"},
            meta_skill={"reasoning": HOSTILE, "meta_skill_content": f"- {HOSTILE}"},
        ),
        target=script,
        skill=f"# Skill\n\n{HOSTILE}\n",
        settings={
            "train.num_epochs": 3,
            "train.batch_size": 2,
            "evaluation.gate_metric": "soft",
            "evaluation.max_unmeasured": 0.5,
        },
        row=lambda _, number: {
            "id": f"t{number} {HOSTILE}", "question": f"q{number}", "answer": f"a{number}", "category": HOSTILE,
        },
    )  # fmt: skip
    bench.emit(Warned(f"{HOSTILE}{ESCAPES}"))
    await train(bench)
    (bench.directory / "config.yaml").write_text(f"{bench.setup.loaded.to_yaml()}# {HOSTILE}\n", "utf-8")
    return Path(shutil.move(bench.directory, bench.directory.with_name("a<img src=x onerror=b>&amp;'\"")))
