"""Making a dataset: jobs, the workers that execute them, and the writer that commits episodes."""
