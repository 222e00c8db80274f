"""Gymnasium environments of the tasks, and policies that are judged in them.

They see, move and judge as datasets do; see docs/evaluation.md. Their names are in `graspline.registration`.
"""
