"""What a run is made of and leaves on disk: evidence, events, history, summary, readable files."""
