"""Policies to start from: small, complete, and installed with the package, so that `--policy` finds them anywhere."""
