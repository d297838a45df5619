"""How a target does a task: so far by one chat turn."""
