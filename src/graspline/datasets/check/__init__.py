"""A dataset examined: everything that a loader, a trainer or a replay relies on."""
