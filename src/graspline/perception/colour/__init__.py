"""Fruit, plates, blocks and known objects on a table, found by their colour in one picture."""
