"""What the tasks are, and where the run is kept."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from skillopt.config.section import Count, Positive, Ratio


class EnvSettings(BaseModel):
    """What the tasks are, where they come from and where the run is kept.

    Keys that are not listed here belong to the environment and are checked against its own settings.
    """

    model_config = ConfigDict(
        extra="allow", frozen=True, strict=True, allow_inf_nan=False, use_attribute_docstrings=True
    )

    name: str = "question_answering"
    """Environment: a built-in name, an entry point, or a Python file (`my_env.py` or `my_env.py:ClassName`)."""
    skill_init: str | None = None
    """File of the seed skill. Unset starts from an empty skill; a path that does not exist is an error."""
    split_mode: Literal["ratio", "split_dir"] | None = None
    """`ratio` splits `data_path`; `split_dir` reads a directory of three. By default whichever of the two is set."""
    data_path: str | None = None
    """Task file (JSON, JSONL or CSV) or a directory with exactly one; for split_mode ratio."""
    split_dir: str | None = None
    """Directory with train, val and test: folders with one task file each, or files train.*, val.*, test.*."""
    split_ratio: Ratio = "2:1:7"
    """Parts for train, val and test, for split_mode ratio."""
    split_seed: int = 42
    """Seed of the shuffle before a ratio split."""
    limit: Count = 0
    """Use only the first N tasks of every split. 0 means all of them."""
    fields: dict[str, str] = Field(default_factory=dict)
    """Field mapping: name the environment expects -> name in the task file, such as `{question: prompt}`."""
    workers: Positive = 16
    """Most tasks under way at once."""
    exec_timeout: Annotated[float, Field(gt=0.0)] = 120.0
    """Seconds the target may work on one task; what takes longer is tried once more and then counts as unmeasured.
    Waiting for a free slot or between attempts does not count."""
    out_root: str | None = None
    """Run directory; by default one under `outputs/` that the same settings and data find again."""
