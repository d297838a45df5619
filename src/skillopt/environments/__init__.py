"""What the tasks are: how they are presented to the target and how its trajectories are scored."""
