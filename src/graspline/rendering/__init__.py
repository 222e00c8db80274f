"""Pictures of a scene: picture = f(scene, variation, state, camera).

Two renderers give the same picture to within antialiasing: OpenGL through EGL, and rays that need no graphics
library. `open_renderer` in `choose` picks one. A third, `WarpRenderer`, renders many states at once on a GPU, and
a render process lets many processes share it.
"""
