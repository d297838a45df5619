"""Named sets of settings: `preset: NAME` is laid over the schema's defaults, and whatever the user sets over that.

`standard` is the default, so the schema's defaults are its values. What the others differ in was chosen from the
measurements in docs/gate_quality.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import get_args

from skillopt.config.provenance import KeyPath, Layer, Origin
from skillopt.config.schema import Preset
from skillopt.types import JsonValue

PRESETS: Mapping[Preset, Mapping[KeyPath, JsonValue]] = MappingProxyType(
    {
        # The published method: REFERENCE values, and what is forgotten there is forgotten here.
        "published": {
            ("optimizer", "learning_rate"): 4,
            ("optimizer", "lr_scheduler"): "cosine",
            ("optimizer", "rejection_memory"): "epoch",
            ("train", "sampling"): "all",
            ("evaluation", "vet"): 0,
        },
        "standard": {},
        "fast": {
            ("train", "num_epochs"): 2,
            ("optimizer", "use_slow_update"): False,
            ("optimizer", "use_meta_skill"): False,
            ("evaluation", "vet"): 1,
        },
        "careful": {("evaluation", "final_repeats"): 4},
    }
)
"""What each preset sets, by section and key."""


def preset_layer(layers: Iterable[Layer]) -> Layer:
    """Return what the preset that the layers name sets; nothing where they name none, or one that does not exist.

    A name that does not exist is refused with the other values that are wrong.

    Args:
        layers: Files and overrides; the last one that names a preset wins.
    """
    named: JsonValue = "standard"
    for layer in layers:
        named = layer.values.get("preset", named)
    preset = next((name for name in get_args(Preset) if name == named), None)
    values: dict[str, dict[str, JsonValue]] = {}
    if preset is None:
        return Layer({})
    for (section, key), value in PRESETS[preset].items():
        values.setdefault(section, {})[key] = value
    origin = Origin("preset", preset=preset)
    return Layer({**values}, dict.fromkeys(PRESETS[preset], origin))
