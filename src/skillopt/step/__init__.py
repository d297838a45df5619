"""One training step, one file a stage: rollout, reflect, aggregate, select, update, gate."""
