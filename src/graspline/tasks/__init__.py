"""The tasks: each a sampler, a goal, states and a table on the shared core."""
