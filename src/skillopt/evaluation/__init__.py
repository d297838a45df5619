"""How any skill is measured, in one place: rollouts of tasks, exact scores, statistics."""
