"""From poses to joint angles: closed forms vectorised over targets, and a numerical arm for any robot without one."""
