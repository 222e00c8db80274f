"""The conformance kit: whether a task, ours or another distribution's, meets the rules every task must meet."""
