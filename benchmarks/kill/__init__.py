"""A training that is killed anywhere, as often as one likes, against the one that was never killed."""
