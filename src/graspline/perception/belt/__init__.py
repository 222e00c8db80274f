"""Blocks on a conveyor belt: found, fitted and followed from picture to picture."""
