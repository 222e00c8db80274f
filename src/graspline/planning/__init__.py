"""Whole-plan checks against a collision world on scratch data, before anything moves."""
