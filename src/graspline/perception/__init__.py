"""Where things are believed to be, with what error."""
