"""The models behind both roles: one protocol, the providers, thin wrappers, and the reading of structured replies."""
