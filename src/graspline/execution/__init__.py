"""Plays lanes on an engine: gathers references, evaluates guards, and resumes the generators whose request has ended."""
