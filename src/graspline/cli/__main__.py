"""`python -m graspline.cli`: the command line."""

from graspline.cli.main import entry

entry()
