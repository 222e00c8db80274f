"""`python -m graspline`: the command line."""

from graspline.cli.main import entry

entry()
