"""Experiment trackers that watch a training: MLflow, Weights & Biases, trackio, TensorBoard (extra `[trackers]`)."""
