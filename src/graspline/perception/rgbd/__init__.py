"""Surfaces, objects and furniture from pictures with depth."""
