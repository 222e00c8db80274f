"""Datasets in LeRobot's format v3.0: writing, checking, editing, exporting and reporting."""
