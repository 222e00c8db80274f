"""The files of a dataset: what they hold, how they are read, and what makes each of them whole."""
