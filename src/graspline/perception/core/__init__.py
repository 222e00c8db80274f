"""What all perception shares: beliefs, outlines, silhouettes, colours, and a fit of shapes to outlines."""
