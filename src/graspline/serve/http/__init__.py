"""The HTTP front door: everything the panel does, behind one guard. See docs/service.md."""
