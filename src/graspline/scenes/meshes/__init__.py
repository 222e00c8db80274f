"""Objects of any shape: a mesh file as one closed surface, as convex parts for physics, and how it rests on a table."""
