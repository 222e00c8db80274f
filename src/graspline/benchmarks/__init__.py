"""What `graspline bench` measures, of named tasks and robots: a figure means something only beside what it is of."""
