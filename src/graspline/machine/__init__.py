"""States that are generators, outcomes that are past facts, and total tables that join them. No arrays here."""
