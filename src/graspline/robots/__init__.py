"""Robots as data: models, limits, jaw laws, servo gains and home poses."""
