"""Pictures of a scene: picture = f(scene, variation, state, camera).

Two renderers give the same picture to within antialiasing: OpenGL through EGL, and rays that need no graphics
library. `open_renderer` in `choose` picks one. The `gpu` package has a third for many states at once.
"""
