"""The live web page: the runs of a directory, followed while they train and walked down to a trajectory."""
