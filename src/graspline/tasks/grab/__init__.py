"""`grab`: an SO-101 takes any chosen thing straight from above, as ordered, and puts it down again."""
