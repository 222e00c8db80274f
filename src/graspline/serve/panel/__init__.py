"""The page in a browser: the running simulation in 3D, and everything a person can tell it. See docs/panel.md."""
