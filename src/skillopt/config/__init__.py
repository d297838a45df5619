"""The settings: their schema, how they are loaded, and where each value came from."""
