"""`grab`: an SO-101 takes any chosen thing straight from above, as it was told to, and puts it down again."""
