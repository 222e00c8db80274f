"""From poses to joint angles: closed forms vectorised over targets, and one iterative solver for any robot."""
