"""Scenes: robots with furniture, objects, cameras and what varies between episodes."""
