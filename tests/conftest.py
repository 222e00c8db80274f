"""Property tests draw the same examples every time and are not timed: a busy machine must not fail them."""

from hypothesis import settings

settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")
