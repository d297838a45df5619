"""What happens between epochs: guidance for the target, and a memory for the optimizer."""
