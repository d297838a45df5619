"""What tests of several stages share: small values, and the real run over scripted models."""
