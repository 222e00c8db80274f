"""Poses and rotations as plain arrays; numpy only.

Every function takes arrays with any leading axes and gives each row the bits it gets alone. That rules out `@`
over a batch axis, which numpy hands to BLAS with a summation order that depends on the batch.
"""
