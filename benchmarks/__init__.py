"""Speed and memory, as ratios within one run: the same machine, the same minute."""
