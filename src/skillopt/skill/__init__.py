"""The thing being trained: the skill document, its protected sections, and the edits that change it."""
