from graspline.cli.main import entry

entry()
