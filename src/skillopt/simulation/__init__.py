"""A simulated target and a simulated optimizer with known ground truth.

They stand in for real models in tests, in benchmarks and in the simulated quick start. Their numbers say how the loop
behaves and nothing about any real model, so everything they touch is named as simulated.
"""
