"""Films of episodes, rendered from their logs."""
