"""What the gate and the knobs around it are worth, in simulated worlds whose truth is known."""
