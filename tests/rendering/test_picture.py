from __future__ import annotations

import numpy as np

from graspline.rendering.picture import pixel_rays


def test_rays_go_through_pixel_centres_between_the_edges_of_the_field_of_view():
    fovy_rad = np.radians(50)
    rays = pixel_rays(8, 6, fovy_rad)
    slope = np.tan(fovy_rad / 2)
    assert rays.shape == (6, 8, 3)
    # Half a pixel inside the top edge and, pixels being square, half a pixel inside the left one.
    np.testing.assert_allclose(rays[0, 0], (-slope * 7 / 6, slope * 5 / 6, -1))
    np.testing.assert_allclose(rays[::-1, ::-1, :2], -rays[..., :2])
