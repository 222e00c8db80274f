"""Evaluations: what a folder keeps of one, how success depends on what varied, the page, and two compared."""
