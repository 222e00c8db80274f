"""Find, grasp, place and hand over household items."""
