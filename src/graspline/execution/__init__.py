"""Plays lanes on an engine: gathers references, evaluates guards, resumes the generators whose request has ended."""
