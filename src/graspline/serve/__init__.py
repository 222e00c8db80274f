"""One simulation in real time, driven from a page in the browser or over HTTP; only `graspline serve` uses it."""
