"""Many episodes about one question: faults in every state, and verdicts compared with ground truth."""
