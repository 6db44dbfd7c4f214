"""Columns of partials, compilation and whole batches. The only package that imports numba."""
