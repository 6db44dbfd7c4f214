"""The steps that several families are made of, on tuples of numbers. Each stands alone: numba inlines no helpers."""

from __future__ import annotations


def lift_float(x):
    return (x,)


def the_first(p):
    return p[0]


def add(a, b):
    return (a[0] + b[0],)


def add_sized(a, b, older_rows, newer_rows):
    return (a[0] + b[0],)


def add_two(a, b):
    return (a[0] + b[0], a[1] + b[1])


def add_three(a, b):
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def subtract(total, oldest):
    return (total[0] - oldest[0],)


def subtract_two(total, oldest):
    return (total[0] - oldest[0], total[1] - oldest[1])


def subtract_three(total, oldest):
    return (total[0] - oldest[0], total[1] - oldest[1], total[2] - oldest[2])
