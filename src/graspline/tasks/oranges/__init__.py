"""`oranges`: an SO-101 picks oranges from a table and puts them on a plate."""
