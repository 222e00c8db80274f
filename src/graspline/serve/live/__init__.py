"""One lane in real time: commands in, immutable snapshots out.

A `Session` owns a thread in which the simulation keeps pace with the wall clock. Front doors give it commands, read its
newest snapshot and ask it for pictures; none of them can slow it down, and none changes a bit of what a task does.
"""
