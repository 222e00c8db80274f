"""States that tasks share. A task differs by its table and parameters."""
