"""What the kernels of windows share: sorted items walked edge by edge, and arrays made ready for compiled code.

Items are rows or slices, sorted within each segment (a key's stretch, `seg[k]` to `seg[k + 1]`). Walks never go item by
item where they can jump: to the first item of an edge by doubling steps (`seek`), to the next edge that matters by one
division (`next_edge`). So a long slice costs a few steps, and a billion empty windows none.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from windrow.engine.kernel import whole
from windrow.errors import WindrowError

LOWEST, HIGHEST = -(2**63), 2**63 - 1
#: floats tell this many windows apart, with one bit to spare for finding them
FLOAT_WINDOWS = 2.0**52


def ready(array: Any, dtype: Any = None) -> np.ndarray:
    """Contiguous, and always read-only, because a kernel is compiled anew for arrays that can be written."""
    view = np.ascontiguousarray(array, dtype).view()
    view.flags.writeable = False
    return view


def measured(array: Any) -> np.ndarray:
    """A measure: int64 or float64."""
    array = np.asarray(array)
    return ready(array, np.float64 if array.dtype.kind == "f" else np.int64)


def check_room(least: int, most: int, what: str) -> None:
    """Raises where window edges would not fit into 64 bits."""
    if least < LOWEST or most > HIGHEST:
        raise WindrowError(
            f"{what} reach from {least} to {most}, beyond what 64-bit integers hold; "
            "shorter windows or values nearer to 0 are needed"
        )


@whole("numpy")
def seek(values, i, n, edge):
    """The first j from i on with values[j] >= edge, or n."""
    if i < n and values[i] < edge:
        ahead = np.int64(edge - values[i])  # numbers without gaps, as rows have: it is there
        if 0 < ahead < n - i and values[i + ahead] >= edge and values[i + ahead - 1] < edge:
            return i + ahead
    step = 1
    j = i
    while j < n and values[j] < edge:
        i = j + 1
        j += step
        step += step
    j = min(j, n)
    while i < j:
        middle = (i + j) >> 1
        if values[middle] < edge:
            i = middle + 1
        else:
            j = middle
    return i


@whole("numpy")
def edge(k, grid):
    """Where window k begins: the grid is (every, origin, unit, table).

    Ints have no unit. Floats are counted in units, so that edges are the floats that are nearest to the decimal
    numbers a person means: 3 / 10, not 3 * 0.1, which is another float. Edges that are not equally far apart are in a
    table: where windows begin, and below it where they end, from window `origin` on; `every` is what they are apart on
    average. It must reach around all that is asked for.
    """
    return end(k, (np.int64(0), 0 * grid[0]), grid)


@whole("numpy")
def end(k, span, grid):
    """Where window k ends: it spans (windows, rest). It is `edge(k + windows)` where nothing is left.

    With a table, `windows` is the line of it that is meant.
    """
    every, origin, unit, table = grid
    windows, rest = span
    return _end(k, windows, rest, every, origin, unit, table)


@whole("numpy")
def _end(k, windows, rest, every, origin, unit, table):
    if table is None:
        return _of_unit((origin + (k + windows) * every) + rest, unit)
    return table[windows, k - origin]


@whole("numpy")
def _of_unit(x, unit):
    if unit is None:
        return x
    return x / unit


@whole("numpy")
def _in_units(x, unit):
    if unit is None:
        return x
    return x * unit


@whole("numpy")
def _guess(x, windows, rest, every, origin, unit, table):
    """About which window is the first to end after x: exactly that for ints."""
    if table is None:
        return np.int64((_in_units(x, unit) - rest - origin) // every) + 1 - windows
    return origin + min(max((x - table[windows, 0]) // every + 1, 1), table.shape[1] - 1)


@whole("numpy")
def next_end(x, span, grid):
    """The smallest k whose window ends after x."""
    every, origin, unit, table = grid
    windows, rest = span
    k = _guess(x, windows, rest, every, origin, unit, table)
    while end(k, span, grid) <= x:  # never true for ints
        k += 1
    while end(k - 1, span, grid) > x:
        k -= 1
    return k


@whole("numpy")
def next_edge(x, grid):
    """The smallest k whose window begins after x."""
    return next_end(x, (np.int64(0), 0 * grid[0]), grid)
