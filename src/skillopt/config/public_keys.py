"""What to write instead of keys that users of the public SkillOpt know and that this schema does not have.

Asked only about keys that the schema refused, so an entry for a key that the schema gains later is simply never read.
"""

from __future__ import annotations

import re

from skillopt.config.provenance import KeyPath

_PROVIDER = "the provider is the part of a model's name before the colon, such as model.target: openai:NAME"
_ROLE = "write it under the role, as model.optimizer or model.target: {name: PROVIDER:MODEL, base_url: ADDRESS, ...}"
_AGENT = "agent command lines as targets are not available yet"
_NOT_YET = "it is not available yet; leave it out"

_ADVICE: tuple[tuple[str, str], ...] = (
    (r"max_analyst_rounds", "it is retired and has no effect; leave it out"),
    (r"optimizer_model", "write model.optimizer"),
    (r"target_model", "write model.target"),
    (r"(model_|optimizer_|target_)?backend", _PROVIDER),
    (r"rewrite_reasoning_effort", "write model.optimizer.reasoning_effort"),
    (r"rewrite_max_completion_tokens", "write model.optimizer.max_tokens"),
    (r"meta_(learning_rate|edit_budget)", _NOT_YET),
    (r"use_semantic_density|semantic_density_weight|leading_words", _NOT_YET),
    (r"reasoning_effort", "write model.optimizer.reasoning_effort and model.target.reasoning_effort"),
    (r"((optimizer|target)_)?(azure|qwen_chat|minimax|openai_compatible)_\w+", _ROLE),
    (r"(codex|claude_code|claude|cursor|copilot)_\w+|sandbox", _AGENT),
    (r"steps_per_epoch|batches_per_epoch|samples_per_epoch", "it follows from the training split and train.batch_size"),
    (r"edit_budget", "write optimizer.learning_rate"),
    (r"min_edit_budget", "write optimizer.min_learning_rate"),
    (r"split_output_dir", "the split is written into the run directory; leave it out"),
    (r"split", "the split is chosen on the command line: skillopt eval --split train|val|test"),
    (r"max_completion_tokens", "write model.target.max_tokens"),
    (r"num_workers|max_api_workers", "write env.workers, or the role's concurrency"),
)
_OTHER_SPELLINGS: dict[str, dict[str, str]] = {
    "lr_control_mode": {
        **dict.fromkeys(("manual", "scheduler"), "fixed"),
        **dict.fromkeys(("auto", "optimizer"), "autonomous"),
        **dict.fromkeys(("off", "no_lr", "false"), "none"),
    },
    "skill_update_mode": {
        "edits": "patch",
        **dict.fromkeys(("rewrite", "suggestions"), "rewrite_from_suggestions"),
        "full_rewrite": "full_rewrite_minibatch",
    },
}
"""Values of a key that the public SkillOpt takes besides those that this schema has; `off` in YAML is false."""
_SECTIONS_OF_THE_PUBLIC_SHAPE = frozenset({"model", "train", "gradient", "optimizer", "evaluation", "env"})


def advice(path: KeyPath) -> str:
    """Return what to do about a key of the public SkillOpt, or "" for a key it does not have either."""
    *sections, name = path
    if len(sections) > 1 or (sections and sections[0] not in _SECTIONS_OF_THE_PUBLIC_SHAPE):
        return ""
    return next((text for pattern, text in _ADVICE if re.fullmatch(pattern, name)), "")


def value_to_write(key: str, value: object) -> str:
    """Return the value that a public spelling of it stands for, or "" for a value that nobody knows."""
    return _OTHER_SPELLINGS.get(key, {}).get(str(value).strip().lower(), "")
