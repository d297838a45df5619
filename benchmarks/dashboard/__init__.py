"""The live page over many runs and over a large one, against the same pages over a tenth of them."""
