"""Task files, splits, batches and the manifest of what was where."""
